/* The word that was probably meant: see suggest.h. */
#include "suggest.h"

#include <stdint.h>
#include <string.h>

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of letters to change, insert, delete or exchange with their neighbour to make one word
 * of the other; SIZE_MAX if a word is longer than CLI_LONGEST_WORD. This is Damerau's distance without
 * a second change of exchanged letters. Cell i, j is about the first i letters of word and the first j
 * of other. */
static size_t distance_of(const char *word, size_t word_len, const char *other, size_t other_len)
{
    size_t cells[CLI_LONGEST_WORD + 1][CLI_LONGEST_WORD + 1];
    if (word_len > CLI_LONGEST_WORD || other_len > CLI_LONGEST_WORD)
        return SIZE_MAX;
    for (size_t i = 0; i <= word_len; i++)
        for (size_t j = 0; j <= other_len; j++) {
            if (!i || !j) {
                cells[i][j] = i + j;
                continue;
            }
            char a = word[i - 1], b = other[j - 1];
            size_t one = least_of(cells[i - 1][j], cells[i][j - 1]) + 1;
            cells[i][j] = least_of(cells[i - 1][j - 1] + (a != b), one);
            if (i > 1 && j > 1 && a == other[j - 2] && word[i - 2] == b)
                cells[i][j] = least_of(cells[i][j], cells[i - 2][j - 2] + 1);
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
    memcpy(suggestion->meant, candidate, len + 1);
    suggestion->distance = wrong;
}

/* What pprof, perf, heaptrack, memray and other verbs call what a clause names. The words are separated
 * by spaces. */
static const struct {
    const char *words, *clause;
} others[] = {
    {"version V v", "pprofdelta --version prints the version"},
    {"diff compare delta subtract base diff_base",
     "pprofdelta PREV CUR -o OUT writes the delta, pprofdelta show PREV CUR prints changes"},
    {"top text table print summary report", "pprofdelta show FILE --top=N prints the table"},
    {"n nodecount limit rows", "--top=N of show and leaks is the number of rows"},
    {"cum flat sort", "pprofdelta show FILE --cum sorts by cumulative values"},
    {"stacks traces list weblist annotate disasm source lines",
     "pprofdelta show FILE --stacks=N prints the heaviest stacks with files and lines"},
    {"peek tree callers callees",
     "pprofdelta show FILE --peek=REGEX prints functions with their callers and callees"},
    {"flame flamegraph graph http web html svg png pdf gif dot",
     "pprofdelta show FILE --flame=OUT.html writes a page with a flame graph"},
    {"folded collapse collapsed script",
     "pprofdelta show FILE --folded prints one line for each stack"},
    {"raw json dump", "pprofdelta show FILE --raw or --json prints the whole profile"},
    {"format form", "each form is an option: --json, --raw, --folded and --flame=OUT.html of "
                    "show, --json, --html and --markdown of leaks"},
    {"type sample_index inuse_space inuse_objects alloc_space alloc_objects contentions mean_delay",
     "pprofdelta show FILE --type=TYPE selects the sample type"},
    {"focus ignore hide show", "show selects by --focus=REGEX, --ignore=REGEX and --hide=REGEX"},
    {"tag tags tagfocus tagignore", "pprofdelta show FILE --tag=KEY=VALUE selects by labels"},
    {"symbolize", "show adds names itself, and pprofdelta symbolize FILE -o OUT writes them"},
    {"seconds duration", "a delta is between two profiles that were taken without ?seconds=, and "
                         "--interval=TIME of record is the time between its profiles"},
    {"run", "pprofdelta record -o DIR -- COMMAND starts a program and records it"},
    {"attach pid p", "pprofdelta record -o DIR --pid PID records a process that runs already"},
    {"status stat info", "pprofdelta --state=FILE --status prints the contents of a state"},
};

const char *cli_suggest_instead(const char *word, size_t word_len)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (const char *at = others[i].words; *at; at += strspn(at, " ")) {
            size_t len = strcspn(at, " ");
            if (len == word_len && !memcmp(at, word, len))
                return others[i].clause;
            at += len;
        }
    return NULL;
}
