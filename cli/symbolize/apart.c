/* A child process for code that reads untrusted data: see apart.h. */
#include "symbolize/apart.h"

#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in the child ---------------------------------------------------------------------------- */

static uint64_t file_len; /* of all files that are allowed */

/* Sets the soft limit. A macro, since the type of the resource differs between C libraries. */
#define LIMIT(resource, value)                                                                     \
    do {                                                                                           \
        struct rlimit now_;                                                                        \
        if (!getrlimit((resource), &now_)) {                                                       \
            now_.rlim_cur = (value) < now_.rlim_max ? (value) : now_.rlim_max;                     \
            setrlimit((resource), &now_);                                                          \
        }                                                                                          \
    } while (0)

/* The address space of this process in bytes; 0 if it is not known. */
static uint64_t own_size(void)
{
    char pages[64];
    cli_text_read(AT_FDCWD, "/proc/self/statm", pages, sizeof pages);
    return strtoull(pages, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void cli_apart_limit(unsigned seconds, uint64_t memory)
{
    static uint64_t size; /* at the beginning */
    if (!size)
        size = own_size();
    LIMIT(RLIMIT_CPU, seconds);
    if (size && memory < (rlim_t)RLIM_INFINITY - size)
        LIMIT(RLIMIT_AS, (rlim_t)(size + memory));
}

void cli_apart_allow(int fd)
{
    enum { SECONDS = 3, BYTES_A_SECOND = 8 << 20, MEMORY = 256 << 20, FACTOR = 64 };
    struct stat st;
    uint64_t len = fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
    file_len += len < UINT32_MAX ? len : UINT32_MAX;
    uint64_t seconds = SECONDS + file_len / BYTES_A_SECOND, memory = MEMORY + file_len * FACTOR;
    cli_apart_limit(seconds < CLI_APART_SECONDS ? (unsigned)seconds : CLI_APART_SECONDS,
                    memory < CLI_APART_MEMORY ? memory : CLI_APART_MEMORY);
}

void cli_apart_open_files(bool is_allowed)
{
    static rlim_t usual;
    struct rlimit now;
    if (!usual)
        usual = getrlimit(RLIMIT_NOFILE, &now) ? 64 : now.rlim_cur;
    LIMIT(RLIMIT_NOFILE, is_allowed ? usual : 0);
}

void *cli_apart_take(size_t len, size_t size)
{
    void *block = calloc(len ? len : 1, size);
    if (!block)
        _exit(1);
    return block;
}

static _Noreturn void work_and_exit(cli_apart_work *work, const void *cookie, int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGXCPU, SIG_DFL);
    LIMIT(RLIMIT_CORE, (rlim_t)0);
    cli_apart_limit(CLI_APART_SECONDS, CLI_APART_MEMORY);
    FILE *out = fdopen(fd, "w");
    if (out)
        work(cookie, out);
    _exit(!out || fflush(out)); /* does not flush the copies of the parent's buffers */
}

/* ---- in the parent --------------------------------------------------------------------------- */

/* Reads to the end. Returns false if the answer is too long, or memory is short. */
static bool read_answer(cli_answer *answer, int fd)
{
    enum { MOST = 1 << 30 };
    uint8_t piece[1 << 16];
    for (;;) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return !got;
        if (answer->buffer.len + (size_t)got > MOST ||
            cli_buffer_append(&answer->buffer, piece, (size_t)got))
            return false;
    }
}

static cli_apart_end end_of(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status) ? CLI_APART_FAILED : CLI_APART_DONE;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return number == SIGXCPU ? CLI_APART_TOO_SLOW : CLI_APART_CRASHED;
}

cli_apart_end cli_apart_run(cli_apart_work *work, const void *cookie, cli_answer *answer)
{
    int ends[2], status = 0;
    *answer = (cli_answer){0};
    if (pipe2(ends, O_CLOEXEC))
        return CLI_APART_NOT_RUN;
    pid_t child = fork();
    if (!child) {
        close(ends[0]);
        work_and_exit(work, cookie, ends[1]);
    }
    close(ends[1]);
    bool is_whole = child > 0 && read_answer(answer, ends[0]);
    close(ends[0]);
    if (child < 0)
        return CLI_APART_NOT_RUN;
    if (!is_whole)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return is_whole ? end_of(status) : CLI_APART_TOO_LONG;
}

void cli_answer_free(cli_answer *answer)
{
    free(answer->buffer.bytes);
    *answer = (cli_answer){0};
}

const char *cli_apart_reason(cli_apart_end end)
{
    static const char *const reasons[] = {
        [CLI_APART_DONE] = "was read",
        [CLI_APART_FAILED] = "cannot be read",
        [CLI_APART_CRASHED] = "makes the library that reads it crash: it is damaged",
        [CLI_APART_TOO_SLOW] = "takes too much processor time: it may be damaged",
        [CLI_APART_TOO_LONG] = "takes too much memory: it may be damaged",
        [CLI_APART_NOT_RUN] = "is not read, because a child process cannot be started",
    };
    return reasons[end];
}

/* ---- answers --------------------------------------------------------------------------------- */

void cli_answer_put_number(FILE *out, uint64_t number)
{
    fwrite(&number, sizeof number, 1, out);
}

void cli_answer_put_string(FILE *out, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    cli_answer_put_number(out, len);
    if (len)
        fwrite(text, 1, len, out);
}

/* The next bytes of the answer; NULL if there are not so many. */
static const uint8_t *take_bytes(cli_answer *answer, uint64_t len)
{
    if (answer->is_over || len > answer->buffer.len - answer->at) {
        answer->is_over = true;
        return NULL;
    }
    answer->at += (size_t)len;
    return answer->buffer.bytes + answer->at - len;
}

uint64_t cli_answer_number(cli_answer *answer)
{
    uint64_t number = 0;
    const uint8_t *bytes = take_bytes(answer, sizeof number);
    if (bytes)
        memcpy(&number, bytes, sizeof number);
    return number;
}

cli_string cli_answer_string(cli_answer *answer)
{
    uint64_t len = cli_answer_number(answer);
    const uint8_t *text = len ? take_bytes(answer, len) : NULL;
    return text ? (cli_string){(const char *)text, (size_t)len} : cli_string_of("");
}
