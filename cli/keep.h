/* Memory that a verb keeps until the process ends: what it makes of its input to print it once.
 *
 * No caller has to free it or to check for NULL: if there is no memory, the process ends with a message
 * and the exit code of a failure. Not for what holds files or children that have to be ended. */
#ifndef CLI_KEEP_H
#define CLI_KEEP_H

#include "text.h"

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory for `len` elements, for any type. */
void *cli_keep(size_t len, size_t size);

/* From now on, at most so many bytes more are kept at once. Otherwise the process ends with a message about the
 * profile `name` and the limit, and the exit code of a failure. */
void cli_keep_at_most(uint64_t bytes, const char *name);

/* How many that are now; and bytes that are in memory beside: they count, too, until they are
 * taken back with a number below 0. */
uint64_t cli_keep_left(void);
void cli_keep_beside(int64_t bytes);

/* Ends the use of a block before the process ends; NULL is none. */
void cli_drop(void *ptr);

/* The same for what stays in reach, as a message does: not zeroed, and with nothing in front of
 * it. */
void *cli_take(size_t size);
void cli_give(void *ptr);

/* Makes room for `more` elements behind the first `len` of an array, which has room for *cap. Returns
 * the array, which may have moved. */
void *cli_keep_more(void *array, size_t len, size_t more, size_t *cap, size_t size);

/* Makes that room in an array whose members are list, list_len and list_cap. */
#define CLI_KEEP_MORE(list, more)                                                                  \
    ((list) = cli_keep_more(list, list##_len, more, &list##_cap, sizeof *(list)))

/* A copy of the string, with a NUL behind it. */
cli_string cli_keep_string(cli_string string);

/* The string as it is shown (CLI_TEXT_SHOWN). */
const char *cli_keep_shown(cli_string string);

/* The text that printf prints. */
__attribute__((format(printf, 1, 2))) const char *cli_keep_print(const char *format, ...);

/* Numbers texts in the order of their bytes: numbers[i] is that of texts[i]. Equal texts have one
 * number. Returns the distinct texts, of which there are *distinct. */
cli_string *cli_keep_numbered(const cli_string *texts, size_t len, uint32_t *numbers,
                              size_t *distinct);

#endif
