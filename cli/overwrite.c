/* Which existing file an output may replace: see overwrite.h. */
#include "overwrite.h"

#include "cli.h"
#include "message.h"
#include "regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 64 * 1024 };

/* The kind of the file at path, and its name for a message. If it cannot be read, returns NULL and
 * writes the reason. */
static const char *kind_of(const char *path, pprofdelta_file_kind *kind, char why[CLI_WHY_ROOM])
{
    char head[HEAD];
    const char *what = NULL;
    size_t len = 0;
    ssize_t got = 0;
    pprofdelta_error err;
    int fd = cli_regular_open(AT_FDCWD, path, O_RDONLY, why);
    if (fd < 0)
        return NULL;
    while (len < HEAD && (got = read(fd, head + len, HEAD - len)) > 0)
        len += (size_t)got;
    if (got < 0)
        snprintf(why, CLI_WHY_ROOM, "cannot read: %s", strerror(errno));
    else if (pprofdelta_identify(head, len, kind, &what, &err))
        snprintf(why, CLI_WHY_ROOM, "%s", err.text);
    close(fd);
    return what;
}

const char *cli_overwrite_name(const char *path)
{
    char why[CLI_WHY_ROOM];
    pprofdelta_file_kind kind;
    return kind_of(path, &kind, why);
}

int cli_overwrite_check(const char *path, const char *name, pprofdelta_file_kind written)
{
    char why[CLI_WHY_ROOM];
    pprofdelta_file_kind kind;
    const char *what = kind_of(path, &kind, why);
    if (!what) {
        cli_error("%s: %s; it is read to check that it may be replaced", name, why);
        return CLI_FAILED;
    }
    if (kind == written || kind == PPROFDELTA_FILE_EMPTY ||
        (written == PPROFDELTA_FILE_PROFILE && kind == PPROFDELTA_FILE_OTLP))
        return CLI_DONE;
    cli_error("%s: is not replaced: it is %s, and %s", name, what,
              written == PPROFDELTA_FILE_HTML ? "a page replaces only a page"
                                              : "a profile replaces only a profile");
    cli_hint("give another name, or delete the file first");
    return CLI_FAILED;
}
