/* Checks whether the heap agent can be loaded into a program: see target.h. */
#include "record/target.h"

#include "agent/base/launch.h"
#include "cli.h"
#include "message.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

int cli_not_run(const char *path, int error)
{
    cli_system_error(path, "run", error);
    return error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_RUN;
}

#define NOT_LOADED ": the loader preloads nothing into it, so it cannot be recorded"

static int refuse(const pd_launch_result *found)
{
    static const char *const reasons[] = {
        [PD_LAUNCH_SETUID] = "is setuid" NOT_LOADED,
        [PD_LAUNCH_SETGID] = "is setgid" NOT_LOADED,
        [PD_LAUNCH_CAPABILITIES] = "has file capabilities" NOT_LOADED,
        [PD_LAUNCH_CUT_OFF] = "this executable is cut off",
        [PD_LAUNCH_OTHER_MACHINE] = "is for another machine than the agent, and cannot be recorded",
        [PD_LAUNCH_STATIC] = "is linked statically: there is no loader that could preload the "
                             "agent, so it cannot be recorded",
        [PD_LAUNCH_OTHER_LIBC] = "is for another C library than the agent, and cannot be recorded",
    };
    if (found->obstacle == PD_LAUNCH_OK)
        return CLI_DONE;
    if (found->obstacle == PD_LAUNCH_NOT_OPENED)
        return cli_not_run(found->path, found->error);
    if (found->obstacle == PD_LAUNCH_SANITIZED) {
        cli_error("%s: is built with a sanitizer (%s), which must come first and counts "
                  "allocations itself: it cannot be recorded",
                  found->path, found->sanitizer);
        return CLI_NOT_RUN;
    }
    cli_error("%s: %s", found->path, reasons[found->obstacle]);
    bool has_rights = found->obstacle == PD_LAUNCH_SETUID || found->obstacle == PD_LAUNCH_SETGID ||
                      found->obstacle == PD_LAUNCH_CAPABILITIES;
    const char *advice = has_rights
                             ? "record a copy without that right, or what it runs, from inside"
                             : pd_runtime_advice(pd_runtime_of(found->path));
    if (*advice)
        cli_hint("%s", advice);
    return CLI_NOT_RUN;
}

int cli_target_check(const char *command, const char *agent)
{
    char path[PATH_MAX];
    pd_launch_result found;
    pd_launch_agent built_for;
    int error = pd_launch_find(command, getenv("PATH"), path);
    if (error)
        return cli_not_run(command, error);
    error = pd_launch_agent_read(agent, &built_for);
    if (error == ENOEXEC) {
        cli_error("%s: is no shared object, and so not the heap agent", agent);
        return CLI_RECORD_FAILED;
    }
    if (error) {
        cli_system_error(agent, "read", error);
        return CLI_RECORD_FAILED;
    }
    pd_launch_check(path, &built_for, &found);
    return refuse(&found);
}
