/* A line on the terminal that shows what a long run is doing.
 *
 *     pprofdelta: reading prev.pb.gz, 3 s
 *
 * It appears after a second and is erased before anything else is printed. A timer draws it, so the
 * code that takes long has no calls for it. If stderr is not a terminal, there is no timer. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

/* Starts the timer if the line is wanted and stderr is a terminal. */
void cli_progress_start(bool is_wanted);

/* Sets the text: "reading", "prev.pb.gz". Does nothing before cli_progress_start. */
void cli_progress_say(const char *doing, const char *name);

/* Erases the line until the timer draws it again. */
void cli_progress_clear(void);

/* Stops the timer and erases the line. */
void cli_progress_end(void);

#endif
