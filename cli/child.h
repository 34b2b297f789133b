/* A child process that becomes a command. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Forks. The child calls prepare, which may use all functions, and becomes the command, which execvp
 * finds. Returns the child when it has become the command; -1 with errno set if it could not. */
pid_t cli_child_start(char *const *argv, void (*prepare)(const void *cookie), const void *cookie);

/* Sets a variable of the environment, or removes it. Returns false if memory is short. */
__attribute__((format(printf, 3, 4))) bool cli_set_variable(const char *name, bool has_value,
                                                            const char *format, ...);

/* Waits until the child has ended. Returns its status, as waitpid does. */
int cli_child_wait(pid_t child);

#endif
