/* The distance of two words: see suggest.h. */
#include "suggest.h"

#include <string.h>

enum { LONGEST = 32, FAR = LONGEST };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Damerau's distance, without a second change of what was exchanged. Row i of the table is about the
 * first i letters of word, column j about the first j of other; three rows are enough. */
size_t cli_suggest_distance(const char *word, size_t word_len, const char *other)
{
    size_t other_len = strlen(other), rows[3][LONGEST + 1];
    if (word_len > LONGEST || other_len > LONGEST)
        return FAR;
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= other_len; j++)
        last[j] = j;
    for (size_t i = 1; i <= word_len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= other_len; j++) {
            char a = word[i - 1], b = other[j - 1];
            row[j] = least(last[j - 1] + (a != b), least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a == other[j - 2] && word[i - 2] == b)
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[other_len];
}

int cli_suggest_is_near(const char *word, size_t word_len, const char *other)
{
    size_t wrong = strlen(other) / 3;
    return word_len > 1 && cli_suggest_distance(word, word_len, other) <= (wrong ? wrong : 1);
}
