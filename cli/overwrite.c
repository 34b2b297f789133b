/* Which existing file an output may replace: see overwrite.h. */
#include "overwrite.h"

#include "cli.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

enum { HEAD = 64 * 1024 };

/* Reads the first bytes of the file, at most HEAD. Returns 0 or an errno. */
static int read_head(const char *path, char head[HEAD], size_t *len)
{
    int error = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    *len = 0;
    if (fd < 0)
        return errno;
    while (*len < HEAD && !error) {
        ssize_t got = read(fd, head + *len, HEAD - *len);
        if (got > 0)
            *len += (size_t)got;
        else if (got == 0)
            break;
        else if (errno != EINTR)
            error = errno;
    }
    close(fd);
    return error;
}

static pprofdelta_status identify(const char head[HEAD], size_t len, pprofdelta_file_kind *kind,
                                  const char **what, pprofdelta_error *err)
{
    pprofdelta *context;
    pprofdelta_status status = pprofdelta_new(NULL, NULL, &context, err);
    if (status)
        return status;
    status = pprofdelta_identify(context, head, len, kind, what, err);
    pprofdelta_free(context);
    return status;
}

const char *cli_overwrite_name(const char *path)
{
    char head[HEAD];
    size_t len;
    pprofdelta_file_kind kind;
    const char *what;
    bool is_known = !read_head(path, head, &len) && !identify(head, len, &kind, &what, NULL);
    return is_known ? what : NULL;
}

int cli_overwrite_check(const char *path, const char *name, pprofdelta_file_kind written)
{
    char head[HEAD];
    size_t len;
    pprofdelta_file_kind kind;
    pprofdelta_error err;
    const char *what;
    int error = read_head(path, head, &len);
    if (error)
        return cli_system_error(name, "read it to check that it may be replaced", error);
    if (identify(head, len, &kind, &what, &err))
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
