/* What the agent and the command compute of the same file: see remains.h. */
#include "agent/base/remains.h"

#include "agent/base/text.h"

#include <string.h>

/* By the method of FNV, a word at a time: each word that changes changes the result. */
uint64_t pd_remains_check(const uint64_t *check, size_t size)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325), word;
    for (size_t at = sizeof word; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, (const char *)check + at, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x100000001b3);
        sum ^= sum >> 32;
    }
    return sum | 1;
}

static bool is_whole(const uint64_t *check, size_t size)
{
    return *check == pd_remains_check(check, size);
}

bool pd_remains_name_frame(pd_remains_find *find, const void *cookie, uint64_t number,
                           pprofdelta_frame *out)
{
    enum { LONGEST = 1 << 16 };
    const pd_remains_frame *frame = NULL;
    const pd_remains_function *function = NULL;
    if (number >> 48 == PD_REMAINS_NUMBER >> 48)
        frame = find(cookie, number ^ PD_REMAINS_NUMBER, sizeof *frame);
    if (frame && is_whole(&frame->check, sizeof *frame))
        function = find(cookie, frame->function, sizeof *function);
    if (!function || function->name_len > LONGEST || function->file_len > LONGEST)
        return false;
    const size_t size = pd_remains_size_of_function(function->name_len, function->file_len);
    if (!find(cookie, frame->function, size) || !is_whole(&function->check, size) ||
        function->text[function->name_len] ||
        function->text[function->name_len + 1 + function->file_len])
        return false;
    *out = (pprofdelta_frame){.name = function->text,
                              .filename = function->text + function->name_len + 1,
                              .start_line = function->first_line,
                              .line = (int64_t)frame->line};
    return true;
}

const pd_remains_beat *pd_remains_last_beat(const pd_remains_head *head)
{
    const pd_remains_beat *a = &head->beats[0], *b = &head->beats[1];
    const bool has_b = is_whole(&b->check, sizeof *b);
    if (is_whole(&a->check, sizeof *a) && (!has_b || a->serial > b->serial))
        return a;
    return has_b ? b : NULL;
}

void pd_remains_beat_now(pd_remains_head *head, int64_t nanos, uint64_t next_number)
{
    const pd_remains_beat *last = pd_remains_last_beat(head);
    const uint64_t serial = last ? last->serial + 1 : 1;
    pd_remains_beat *beat = &head->beats[serial & 1];
    *beat = (pd_remains_beat){0, serial, nanos, next_number};
    beat->check = pd_remains_check(&beat->check, sizeof *beat);
}

pd_stat pd_stat_read(const char *text)
{
    enum { SPACES = 20 }; /* from the name, which may have any character, to the start */
    const char *at = strrchr(text, ')'), *last = strrchr(text, ' ');
    if (!at || at[1] != ' ')
        return (pd_stat){.state = 0};
    pd_stat stat = {.state = at[2], .exit_code = (int)pd_number_at(last + 1)};
    for (int i = 0; at && i < SPACES; i++)
        at = strchr(at + 1, ' ');
    stat.since_boot = at ? pd_number_at(at + 1) : 0;
    return stat;
}

void pd_remains_read_process(const char *stat, const char *status, pd_remains_process *out)
{
    static const char field[] = "\nNSpid:";
    const pd_stat read = pd_stat_read(stat);
    const char *numbers = strstr(status, field);
    out->since_boot = pd_stat_has_ended(&read) ? 0 : read.since_boot;
    out->number = 0;
    numbers += numbers ? sizeof field - 1 : 0;
    while (numbers && (*numbers == '\t' || *numbers == ' ')) {
        out->number = pd_number_at(++numbers);
        numbers += strcspn(numbers, "\t \n");
    }
}
