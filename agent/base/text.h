/* Texts and files, without stdio and strerror: those allocate, take locks and belong to the program. */
#ifndef PD_AGENT_TEXT_H
#define PD_AGENT_TEXT_H

#include "base/bytes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

static inline void pd_restore_errno(const int *kept)
{
    errno = *kept;
}

/* The block leaves errno as it was here. */
#define PD_KEEP_ERRNO                                                                              \
    __attribute__((unused, cleanup(pd_restore_errno))) const int kept_errno = errno

/* A text that is being put together. What does not fit is cut off. bytes ends with a NUL. */
typedef struct pd_fixed_text {
    char bytes[1024];
    size_t len;
} pd_fixed_text; /* zero it to begin */

/* Adds text as printf does. Only %s, %d, %u, %x and the like, which do not allocate. */
__attribute__((format(printf, 2, 3))) void pd_text_add(pd_fixed_text *text, const char *format,
                                                       ...);

/* The same with a list of arguments. */
void pd_text_add_list(pd_fixed_text *text, const char *format, va_list list);

/* Returns the meaning of an errno value, or "error NUMBER" if the value is not one of those that occur
 * here. */
const char *pd_words_of_error(int error);

/* Writes all of the data. Returns 0 or an errno value. */
int pd_write_all(int fd, const void *data, size_t len);

/* Opens a file with O_CLOEXEC, under a number above those of the standard streams. Returns a descriptor,
 * or -1 and errno. */
int pd_open(const char *path, int flags);

/* Moves a descriptor that is 0, 1 or 2 to a higher number. Returns the descriptor, or -1 and errno. */
int pd_open_high(int fd);

/* Closes a descriptor; -1 is none. Keeps errno. */
void pd_close(int fd);

/* Are both of the same file? Nothing is the same as a status of zeros. */
static inline bool pd_is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Reads the beginning of a short file, and ends it with a NUL. Returns false if there is nothing. */
bool pd_read_text(const char *path, char *text, size_t size);

/* Returns the last part of a path. */
const char *pd_name_in(const char *path);

/* Gives each line of the descriptor without its end, and closes it. -1: errno says why there is none. bytes: room
 * for the longest line. Returns 0 or an errno value, ENOENT for an empty file. */
int pd_read_lines(int fd, char *bytes, size_t size, void (*take)(void *cookie, pd_bytes line),
                  void *cookie);

/* Returns the decimal number at the beginning of the text; 0 if there is none. */
uint64_t pd_number_at(const char *text);

#endif
