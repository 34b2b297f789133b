/* What was probably meant by a word that does not exist: the nearest of those that exist, or what does
 * here what the word does in another tool. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

enum { CLI_LONGEST_WORD = 32 };

typedef struct cli_suggestion {
    const char *word; /* as it was written, word_len bytes */
    size_t word_len;
    char meant[CLI_LONGEST_WORD + 1]; /* the nearest candidate so far; empty: none is near enough */
    size_t distance;                  /* of meant */
} cli_suggestion;

cli_suggestion cli_suggest_for(const char *word, size_t word_len);

/* Makes candidate the suggestion if it is nearer than those before and at most a third of its
 * letters are wrong, but one wrong letter is always allowed. A word of one letter has no
 * suggestion. */
void cli_suggest_consider(cli_suggestion *suggestion, const char *candidate);

/* A clause that names what does here what the word, a verb or an option without its dashes, does in
 * pprof, perf, heaptrack, memray or another verb; NULL: nothing is known. */
const char *cli_suggest_instead(const char *word, size_t word_len);

#endif
