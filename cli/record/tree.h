/* record --pid-tree: runs COMMAND as a child, waits for all processes that it starts, and adds up
 * their profiles.
 *
 *     DIR/tree.PROGRAM.PID/heap.*.pb.gz   the profiles of the single processes
 *     DIR/tree.PROGRAM.PID.pb.gz          their sum
 *
 * The folder is made for each run, so profiles of other runs are not added. PID is that of this
 * process, which COMMAND is not in, other than without --pid-tree. */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include <limits.h>
#include <stdbool.h>

/* Makes the folder for the profiles in dir and returns its path. Prints what is wrong; returns an
 * exit code. */
int cli_tree_make_folder(const char *dir, const char *command, char path[PATH_MAX]);

/* Runs the command with the environment of this process, and then adds up the profiles in the
 * folder. Ends this process as the command ended: with its status, or by its signal. Returns only
 * if the command could not be run, with an exit code. */
int cli_tree_run(char **command, const char *folder, bool is_quiet);

#endif
