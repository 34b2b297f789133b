/* A line on the terminal that says what takes long.
 *
 *     pprofdelta: reading prev.pb.gz, 3 s
 *
 * It shows up after a second and goes away before anything else is printed. A timer draws it, so
 * that what takes long needs to know nothing of it; where stderr is no terminal there is no timer.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

/* Lets the line show up from here on, if it is wanted and stderr is a terminal. */
void cli_progress_start(bool is_wanted);

/* What is being done now, as in "reading" "prev.pb.gz". Nothing before a start. */
void cli_progress_say(const char *doing, const char *name);

/* Takes the line off the screen; it comes back with the next tick. */
void cli_progress_clear(void);

/* No more of it. */
void cli_progress_end(void);

#endif
