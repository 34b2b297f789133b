/* The state file: see state_file.h. */
#include "delta/state_file.h"

#include "cli.h"
#include "message.h"
#include "output_file.h"
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening and locking --------------------------------------------------------------------- */

/* Refuses a file that is not regular, or that belongs to another user. Root may use the state of
 * another user, and does not become its owner. */
static int check_file(const cli_state *state)
{
    const char *wrong = S_ISLNK(state->is.st_mode) ? "is a symbolic link, which a state must not be"
                        : !S_ISREG(state->is.st_mode)
                            ? "is not a regular file, which a state must be"
                            : NULL;
    if (wrong)
        return cli_error("%s: %s", state->path, wrong);
    if (state->is.st_uid == geteuid() || geteuid() == 0)
        return CLI_DONE;
    cli_error("%s: belongs to another user (%lu), and only its owner may use a state", state->path,
              (unsigned long)state->is.st_uid);
    return cli_hint(
        "give the name of a new file, in a directory where no other user can create one");
}

static int examine_locked(cli_state *state)
{
    return fstat(state->lock, &state->is) ? cli_system_error(state->path, "open the state", errno)
                                          : check_file(state);
}

/* Opens FILE. If it is not there, that is a failure only for a reader; state->lock is -1. */
static int open_file(cli_state *state, int how)
{
    state->lock = open(state->path, how | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = errno;
    if (state->lock >= 0)
        return examine_locked(state);
    if (error == ENOENT && how == O_RDWR)
        return CLI_DONE;
    if ((error == ELOOP || error == EACCES) && !lstat(state->path, &state->is) && check_file(state))
        return CLI_FAILED;
    return cli_system_error(state->path, "open the state", error);
}

static void take_lock(const cli_state *state, const cli_options *options)
{
    static const char user[] = "another run is using this state";
    if (!flock(state->lock, LOCK_EX | LOCK_NB))
        return;
    if (errno == EWOULDBLOCK && options->no_wait)
        cli_must(cli_error("%s: %s, and --no-wait was given", state->path, user));
    if (errno == EWOULDBLOCK)
        cli_note("%s: waiting: %s", state->path, user);
    while (flock(state->lock, LOCK_EX))
        if (errno != EINTR)
            cli_must(cli_system_error(state->path, "lock", errno));
}

/* Is the locked file the one that is at the path now? */
static bool is_current(const cli_state *state)
{
    struct stat st;
    return !lstat(state->path, &st) && st.st_dev == state->is.st_dev &&
           st.st_ino == state->is.st_ino;
}

void cli_state_open(cli_state *state, const cli_options *options)
{
    *state = (cli_state){.path = options->state, .lock = -1};
    for (bool is_ours = false; !is_ours;) {
        cli_must(open_file(state, O_RDWR));
        if (state->lock < 0)
            return;
        take_lock(state, options);
        is_ours = is_current(state);
        if (!is_ours)
            close(state->lock);
    }
    cli_must(examine_locked(state));
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_some(void *cookie, void *buf, size_t len, size_t *got)
{
    cli_state *state = cookie;
    ssize_t n;
    while ((n = read(state->lock, buf, len)) < 0 && errno == EINTR) {
    }
    if (n < 0)
        return cli_system_error(state->path, "read the state", errno);
    *got = (size_t)n;
    return 0;
}

/* The file is not a state. It was probably named by mistake, so the hint about moving it comes
 * second. */
static int refuse_foreign(const char *path, const pprofdelta_error *err)
{
    const char *why;
    pprofdelta_file_kind kind;
    const char *what = cli_regular_kind(path, &kind, &why);
    if (!what)
        return cli_library_error(path, err);
    cli_error("%s: this is %s, not a state that pprofdelta wrote; it is unchanged", path, what);
    return cli_hint(
        "--state takes a state, or the name of a new file; if this was the state, move it away");
}

int cli_state_load(cli_state *state, pprofdelta *context)
{
    pprofdelta_error err;
    const pprofdelta_source source = {read_some, state};
    if (state->lock < 0 || !pprofdelta_load(context, &source, &err))
        return CLI_DONE;
    return err.status == PPROFDELTA_E_SOURCE             ? CLI_FAILED /* it is told already */
           : err.reason == PPROFDELTA_REASON_NOT_A_STATE ? refuse_foreign(state->path, &err)
                                                         : cli_library_error(state->path, &err);
}

int cli_state_read(cli_state *state, const char *path, pprofdelta *context)
{
    *state = (cli_state){.path = path};
    int code = open_file(state, O_RDONLY);
    code = code ? code : cli_state_load(state, context);
    cli_close(state->lock);
    return code;
}

/* ---- writing --------------------------------------------------------------------------------- */

bool cli_state_replace(cli_state *state, pprofdelta *context)
{
    pprofdelta_error err;
    static cli_output next;
    next = (cli_output){.fd = -1,
                        .kind = CLI_OUTPUT_REPLACE,
                        .state = state->path,
                        .is_state = true,
                        .is_new = state->lock < 0,
                        .name = state->path,
                        .target = state->path};
    const pprofdelta_sink sink = {.write = cli_output_write, .cookie = &next};
    if (state->lock >= 0 && !is_current(state))
        cli_must(cli_error("%s: is no longer the file that this run locked; nothing was sent",
                           state->path));
    int code = pprofdelta_save(context, &sink, &err) ? cli_output_error(&next, state->path, &err)
                                                     : cli_output_finish(&next);
    if (code == CLI_OVERTAKEN) {
        cli_output_close(&next);
        return false;
    }
    cli_must(code);
    cli_close(state->lock);
    state->lock = next.fd; /* which stays open: its lock is the one of the state now */
    cli_must(examine_locked(state));
    return true;
}

void cli_state_arrived(cli_state *state)
{
    static const char arrived = 1; /* see pprofdelta_save */
    ssize_t done;
    while ((done = pwrite(state->lock, &arrived, 1, state->is.st_size - 1)) < 0 && errno == EINTR) {
    }
    if (done != 1)
        cli_must(
            cli_system_error(state->path, "record that the delta has arrived", done ? errno : EIO));
    if (fdatasync(state->lock)) /* only a power cut can undo the byte */
        cli_note("%s: cannot sync the state: %s; after a power cut this window may be sent again",
                 state->path, strerror(errno));
}
