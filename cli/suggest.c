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
 * change of exchanged letters. Cell i, j is about the first i letters of word and the first j of other. */
static size_t distance_of(const char *word, size_t word_len, const char *other, size_t other_len)
{
    size_t cells[LONGEST + 1][LONGEST + 1];
    if (word_len > LONGEST || other_len > LONGEST)
        return SIZE_MAX;
    for (size_t i = 0; i <= word_len; i++)
        for (size_t j = 0; j <= other_len; j++) {
            if (!i || !j) {
                cells[i][j] = i + j;
                continue;
            }
            char a = word[i - 1], b = other[j - 1];
            size_t one = least(cells[i - 1][j], cells[i][j - 1]) + 1;
            cells[i][j] = least(cells[i - 1][j - 1] + (a != b), one);
            if (i > 1 && j > 1 && a == other[j - 2] && word[i - 2] == b)
                cells[i][j] = least(cells[i][j], cells[i - 2][j - 2] + 1);
        }
    return cells[word_len][other_len];
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
