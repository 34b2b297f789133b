/* Which existing file an output may replace: see overwrite.h. */
#include "overwrite.h"

#include "cli.h"
#include "message.h"
#include "regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 64 * 1024 };

/* Reads the first bytes of the file, at most HEAD. Returns false, with the reason, if it failed. */
static bool read_head(const char *path, char head[HEAD], size_t *len, char why[CLI_WHY_ROOM])
{
    int fd = cli_regular_open(AT_FDCWD, path, O_RDONLY, why);
    ssize_t got = 0;
    *len = 0;
    if (fd < 0)
        return false;
    while (*len < HEAD && (got = read(fd, head + *len, HEAD - *len)) > 0)
        *len += (size_t)got;
    if (got < 0)
        snprintf(why, CLI_WHY_ROOM, "cannot read: %s", strerror(errno));
    close(fd);
    return got >= 0;
}

const char *cli_overwrite_name(const char *path)
{
    char head[HEAD], why[CLI_WHY_ROOM];
    size_t len;
    pprofdelta_file_kind kind;
    const char *what;
    bool is_known =
        read_head(path, head, &len, why) && !pprofdelta_identify(head, len, &kind, &what, NULL);
    return is_known ? what : NULL;
}

int cli_overwrite_check(const char *path, const char *name, pprofdelta_file_kind written)
{
    char head[HEAD], why[CLI_WHY_ROOM];
    size_t len;
    pprofdelta_file_kind kind;
    pprofdelta_error err;
    const char *what;
    if (!read_head(path, head, &len, why)) {
        cli_error("%s: %s; it is read to check that it may be replaced", name, why);
        return CLI_FAILED;
    }
    if (pprofdelta_identify(head, len, &kind, &what, &err))
        return cli_library_error(name, &err);
    bool is_profile = kind == PPROFDELTA_FILE_PROFILE || kind == PPROFDELTA_FILE_OTLP;
    if (kind == written || kind == PPROFDELTA_FILE_EMPTY ||
        (written == PPROFDELTA_FILE_PROFILE && is_profile))
        return CLI_DONE;
    cli_error("%s: is not replaced: it is %s, and %s", name, what,
              written == PPROFDELTA_FILE_HTML ? "a page replaces only a page"
                                              : "a profile replaces only a profile");
    cli_hint("give another name, or delete the file first");
    return CLI_FAILED;
}
