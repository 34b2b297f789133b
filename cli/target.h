/* Can the heap agent get into this program? agent/launch.h knows; this says it. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

/* Looks for the program as execvp does and at what it finds, through the interpreters of scripts.
 * Says what stands in the way and returns CLI_NOT_RUN, CLI_NOT_FOUND or, where the trouble is the
 * agent, CLI_RECORD_FAILED; or returns CLI_DONE. agent is the path of the agent. */
int cli_target_check(const char *command, const char *agent);

#endif
