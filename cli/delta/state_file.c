/* The state file: see state_file.h. */
#include "delta/state_file.h"

#include "buffer.h"
#include "cli.h"
#include "message.h"
#include "overwrite.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening and locking --------------------------------------------------------------------- */

static int cannot_open(const char *path, int error)
{
    if (error == ELOOP) {
        cli_error("%s: is a symbolic link, which a state must not be", path);
        cli_hint("give the path of the file that the link leads to");
        return CLI_FAILED;
    }
    return cli_system_error(path, "open the state", error);
}

/* Refuses a file that is not regular, or that belongs to another user. Root may use the state of
 * another user, and does not become its owner. */
static int check_file(const cli_state *state, const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) {
        cli_error("%s: is not a regular file, which a state must be", state->path);
        return CLI_FAILED;
    }
    if (st->st_uid != geteuid() && geteuid() != 0) {
        cli_error("%s: belongs to another user (%lu), and only its owner may use a state",
                  state->path, (unsigned long)st->st_uid);
        return CLI_FAILED;
    }
    return CLI_DONE;
}

static int read_facts(cli_state *state)
{
    struct stat st;
    if (fstat(state->lock, &st))
        return cannot_open(state->path, errno);
    state->device = st.st_dev;
    state->inode = st.st_ino;
    state->owner = st.st_uid;
    state->group = st.st_gid;
    state->len = (unsigned long long)st.st_size;
    return state->exists ? check_file(state, &st) : CLI_DONE;
}

/* Opens FILE, or its directory if FILE does not exist. */
static int open_either(cli_state *state)
{
    state->exists = true;
    state->lock = open(state->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (state->lock >= 0)
        return read_facts(state);
    if (errno != ENOENT)
        return cannot_open(state->path, errno);
    state->exists = false;
    char *folder = cli_temporary_folder(state->path);
    if (!folder)
        return cannot_open(state->path, ENOMEM);
    state->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int code = CLI_DONE;
    if (state->lock < 0) {
        code = cli_system_error(state->path, "create the state", errno);
        cli_hint("the directory %s must exist, and this user must have the right to write to it",
                 folder);
    }
    free(folder);
    return code ? code : read_facts(state);
}

static int take_lock(const cli_state *state, cli_waiting waiting)
{
    /* If there is no state yet, its directory is locked. */
    const char *user = state->exists ? "another run is using this state"
                                     : "another run is creating a state in this directory";
    if (!flock(state->lock, LOCK_EX | LOCK_NB))
        return CLI_DONE;
    if (errno == EWOULDBLOCK && waiting == CLI_NO_WAIT) {
        cli_error("%s: %s, and --no-wait was given", state->path, user);
        return CLI_FAILED;
    }
    if (errno == EWOULDBLOCK && waiting == CLI_WAIT)
        cli_note("%s: waiting: %s", state->path, user);
    while (flock(state->lock, LOCK_EX))
        if (errno != EINTR)
            return cli_system_error(state->path, "lock", errno);
    return CLI_DONE;
}

/* Is the locked file the one that is at the path now? */
static bool is_current(const cli_state *state)
{
    struct stat st;
    if (lstat(state->path, &st))
        return !state->exists && errno == ENOENT;
    return state->exists && st.st_dev == state->device && st.st_ino == state->inode;
}

int cli_state_open(cli_state *state, const char *path, cli_waiting waiting)
{
    *state = (cli_state){.path = path, .lock = -1, .next = -1};
    for (;;) {
        int code = open_either(state);
        if (!code)
            code = take_lock(state, waiting);
        if (code)
            return code;
        if (is_current(state))
            break;
        close(state->lock);
        state->lock = -1;
    }
    return read_facts(state);
}

int cli_state_open_to_read(cli_state *state, const char *path)
{
    *state = (cli_state){.path = path, .exists = true, .next = -1};
    state->lock = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return state->lock < 0 ? cannot_open(path, errno) : read_facts(state);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The library asks for large pieces, which are read directly, and for small ones, which come from
 * bytes. */
typedef struct inlet {
    cli_state *state;
    size_t at, len; /* bytes[at] to bytes[len - 1] are unread */
    char bytes[1 << 16];
} inlet;

static int read_file(cli_state *state, void *buf, size_t len, size_t *got)
{
    for (;;) {
        ssize_t n = read(state->lock, buf, len);
        if (n >= 0) {
            *got = (size_t)n;
            return 0;
        }
        if (errno != EINTR) {
            state->failure = cli_system_error(state->path, "read the state", errno);
            return -1;
        }
    }
}

static int read_some(void *cookie, void *buf, size_t len, size_t *got)
{
    inlet *in = cookie;
    if (in->at == in->len) {
        if (len >= sizeof in->bytes)
            return read_file(in->state, buf, len, got);
        in->at = in->len = 0;
        if (read_file(in->state, in->bytes, sizeof in->bytes, &in->len))
            return -1;
    }
    size_t left = in->len - in->at;
    *got = len < left ? len : left;
    memcpy(buf, in->bytes + in->at, *got);
    in->at += *got;
    return 0;
}

/* The file is not a state. It was probably named by mistake, so the hint about moving it comes
 * second. */
static int refuse_foreign(const char *path, const pprofdelta_error *err)
{
    const char *what = cli_overwrite_name(path);
    if (!what)
        return cli_library_error(path, err);
    cli_error("%s: this is %s, not a state that pprofdelta wrote; it is unchanged", path, what);
    cli_hint(
        "--state takes a state, or the name of a new file; if this was the state, move it away");
    return CLI_FAILED;
}

int cli_state_load(cli_state *state, pprofdelta *context)
{
    if (!state->exists)
        return CLI_DONE;
    pprofdelta_error err;
    inlet in;
    in.state = state;
    in.at = in.len = 0;
    pprofdelta_source source = {read_some, &in};
    if (pprofdelta_load(context, &source, &err) == PPROFDELTA_OK)
        return CLI_DONE;
    if (err.reason == PPROFDELTA_REASON_NOT_A_STATE)
        return refuse_foreign(state->path, &err);
    return state->failure ? state->failure : cli_library_error(state->path, &err);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The state is made in memory, so that it is written at once. */
static int write_state(cli_state *state, pprofdelta *context, int fd)
{
    pprofdelta_error err;
    cli_buffer bytes = {0};
    const pprofdelta_sink sink = cli_buffer_sink(&bytes);
    if (state->exists && (state->owner != geteuid() || state->group != getegid()) &&
        fchown(fd, state->owner, state->group) && state->owner != geteuid())
        return cli_system_error(state->path, "keep the owner of the state", errno);
    pprofdelta_status status = pprofdelta_save(context, &sink, &err);
    int error = status == PPROFDELTA_E_SINK ? ENOMEM
                : status                    ? 0
                                            : cli_write_all(fd, bytes.bytes, bytes.len);
    free(bytes.bytes);
    if (error)
        return cli_system_error(state->path, "write the state", error);
    if (status)
        return cli_library_error(state->path, &err);
    return fsync(fd) ? cli_system_error(state->path, "sync the state", errno) : CLI_DONE;
}

int cli_state_prepare(cli_state *state, pprofdelta *context)
{
    state->temporary = cli_temporary_create(state->path, state->path, true, &state->next);
    if (!state->temporary)
        return cli_system_error(state->path, "create a temporary file in its directory", errno);
    return write_state(state, context, state->next);
}

int cli_state_move(cli_state *state)
{
    if (!is_current(state)) {
        cli_error("%s: is no longer the file that this run locked; nothing was sent", state->path);
        return CLI_FAILED;
    }
    char *temporary = state->temporary;
    state->temporary = NULL;
    if (cli_temporary_replace(temporary, state->path))
        return cli_system_error(state->path, "replace the state", errno);
    close(state->lock);
    state->lock = state->next;
    state->next = -1;
    state->exists = true;
    int code = read_facts(state);
    if (code)
        return code;
    return cli_temporary_sync_folder(state->path)
               ? cli_system_error(state->path, "sync the directory of the state", errno)
               : CLI_DONE;
}

int cli_state_arrived(cli_state *state)
{
    static const char arrived = 1; /* see pprofdelta_save */
    ssize_t done;
    while ((done = pwrite(state->lock, &arrived, 1, (off_t)state->len - 1)) < 0 && errno == EINTR) {
    }
    if (done != 1)
        return cli_system_error(state->path, "record that the delta has arrived",
                                done ? errno : EIO);
    if (fdatasync(state->lock)) /* only a power cut can undo the byte */
        cli_note("%s: cannot sync the state: %s; after a power cut this window may be sent again",
                 state->path, strerror(errno));
    return CLI_DONE;
}

void cli_state_close(cli_state *state)
{
    if (state->temporary)
        cli_temporary_remove(state->temporary);
    if (state->next >= 0)
        close(state->next);
    if (state->lock >= 0)
        close(state->lock);
    *state = (cli_state){.lock = -1, .next = -1};
}
