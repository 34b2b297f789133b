/* Can the heap agent get into this program? The loader preloads nothing into a program that runs
 * with other rights than its user, and there is no loader in one that is linked statically. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

/* Looks for the program as execvp does and at what it finds, through the interpreters of scripts.
 * Says what stands in the way and returns CLI_FAILED, or CLI_DONE. agent is the path of the agent,
 * whose machine is to be the program's too. */
int cli_target_check(const char *command, const char *agent);

#endif
