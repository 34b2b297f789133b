/* The name under which the program of this process was started. */
#ifndef PD_AGENT_PROGRAM_H
#define PD_AGENT_PROGRAM_H

enum { PD_PROGRAM_MAX = 40 }; /* bytes of its name in names of files */

/* Copies a name for use in names of files: not empty, cut to PD_PROGRAM_MAX bytes, and without
 * characters that a shell would change. */
void pd_program_copy(char out[PD_PROGRAM_MAX + 1], const char *from);

/* Reads the name. Call at the start. */
void pd_program_begin(void);

/* The name, for names of files: the last part of the path that was run, which may be a symbolic link.
 * Of a script, it is that of the interpreter. "unknown" if the program was started without a name. */
const char *pd_program_name(void);

#endif
