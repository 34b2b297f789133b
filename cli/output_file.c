/* The output: see output_file.h. */
#include "output_file.h"

#include "buffer.h"
#include "cli.h"
#include "message.h"
#include "regular.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char stdout_name[] = "(stdout)";

/* stdout has other names. Replacing the file behind one would lose what `>>` keeps. */
static int names_stdout(const char *path)
{
    return !path || !strcmp(path, "-") || !strcmp(path, "/dev/stdout") ||
           !strcmp(path, "/dev/fd/1") || !strcmp(path, "/proc/self/fd/1");
}

static int refuse_terminal(const char *name)
{
    return cli_usage("%s: is a terminal, and a profile is binary; use -o OUT or a pipe", name);
}

/* The file that path leads to through symbolic links. It need not exist if path is none. Returns NULL
 * with errno set. */
static char *target_of(const char *path)
{
    struct stat st;
    bool is_link = !lstat(path, &st) && S_ISLNK(st.st_mode);
    return is_link ? realpath(path, NULL) : strdup(path);
}

/* OUT does not exist; refuses it if its directory does not exist either. */
static int check_folder(const cli_output *out)
{
    char *folder = cli_temporary_folder(out->target);
    bool is_there = folder && !access(folder, F_OK);
    int error = errno;
    free(folder);
    return is_there ? CLI_DONE : cli_system_error(out->name, "write", error);
}

/* Which existing file OUT may replace: a profile a profile, a page a page, and both an empty file. Every
 * other file stays. Its name does not matter. */
static int check_old(const cli_output *out)
{
    char why[CLI_WHY_ROOM];
    pprofdelta_file_kind kind;
    const char *what = cli_regular_kind(out->target, &kind, why);
    if (!what) {
        cli_error("%s: %s; it is read to check that it may be replaced", out->name, why);
        return CLI_FAILED;
    }
    bool is_profile = kind == PPROFDELTA_FILE_PROFILE || kind == PPROFDELTA_FILE_OTLP;
    if (kind == PPROFDELTA_FILE_EMPTY || (out->is_page ? kind == PPROFDELTA_FILE_HTML : is_profile))
        return CLI_DONE;
    cli_error("%s: is not replaced: it is %s, and %s", out->name, what,
              out->is_page ? "a page replaces only a page" : "a profile replaces only a profile");
    cli_hint("give another name, or delete the file first");
    return CLI_FAILED;
}

static int prepare_file(cli_output *out, bool is_missing)
{
    out->kind = CLI_OUTPUT_REPLACE;
    out->target = target_of(out->name);
    if (!out->target)
        return cli_system_error(out->name, "write", errno);
    if (is_missing)
        return check_folder(out);
    return check_old(out);
}

static int prepare(cli_output *out, const char *path)
{
    if (names_stdout(path)) {
        out->fd = STDOUT_FILENO;
        return isatty(STDOUT_FILENO) ? refuse_terminal(out->name) : CLI_DONE;
    }
    out->name = path;
    struct stat st;
    int missing = stat(path, &st);
    if (missing && errno != ENOENT)
        return cli_system_error(path, "write", errno);
    if (!missing && (S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode)))
        return cli_system_error(path, "write", S_ISDIR(st.st_mode) ? EISDIR : ENXIO);
    if (!missing && !S_ISREG(st.st_mode)) {
        out->kind = CLI_OUTPUT_DIRECT;
        return CLI_DONE;
    }
    return prepare_file(out, missing != 0);
}

int cli_output_prepare(cli_output *out, const char *path)
{
    *out = (cli_output){.kind = CLI_OUTPUT_STDOUT, .name = stdout_name, .fd = -1};
    return prepare(out, path);
}

int cli_output_prepare_page(cli_output *out, const char *path)
{
    *out = (cli_output){.kind = CLI_OUTPUT_STDOUT, .name = stdout_name, .fd = -1, .is_page = true};
    return prepare(out, path);
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool are_in_one_folder(const char *path, const char *other)
{
    struct stat st, other_st;
    char *folder = cli_temporary_folder(path), *other_folder = cli_temporary_folder(other);
    bool are = folder && other_folder && !stat(folder, &st) && !stat(other_folder, &other_st) &&
               st.st_dev == other_st.st_dev && st.st_ino == other_st.st_ino;
    free(folder);
    free(other_folder);
    return are;
}

bool cli_output_leads_to(const char *out, const char *path)
{
    char *target = names_stdout(out) ? NULL : target_of(out);
    bool leads =
        target && !strcmp(last_name(path), last_name(target)) && are_in_one_folder(path, target);
    free(target);
    return leads;
}

/* Opens the output before the first byte. Returns 0, or -1 with out->failure set. */
static int open_output(cli_output *out)
{
    if (out->kind == CLI_OUTPUT_REPLACE) {
        const char *owner = out->state ? out->state : out->target;
        if (cli_temporary_create(&out->temporary, out->target, owner, false))
            out->failure =
                cli_system_error(out->name, "create a temporary file in its directory", errno);
        out->fd = out->temporary.fd;
    } else {
        out->fd = open(out->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (out->fd < 0)
            out->failure = cli_system_error(out->name, "open", errno);
        else if (isatty(out->fd))
            out->failure = refuse_terminal(out->name);
    }
    return out->failure ? -1 : 0;
}

static int write_all(void *cookie, const void *data, size_t len)
{
    cli_output *out = cookie;
    if (out->failure || out->is_unread || (out->fd < 0 && open_output(out)))
        return -1;
    int error = cli_write_all(out->fd, data, len);
    if (!error)
        return 0;
    if (error == EPIPE && out->is_page && out->kind == CLI_OUTPUT_STDOUT)
        out->is_unread = true;
    else
        out->failure = cli_system_error(out->name, "write", error);
    return -1;
}

pprofdelta_sink cli_output_sink(cli_output *out)
{
    return (pprofdelta_sink){.write = write_all, .cookie = out};
}

int cli_output_finish(cli_output *out)
{
    if (out->is_unread)
        return CLI_DONE;
    if (out->failure || (out->fd < 0 && open_output(out)))
        return out->failure;
    if (out->temporary.name && cli_temporary_replace(&out->temporary, out->target, out->is_synced))
        return out->failure = cli_system_error(out->name, "replace", errno);
    if (out->kind != CLI_OUTPUT_REPLACE && out->is_synced && cli_sync(out->fd))
        return out->failure = cli_system_error(out->name, "sync", errno);
    int fd = out->fd;
    out->fd = -1;
    return close(fd) ? out->failure = cli_system_error(out->name, "write", errno) : CLI_DONE;
}

void cli_output_close(cli_output *out)
{
    cli_temporary_remove(&out->temporary);
    if (out->fd >= 0 && out->kind == CLI_OUTPUT_DIRECT)
        close(out->fd);
    free(out->target);
    *out = (cli_output){.fd = -1};
}

/* Is fd a pipe that has no reader? */
static bool is_unread(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLOUT};
    return poll(&end, 1, 0) > 0 && end.revents & POLLERR;
}

bool cli_output_is_over(void)
{
    return ferror(stdout) != 0;
}

int cli_output_end_text(void)
{
    int failed = ferror(stdout); /* of an earlier write: its errno is lost */
    errno = 0;
    failed |= fflush(stdout);
    int error = errno;
    if (failed && is_unread(STDOUT_FILENO))
        return CLI_DONE;
    errno = 0;
    failed |= fclose(stdout);
    error = error ? error : errno;
    if (failed && error)
        return cli_system_error(stdout_name, "write", error);
    if (failed) {
        cli_error("%s: cannot write", stdout_name);
        return CLI_FAILED;
    }
    return CLI_DONE;
}

int cli_output_text(const char *text)
{
    fputs(text, stdout);
    return cli_output_end_text();
}
