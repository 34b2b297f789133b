/* Makes the last window of each process that was killed while it was recorded into a folder: from the
 * files that the agent leaves there (agent/base/remains.h).
 *
 *     heap.PROGRAM.PID.live --lock, check--> tracker --begin, write, commit--> heap.PROGRAM.PID.N.pb.gz
 *                                                                              the file is removed
 *
 * The folder may be shared with strangers. Only a regular file of this user with one name and without
 * rights for others is read, no link is followed, and nothing in the file is trusted. Root also takes the file of another
 * user from a folder of that user, and has only the rights of that user for what it reads and writes then. The file of a process that
 * lives is locked, and is left alone. If this process ends between the two steps, the window is made
 * again with the same sequence and attempt, and the verbs that read it count it once. */
#ifndef CLI_RECOVER_H
#define CLI_RECOVER_H

#include "input.h"
#include "receiver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_recovering {
    const char *to;        /* a shell command that gets the profiles; NULL: into the folder */
    cli_receiver receiver; /* none: as the process would have written them */
    int64_t max_age_nanos; /* what is older goes into the folder; 0: nothing is */
    int64_t timeout_nanos; /* of it; 0: none */
    bool is_silent;        /* what is left alone is not mentioned */
    /* A program is about to run: the command is silent, and after one failure all is left; but not after that of a
     * window that is too old for the receiver. */
    bool is_before;
    size_t recovered; /* windows */
    size_t empty;     /* processes of which everything had arrived */
    size_t early;     /* processes that ended before their file was complete */
    size_t living;    /* files that were left alone: their processes live */
} cli_recovering;

/* Recovers all there is. Prints what is wrong, and a note for each window; returns an exit code: that of the
 * last file that could not be recovered. */
int cli_recover_folder(const char *path, cli_recovering *how);

/* Recovers what can be, and lists the profiles of the folder for the verb: the names that end with .pb.gz or
 * .otlp.gz and do not begin with a dot. That there are none is an error. See cli_folder_read. */
int cli_recover_and_read(cli_folder *folder, const char *path, const char *verb);

#endif
