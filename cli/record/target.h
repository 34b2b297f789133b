/* Checks whether the heap agent can be loaded into a program, and reports why not. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

/* Finds the program as execvp does and checks it. Of a script, checks the interpreter. agent is
 * the path of the agent. Returns CLI_DONE, or reports the obstacle and returns CLI_NOT_RUN,
 * CLI_NOT_FOUND or, if the agent itself cannot be used, CLI_RECORD_FAILED. */
int cli_target_check(const char *command, const char *agent);

/* The program cannot be run: prints why, and returns CLI_NOT_FOUND or CLI_NOT_RUN. */
int cli_not_run(const char *path, int error);

#endif
