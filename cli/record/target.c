/* Checks whether the heap agent can be loaded into a program: see target.h. */
#include "record/target.h"

#include "agent/base/launch.h"
#include "cli.h"
#include "message.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_not_run(const char *path, int error)
{
    cli_system_error(path, "run", error);
    return error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_RUN;
}

static int refuse(const pd_launch_result *found)
{
    cli_error("%s: %s, so it cannot be recorded", found->path, found->obstacle);
    const char *advice = pd_launch_advice(found->path);
    if (*advice)
        cli_hint("%s", advice);
    return CLI_NOT_RUN;
}

/* Any ELF file is taken for the agent: the loader judges it. */
static bool is_elf(const char *path)
{
    char magic[SELFMAG] = {0};
    FILE *file = fopen(path, "rb");
    bool is = file && fread(magic, SELFMAG, 1, file) == 1 && memcmp(magic, ELFMAG, SELFMAG) == 0;
    if (file)
        fclose(file);
    return is;
}

int cli_target_check(const char *command, const char *agent)
{
    char path[PATH_MAX];
    pd_launch_result found;
    int error = pd_launch_find(command, getenv("PATH"), path);
    if (error)
        return cli_not_run(command, error);
    if (!is_elf(agent)) {
        cli_error("%s: is no shared object, and so not the heap agent", agent);
        return CLI_RECORD_FAILED;
    }
    pd_launch_check(path, &found);
    if (found.error)
        return cli_not_run(found.path, found.error);
    return found.obstacle ? refuse(&found) : CLI_DONE;
}
