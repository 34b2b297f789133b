#include "receiver.h"

#include "instant.h"
#include "keep.h"
#include "message.h"
#include "units.h"

#include <stdio.h>

#define SECOND INT64_C(1000000000)

const pprofdelta_receiver cli_receivers[CLI_RECEIVERS] = {{.word = ""}, PPROFDELTA_RECEIVERS};

void cli_receiver_take(const cli_option *option, const char *value, void *receiver)
{
    const char *words[CLI_RECEIVERS + 1] = {NULL};
    for (int i = 0; i < CLI_RECEIVERS; i++)
        words[i] = cli_receivers[i].word;
    *(int *)receiver = cli_choose(option, words, value);
}

void cli_receiver_help(void)
{
    for (int i = CLI_FOR_NONE + 1; i < CLI_RECEIVERS; i++) {
        const pprofdelta_receiver *r = &cli_receivers[i];
        const char *text = cli_keep_print("%s: %s, %s", r->word, cli_choices[CLI_FORMAT][r->format],
                                          cli_choices[CLI_COMPRESSION][r->compression]);
        if (r->max_age)
            text = cli_keep_print("%s, at most %dh old", text, (int)(r->max_age / 3600));
        printf(i % 2 ? "          %-40s" : "%s\n", text);
    }
}

void cli_receiver_set(cli_receiver receiver, pprofdelta_format *format,
                      pprofdelta_compression *compression)
{
    const pprofdelta_receiver *needs = &cli_receivers[receiver];
    if ((int)*format == CLI_NOT_GIVEN)
        *format = needs->format;
    if ((int)*compression == CLI_NOT_GIVEN)
        *compression = needs->compression;
}

/* ---- windows that had to wait -------------------------------------------------------------------- */

static int64_t age_limit(const cli_waiting *w)
{
    return w->max_age_nanos ? w->max_age_nanos : cli_receivers[w->receiver].max_age * SECOND;
}

/* The time in it (see put_times in encode_otlp.c); 0 or less: not known. */
static int64_t time_of(const cli_waiting *w)
{
    return w->format == PPROFDELTA_OTLP_PLAIN ? w->from_nanos : w->to_nanos;
}

bool cli_waiting_is_late(const cli_waiting *w, int64_t at_nanos)
{
    const int64_t limit = age_limit(w), time = time_of(w);
    return limit && time > 0 && time < at_nanos - limit;
}

bool cli_waiting_must_stay(const cli_waiting *w, bool is_told, const char *instead)
{
    const int64_t now = cli_instant_now(), limit = age_limit(w);
    char age[48], most[48];
    if (!cli_waiting_is_late(w, now))
        return false;
    cli_age_format(now - time_of(w), age);
    cli_age_format(limit, most);
    if (w->max_age_nanos)
        cli_error("%s: the time of the window is %s ago, and --max-age is %s: %s", w->name, age,
                  most, instead);
    else if (!is_told)
        cli_note("%s: the time of the window is %s ago, and %s takes %s by default; it is sent as "
                 "it is. If it is refused, raise that limit there, or give --max-age=%lldm, with "
                 "which %s",
                 w->name, age, cli_receivers[w->receiver].name, most,
                 (long long)(limit / SECOND / 60), instead);
    return w->max_age_nanos;
}
