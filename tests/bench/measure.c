/* Runs a command and prints what it cost: "WALL CPU PEAK_KIB FAULTS" on standard output.
 *
 *     measure COMMAND [ARGUMENT...]       its output goes to /dev/null
 *
 * WALL is the nanoseconds from before the start of the process to after its end. CPU is the
 * nanoseconds of processor time, user and system, of all its threads. FAULTS is the number of page
 * faults that read nothing from a disk. A process inherits the peak memory of the process that starts
 * it, so a large driver cannot measure the peak of a small child: this program is small. Exits with the
 * command's status. */
#include "clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t nanoseconds(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

int main(int argc, char **argv)
{
    posix_spawn_file_actions_t files;
    pid_t child;
    int status;
    struct rusage usage;
    if (argc < 2) {
        fputs("usage: measure COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    if (posix_spawn_file_actions_init(&files) ||
        posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0))
        return 1;
    int64_t start = now(CLOCK_MONOTONIC);
    if (posix_spawnp(&child, argv[1], &files, NULL, argv + 1, environ) ||
        wait4(child, &status, 0, &usage) != child) {
        fprintf(stderr, "measure: %s cannot be run\n", argv[1]);
        return 1;
    }
    printf("%" PRId64 " %" PRId64 " %ld %ld\n", now(CLOCK_MONOTONIC) - start,
           nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime), usage.ru_maxrss,
           usage.ru_minflt);
    posix_spawn_file_actions_destroy(&files);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
