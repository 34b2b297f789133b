/* A line on the terminal that shows what a long run is doing: see progress.h.
 *
 * The handler of SIGALRM adds the seconds to the line and writes it. It uses only the struct below.
 * All other code changes the struct while the signal is blocked. */
#include "progress.h"

#include "text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { NAME_COLUMNS = 48, LINE_ROOM = 512 };

static struct {
    bool is_on, is_shown;
    unsigned long long seconds;
    char line[LINE_ROOM];
    size_t len;
} progress;

static const char erase[] = "\r\033[K";

/* A failed write is ignored: the run does not need the line. */
static void put(const char *bytes, size_t len)
{
    ssize_t done = write(STDERR_FILENO, bytes, len);
    (void)done;
}

static void tick(int signal)
{
    char text[LINE_ROOM + 32];
    char digits[24];
    size_t len = progress.len, at = sizeof digits;
    int kept = errno;
    (void)signal;
    progress.seconds++;
    if (!len)
        return;
    for (unsigned long long left = progress.seconds; left || at == sizeof digits; left /= 10)
        digits[--at] = (char)('0' + left % 10);
    memcpy(text, progress.line, len);
    memcpy(text + len, digits + at, sizeof digits - at);
    len += sizeof digits - at;
    text[len++] = ' ';
    text[len++] = 's';
    put(text, len);
    progress.is_shown = true;
    errno = kept;
}

/* Blocks or unblocks the signal. */
static void hold(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(how, &set, NULL);
}

static void set_timer(time_t seconds)
{
    struct itimerval timer = {{seconds, 0}, {seconds, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

void cli_progress_start(bool is_wanted)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    if (!is_wanted || !isatty(STDERR_FILENO))
        return;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGALRM, &action, NULL))
        return;
    progress.is_on = true;
    set_timer(1);
}

void cli_progress_say(const char *doing, const char *name)
{
    char line[LINE_ROOM];
    if (!progress.is_on)
        return;
    size_t name_len = strlen(name), cut = name_len > NAME_COLUMNS ? name_len - NAME_COLUMNS : 0;
    size_t len = (size_t)snprintf(line, sizeof line, "%spprofdelta: %.32s ", erase, doing);
    len += cli_string_write(line + len, sizeof line - len - 2, cli_string_of(name + cut));
    line[len++] = ',';
    line[len++] = ' ';
    hold(SIG_BLOCK);
    memcpy(progress.line, line, len);
    progress.len = len;
    hold(SIG_UNBLOCK);
}

void cli_progress_clear(void)
{
    if (!progress.is_on)
        return;
    hold(SIG_BLOCK);
    if (progress.is_shown)
        put(erase, sizeof erase - 1);
    progress.is_shown = false;
    hold(SIG_UNBLOCK);
}

void cli_progress_end(void)
{
    if (!progress.is_on)
        return;
    set_timer(0);
    cli_progress_clear();
    progress.is_on = false;
}
