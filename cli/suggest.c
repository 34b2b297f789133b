/* The word that was probably meant: see suggest.h. */
#include "suggest.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 32 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of letters to change, insert, delete or exchange with their neighbour to make one word
 * of the other; SIZE_MAX if a word is longer than LONGEST. This is Damerau's distance without a second
 * change of exchanged letters. Row i of the table is about the first i letters of word, column j about
 * the first j of other; three rows are enough. */
static size_t distance_of(const char *word, size_t word_len, const char *other, size_t other_len)
{
    size_t rows[3][LONGEST + 1];
    if (word_len > LONGEST || other_len > LONGEST)
        return SIZE_MAX;
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

cli_suggestion cli_suggest_for(const char *word, size_t word_len)
{
    return (cli_suggestion){.word = word, .word_len = word_len, .distance = SIZE_MAX};
}

void cli_suggest_consider(cli_suggestion *suggestion, const char *candidate)
{
    size_t len = strlen(candidate), most = len / 3 ? len / 3 : 1;
    size_t wrong = distance_of(suggestion->word, suggestion->word_len, candidate, len);
    if (suggestion->word_len < 2 || wrong > most || wrong >= suggestion->distance)
        return;
    suggestion->meant = candidate;
    suggestion->distance = wrong;
}
