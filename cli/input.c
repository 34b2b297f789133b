/* An input file in memory: see input.h. */
#include "input.h"

#include "cli.h"
#include "memory.h"
#include "message.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_ROOM = 64 * 1024 };

bool cli_input_is_stdin(const char *path)
{
    return !strcmp(path, "-");
}

const char *cli_input_name(const char *path)
{
    return cli_input_is_stdin(path) ? "(stdin)" : path;
}

enum { TOO_LARGE = -1 }; /* is no errno */

/* The limit, but not more than a process can have. */
static uint64_t possible(uint64_t limit)
{
    return limit < PTRDIFF_MAX ? limit : PTRDIFF_MAX - 1;
}

/* The length of a regular file; 0 if it is not one, or if its length is not known. */
static uint64_t announced(int fd)
{
    struct stat st;
    return fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 0 ? 0 : (uint64_t)st.st_size;
}

/* Reads to the end of fd. Asks for one byte more than the limit, to distinguish a file of that
 * length from a larger one, and for one byte more than a regular file's length, so that one read
 * reaches its end. Returns 0, TOO_LARGE or an errno. */
static int read_all(cli_input *in, int fd, uint64_t limit)
{
    uint64_t len = announced(fd);
    limit = possible(limit);
    if (len > limit)
        return TOO_LARGE;
    size_t room = 0, most = (size_t)limit + 1, want = len ? (size_t)len + 1 : FIRST_ROOM;
    for (;;) {
        if (in->len > limit)
            return TOO_LARGE;
        if (in->len == room) {
            if (want > most)
                want = most;
            uint8_t *grown = realloc(in->bytes, want);
            if (!grown)
                return ENOMEM;
            if (len && !in->bytes)
                cli_memory_make_ready(grown, want);
            in->bytes = grown;
            room = want;
            want = room > SIZE_MAX / 2 ? SIZE_MAX : room * 2;
        }
        ssize_t got = read(fd, in->bytes + in->len, room - in->len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? errno : 0;
        in->len += (size_t)got;
    }
}

static int read_file(cli_input *in, const char *path, uint64_t limit, const char **doing)
{
    *doing = "open";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return errno;
    *doing = "read";
    int wrong = read_all(in, fd, limit);
    close(fd);
    return wrong;
}

static int refuse_too_large(const cli_input *in, const char *path, uint64_t limit)
{
    struct stat st;
    if (limit > possible(limit)) {
        cli_error("%s: is larger than a %zu-bit process has room for", in->name,
                  8 * sizeof(void *));
        return CLI_FAILED;
    }
    bool is_known = !cli_input_is_stdin(path) && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    if (is_known)
        cli_error("%s: is larger than the limit of %" PRIu64 " bytes: it has %" PRIu64, in->name,
                  limit, (uint64_t)st.st_size);
    else
        cli_error("%s: is larger than the limit of %" PRIu64 " bytes", in->name, limit);
    cli_hint_memory();
    return CLI_FAILED;
}

int cli_input_read(cli_input *in, const char *path, uint64_t limit)
{
    const char *doing = "read";
    int wrong;
    *in = (cli_input){.name = path};
    in->name = cli_input_name(path);
    cli_progress_say("reading", in->name);
    if (!cli_input_is_stdin(path)) {
        wrong = read_file(in, path, limit, &doing);
    } else {
        if (isatty(STDIN_FILENO))
            return cli_usage("(stdin): is a terminal; give a file, or a pipe with a profile");
        wrong = read_all(in, STDIN_FILENO, limit);
    }
    if (wrong == TOO_LARGE)
        return refuse_too_large(in, path, limit);
    return wrong ? cli_system_error(in->name, doing, wrong) : CLI_DONE;
}

void cli_input_release(cli_input *in)
{
    free(in->bytes);
    in->bytes = NULL;
    in->len = 0;
}

bool cli_input_try(cli_input *in, const char *path, uint64_t limit)
{
    const char *doing;
    *in = (cli_input){.name = path};
    if (read_file(in, path, limit, &doing) == 0)
        return true;
    cli_input_release(in);
    return false;
}

void cli_input_free(cli_input *in)
{
    cli_input_release(in);
    *in = (cli_input){0};
}
