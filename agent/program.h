/* The program that this process runs: the file that it was started from. */
#ifndef PD_AGENT_PROGRAM_H
#define PD_AGENT_PROGRAM_H

enum { PD_PROGRAM_MAX = 40 }; /* bytes of its name in names of files */

/* Reads the name. Call at the start. */
void pd_program_begin(void);

/* The name for names of files: not empty, and without characters that a shell would change. Of a
 * script, it is the name of the interpreter. */
const char *pd_program_name(void);

#endif
