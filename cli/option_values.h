/* The values of options that several verbs have.
 *
 * The functions that return an int print what is wrong and return CLI_USAGE, or return CLI_DONE.
 * They change what their last parameter points to only if the value is allowed. */
#ifndef CLI_OPTION_VALUES_H
#define CLI_OPTION_VALUES_H

#include "arguments.h"

#include "pprofdelta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value is wrong. `allowed` ends the sentence "must be ...". Returns CLI_USAGE. */
int cli_bad_value(const char *option, const char *value, const char *allowed);

/* option.what: which words an option takes. Their order is that of the values of the library. */
enum { CLI_COMPRESSION, CLI_FORMAT, CLI_ON_RESET, CLI_FIRST, CLI_DEFAULT_TYPE, CLI_REPORT };

enum { CLI_CLEARED = 1 }; /* a flag becomes false */

/* For cli_option.take: each reads the value into a member of the type in its comment. */
int cli_take_flag(const cli_option *option, const char *value, void *flag);  /* bool */
int cli_take_bit(const cli_option *option, const char *value, void *bits);   /* unsigned |= what */
int cli_take_text(const cli_option *option, const char *value, void *text);  /* const char * */
int cli_take_size(const cli_option *option, const char *value, void *size);  /* uint64_t: bytes */
int cli_take_rows(const cli_option *option, const char *value, void *rows);  /* size_t, above 0 */
int cli_take_span(const cli_option *option, const char *value, void *nanos); /* int64_t */
int cli_take_type(const cli_option *option, const char *value, void *type);  /* const char * */
int cli_take_output(const cli_option *option, const char *value, void *output); /* const char * */
int cli_take_choice(const cli_option *option, const char *value, void *chosen); /* int or an enum */

/* Reads a number of bytes above 0: 4096, 64k, 512M, 8G, 1T, 64KiB; k is 1024. Returns false if the
 * text is not such a number. cli_size_allowed describes them. */
bool cli_size_parse(const char *text, uint64_t *size);
extern const char cli_size_allowed[];

#endif
