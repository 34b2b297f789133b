/* Ends a window of `pprofdelta record` and waits for its profile.
 *
 * The windows of these programs end after a number of requests, so that what a profile has does not
 * depend on the speed of the machine. The signal asks for a profile; when it is written, the
 * directory has one profile more. */
#ifndef LEAKS_WINDOW_H
#define LEAKS_WINDOW_H

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int count_profiles(const char *path)
{
    static const char end[] = ".pb.gz";
    DIR *dir = opendir(path);
    int count = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t len = strlen(entry->d_name);
        count += entry->d_name[0] != '.' && len >= sizeof end &&
                 !strcmp(entry->d_name + len - (sizeof end - 1), end);
    }
    if (dir)
        closedir(dir);
    return count;
}

static void end_window(const char *path)
{
    enum { AGAIN = 500 }; /* a signal while the last profile is being delivered may be lost */
    const struct timespec pause = {0, 200000};
    int before = count_profiles(path);
    for (int tries = 0; count_profiles(path) == before; tries++) {
        if (tries % AGAIN == 0)
            raise(SIGUSR2);
        nanosleep(&pause, NULL);
    }
}

#endif
