/* What somebody meant who wrote a word wrong. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

/* How many letters are to be changed, put in, left out or exchanged with their neighbour to make one
 * of the other. Of words that are longer than any of ours: more than any of ours allows. */
size_t cli_suggest_distance(const char *word, size_t word_len, const char *other);

/* Is other so near that it may have been meant? A third of its letters may be wrong, but one at the
 * least, and word has two letters at the least. */
int cli_suggest_is_near(const char *word, size_t word_len, const char *other);

#endif
