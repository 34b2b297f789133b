/* The agent's settings: see settings.h. */
#include "agent/base/settings.h"

#include "agent/base/attributes.h"
#include "agent/base/launch.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t nanos_per_second = 1000000000;

/* Reads a decimal number, with a fraction if scale > 1. The result is in parts of 1/scale. */
static bool read_decimal(const char *text, uint64_t scale, uint64_t *out)
{
    uint64_t value = 0;
    bool has_digit = false;
    for (; *text >= '0' && *text <= '9'; text++, has_digit = true)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    if (__builtin_mul_overflow(value, scale, &value))
        return false;
    if (*text == '.' && scale > 1)
        for (text++; *text >= '0' && *text <= '9'; text++) {
            scale /= 10;
            value += scale * (uint64_t)(*text - '0');
        }
    *out = value;
    return has_digit && !*text;
}

static bool number(const char *name, uint64_t scale, uint64_t least, uint64_t most, uint64_t *value)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return true;
    return read_decimal(text, scale, value) && *value >= least && *value <= most;
}

/* Returns a copy in static memory, since the program may change its environment. */
static const char *keep(const char *text)
{
    static char kept[16384];
    size_t len = strlen(text) + 1;
    if (len > sizeof kept)
        return NULL;
    return memcpy(kept, text, len);
}

static bool read_dir(pd_settings *settings)
{
    const char *dir = getenv(PD_VARIABLE_DIR);
    if (!dir || !*dir)
        dir = ".";
    size_t at = 0;
    if (*dir != '/') {
        if (!getcwd(settings->dir, sizeof settings->dir))
            return false;
        at = strlen(settings->dir);
        if (strcmp(dir, ".") == 0)
            return true;
        if (at + 1 >= sizeof settings->dir)
            return false;
        settings->dir[at++] = '/';
    }
    size_t len = strlen(dir);
    enum { NAME_ROOM = 128 }; /* for the names of files in it */
    if (len >= sizeof settings->dir - NAME_ROOM - at)
        return false;
    memcpy(settings->dir + at, dir, len + 1);
    for (at += len; at > 1 && settings->dir[at - 1] == '/'; at--)
        settings->dir[at - 1] = '\0';
    return true;
}

/* Returns the time limit of the command: the given one, or the interval within bounds. */
static unsigned timeout_of(uint64_t given_nanos, uint64_t interval_nanos)
{
    enum { LEAST = 5, MOST = 60 };
    if (given_nanos)
        return (unsigned)((given_nanos + nanos_per_second - 1) / nanos_per_second);
    uint64_t seconds = interval_nanos / nanos_per_second;
    return seconds < LEAST ? LEAST : seconds > MOST ? MOST : (unsigned)seconds;
}

static bool read_format(pprofdelta_format *format)
{
    const char *text = getenv(PD_VARIABLE_FORMAT);
    if (!text || !*text || !strcmp(text, "pprof"))
        return true;
    *format = PPROFDELTA_OTLP;
    return !strcmp(text, "otlp");
}

static bool read_resource(pd_settings *settings)
{
    const char *text = getenv(PD_VARIABLE_RESOURCE);
    return !text || pd_attributes_read(text, &settings->resource, &settings->resource_len);
}

static bool read_keep(pd_settings *settings)
{
    static const struct {
        const char *name;
        pd_keep keep;
    } kinds[] = {{"files=", PD_KEEP_FILES}, {"bytes=", PD_KEEP_BYTES}, {"nanos=", PD_KEEP_NANOS}};
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    enum { NAME_LEN = 6 };
    char digits[24];
    const char *text = getenv(PD_VARIABLE_KEEP);
    if (!text || !*text)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(text, kinds[i].name, NAME_LEN) == 0)
            settings->keep = kinds[i].keep;
    const char *comma = strchr(text, ',');
    if (!settings->keep || !comma || (size_t)(comma - text) >= NAME_LEN + sizeof digits)
        return false;
    size_t len = (size_t)(comma - text) - NAME_LEN, run_len = strlen(comma + 1);
    memcpy(digits, text + NAME_LEN, len);
    digits[len] = '\0';
    if (!run_len || run_len >= sizeof settings->run || comma[1 + strspn(comma + 1, letters)])
        return false;
    memcpy(settings->run, comma + 1, run_len + 1);
    return read_decimal(digits, 1, &settings->keep_most) && settings->keep_most;
}

const char *pd_settings_read(pd_settings *settings)
{
    uint64_t signal_number = SIGUSR2, snapshot = 0, account = 1, pid = 0;
    uint64_t timeout = 0, quiet = 0, tree = 0;
    *settings = (pd_settings){.interval_nanos = 60 * nanos_per_second, .rate = 512 << 10};
    if (!number(PD_VARIABLE_INTERVAL, nanos_per_second, nanos_per_second / 1000, INT64_MAX / 2,
                &settings->interval_nanos))
        return PD_VARIABLE_INTERVAL;
    if (!number(PD_VARIABLE_RATE, 1, 1, PD_RATE_MAX, &settings->rate))
        return PD_VARIABLE_RATE;
    if (!number(PD_VARIABLE_THRESHOLD, 1, 0, INT64_MAX, &settings->threshold))
        return PD_VARIABLE_THRESHOLD;
    if (!number(PD_VARIABLE_SIGNAL, 1, 0, (uint64_t)SIGRTMAX, &signal_number) ||
        (signal_number && pd_launch_signal_refusal((int)signal_number)))
        return PD_VARIABLE_SIGNAL;
    if (!number(PD_VARIABLE_SNAPSHOT, 1, 0, 1, &snapshot))
        return PD_VARIABLE_SNAPSHOT;
    if (!number(PD_VARIABLE_ACCOUNT, 1, 0, 1, &account))
        return PD_VARIABLE_ACCOUNT;
    if (!number(PD_VARIABLE_PID, 1, 0, INT_MAX, &pid))
        return PD_VARIABLE_PID;
    if (!number(PD_VARIABLE_QUIET, 1, 0, 1, &quiet))
        return PD_VARIABLE_QUIET;
    if (!number(PD_VARIABLE_TREE, 1, 0, 1, &tree))
        return PD_VARIABLE_TREE;
    if (!number(PD_VARIABLE_TIMEOUT, nanos_per_second, 0, PD_TIMEOUT_SECONDS_MAX * nanos_per_second,
                &timeout))
        return PD_VARIABLE_TIMEOUT;
    if (!read_format(&settings->format))
        return PD_VARIABLE_FORMAT;
    if (!read_resource(settings))
        return PD_VARIABLE_RESOURCE;
    if (!read_keep(settings))
        return PD_VARIABLE_KEEP;
    settings->timeout = timeout_of(timeout, settings->interval_nanos);
    settings->signal = (int)signal_number;
    settings->command_pid = (pid_t)pid;
    settings->snapshot = snapshot != 0;
    settings->is_quiet = quiet != 0;
    settings->is_tree = tree != 0;
    settings->account = account != 0;
    const char *command = getenv(PD_VARIABLE_COMMAND);
    if (command && *command) {
        settings->command = keep(command);
        if (!settings->command)
            return PD_VARIABLE_COMMAND;
        const char *dir = getenv(PD_VARIABLE_DIR);
        if (!dir || !*dir)
            return NULL;
    }
    return read_dir(settings) ? NULL : PD_VARIABLE_DIR;
}
