/* A child process that becomes a command: see child.h. The child writes errno to a pipe if it cannot;
 * otherwise execvp closes the pipe. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void become(char *const *argv, int report)
{
    execvp(argv[0], argv);
    int error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR) {
    }
    _exit(127);
}

pid_t cli_child_start(char *const *argv, void (*prepare)(const void *cookie), const void *cookie)
{
    int report[2], error = 0;
    if (pipe2(report, O_CLOEXEC))
        return -1;
    pid_t child = fork();
    if (!child) {
        prepare(cookie);
        become(argv, report[1]);
    }
    error = child < 0 ? errno : 0;
    close(report[1]);
    while (child > 0 && read(report[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
    close(report[0]);
    if (child > 0 && error)
        cli_child_wait(child);
    errno = error;
    return error ? -1 : child;
}

bool cli_set_variable(const char *name, bool has_value, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    bool is_set =
        has_value ? vasprintf(&text, format, args) >= 0 && !setenv(name, text, 1) : !unsetenv(name);
    va_end(args);
    free(text);
    return is_set;
}

int cli_child_wait(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}
