/* The word that was probably meant by a misspelled one: the nearest of those that exist. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

typedef struct cli_suggestion {
    const char *word; /* as it was written, word_len bytes */
    size_t word_len;
    const char *meant; /* the nearest candidate so far, or NULL: none is near enough */
    size_t distance;   /* of meant */
} cli_suggestion;

cli_suggestion cli_suggest_for(const char *word, size_t word_len);

/* Makes candidate the suggestion if it is nearer than those before and at most a third of its
 * letters are wrong, but one wrong letter is always allowed. A word of one letter has no
 * suggestion. */
void cli_suggest_consider(cli_suggestion *suggestion, const char *candidate);

#endif
