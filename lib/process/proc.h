/* Files of /proc about this process.
 *
 * /proc/self is the thread group leader. When the leader has ended and other threads go on, its
 * maps are empty and its exe and fd cannot be read. /proc/thread-self (Linux 3.17) is the calling
 * thread and stays complete. */
#ifndef PD_PROCESS_PROC_H
#define PD_PROCESS_PROC_H

#include <fcntl.h>
#include <unistd.h>

/* Opens a file of /proc for reading: PD_PROC_OPEN("maps"). Returns the descriptor, or -1 and
 * errno. */
#define PD_PROC_OPEN(name) pd_proc_open("/proc/thread-self/" name, "/proc/self/" name)

static inline int pd_proc_open(const char *thread, const char *process)
{
    int fd = open(thread, O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd : open(process, O_RDONLY | O_CLOEXEC);
}

/* Writes the path of the program, without a NUL at its end. Returns its length, or -1 and errno. */
static inline ssize_t pd_proc_program(char *buffer, size_t size)
{
    ssize_t len = readlink("/proc/thread-self/exe", buffer, size);
    return len >= 0 ? len : readlink("/proc/self/exe", buffer, size);
}

#endif
