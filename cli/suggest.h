/* The word that was probably meant by a misspelled one: the nearest of those that exist. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

/* The number of letters to change, insert, delete or exchange with their neighbour to make one word
 * of the other; SIZE_MAX if a word is longer than CLI_SUGGEST_LONGEST. */
enum { CLI_SUGGEST_LONGEST = 32 };
size_t cli_suggest_distance(const char *word, size_t word_len, const char *other, size_t other_len);

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
