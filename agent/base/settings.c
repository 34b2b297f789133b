/* The agent's settings: see settings.h. */
#include "agent/base/settings.h"

#include "agent/base/launch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a decimal number, with a fraction if scale > 1. The result is in parts of 1/scale. Returns what
 * is behind the number, or NULL if there is none. */
static const char *read_decimal(const char *text, uint64_t scale, uint64_t *out)
{
    uint64_t value = 0;
    bool has_digit = false;
    for (; *text >= '0' && *text <= '9'; text++, has_digit = true)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return NULL;
    if (__builtin_mul_overflow(value, scale, &value))
        return NULL;
    if (*text == '.' && scale > 1)
        for (text++; *text >= '0' && *text <= '9'; text++) {
            scale /= 10;
            value += scale * (uint64_t)(*text - '0');
        }
    *out = value;
    return has_digit ? text : NULL;
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

static bool read_dir(pd_settings *settings, const char *dir)
{
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

static bool read_format(pprofdelta_format *format)
{
    static const char *const names[] = {PPROFDELTA_FORMAT_NAMES};
    const size_t len = sizeof names / sizeof *names;
    const char *text = getenv(PD_VARIABLE_FORMAT);
    size_t i = 0;
    while (text && *text && i < len && strcmp(text, names[i]) != 0)
        i++;
    *format = (pprofdelta_format)i;
    return i < len;
}

enum { ATTRIBUTES_MAX = 256 };

/* Reads the text into static memory. Returns false if it is not valid or too long. */
static bool read_attributes(const char *text, const pprofdelta_attribute **list, size_t *len)
{
    static char kept[PD_RESOURCE_MAX];
    static pprofdelta_attribute attributes[ATTRIBUTES_MAX];
    size_t size = strlen(text) + 1, count = 0;
    if (size > sizeof kept)
        return false;
    memcpy(kept, text, size);
    for (char *at = kept, *next; *at; at = next) {
        next = at + strcspn(at, ",");
        if (*next)
            *next++ = '\0';
        char *value = strchr(at, '=');
        if (!value || value == at || count == ATTRIBUTES_MAX)
            return false;
        *value++ = '\0';
        if (!pd_decode_percent(at) || !pd_decode_percent(value) || !*at)
            return false;
        attributes[count++] = (pprofdelta_attribute){at, value};
    }
    *list = attributes;
    *len = count;
    return true;
}

static bool read_resource(pd_settings *settings)
{
    const char *text = getenv(PD_VARIABLE_RESOURCE);
    return !text || read_attributes(text, &settings->resource, &settings->resource_len);
}

/* A size, or a share of the memory limit. Without a limit there is no threshold. */
static bool read_threshold(pd_settings *settings)
{
    const char *text = getenv(PD_VARIABLE_THRESHOLD);
    if (!text || !*text)
        return true;
    const char *end = read_decimal(text, 1, &settings->threshold);
    if (!end || strcmp(end, "%") != 0)
        return end && !*end && settings->threshold <= INT64_MAX;
    settings->share = settings->threshold;
    if (!settings->share || settings->share > 100)
        return false;
    pd_memory_limit_of_self(&settings->limit);
    uint64_t bytes = settings->limit.bytes;
    settings->threshold = bytes / 100 * settings->share + bytes % 100 * settings->share / 100;
    return true;
}

static bool read_keep(pd_settings *settings)
{
    static const char *const kinds[] = {
        [PD_KEEP_FILES] = "files=", [PD_KEEP_BYTES] = "bytes=", [PD_KEEP_NANOS] = "nanos="};
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    enum { NAME_LEN = 6 };
    const char *text = getenv(PD_VARIABLE_KEEP);
    if (!text || !*text)
        return true;
    for (pd_keep kind = PD_KEEP_FILES; kind <= PD_KEEP_NANOS; kind++)
        if (strncmp(text, kinds[kind], NAME_LEN) == 0)
            settings->keep = kind;
    const char *run =
        settings->keep ? read_decimal(text + NAME_LEN, 1, &settings->keep_most) : NULL;
    if (!run || *run++ != ',' || !settings->keep_most)
        return false;
    size_t len = strlen(run);
    if (!len || len >= sizeof settings->run || run[strspn(run, letters)])
        return false;
    memcpy(settings->run, run, len + 1);
    return true;
}

static const struct {
    const char *name;
    size_t off; /* of the member */
    uint64_t scale, least, most;
} numbers[] = {
    {PD_VARIABLE_INTERVAL, offsetof(pd_settings, interval_nanos), PD_NANOS_PER_SECOND,
     PD_NANOS_PER_SECOND / 1000, INT64_MAX / 2},
    {PD_VARIABLE_RATE, offsetof(pd_settings, rate), 1, 1, PD_RATE_MAX},
    {PD_VARIABLE_SIGNAL, offsetof(pd_settings, signal), 1, 0, NSIG},
    {PD_VARIABLE_SNAPSHOT, offsetof(pd_settings, snapshot), 1, 0, 1},
    {PD_VARIABLE_ACCOUNT, offsetof(pd_settings, account), 1, 0, 1},
    {PD_VARIABLE_LIVE, offsetof(pd_settings, live), 1, 0, 1},
    {PD_VARIABLE_PRESSURE, offsetof(pd_settings, pressure), 1, 0, 1},
    {PD_VARIABLE_PID, offsetof(pd_settings, command_pid), 1, 0, INT_MAX},
    {PD_VARIABLE_QUIET, offsetof(pd_settings, is_quiet), 1, 0, 1},
    {PD_VARIABLE_TIMEOUT, offsetof(pd_settings, timeout), PD_NANOS_PER_SECOND, 0,
     PD_TIMEOUT_SECONDS_MAX *PD_NANOS_PER_SECOND},
};

/* Returns NULL, or the name of the variable whose value is not a number within its bounds. */
static const char *read_numbers(pd_settings *settings)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *text = getenv(numbers[i].name);
        uint64_t value;
        if (!text || !*text)
            continue;
        text = read_decimal(text, numbers[i].scale, &value);
        if (!text || *text || value < numbers[i].least || value > numbers[i].most)
            return numbers[i].name;
        memcpy((char *)settings + numbers[i].off, &value, sizeof value);
    }
    return NULL;
}

/* A command needs no directory. */
static const char *read_destination(pd_settings *settings)
{
    const char *command = getenv(PD_VARIABLE_COMMAND), *dir = getenv(PD_VARIABLE_DIR);
    bool has_dir = dir && *dir;
    if (command && *command && !(settings->command = keep(command)))
        return PD_VARIABLE_COMMAND;
    return (settings->command && !has_dir) || read_dir(settings, has_dir ? dir : ".")
               ? NULL
               : PD_VARIABLE_DIR;
}

const char *pd_settings_read(pd_settings *settings)
{
    *settings = (pd_settings){.interval_nanos = 60 * PD_NANOS_PER_SECOND,
                              .rate = 512 << 10,
                              .signal = SIGUSR2,
                              .account = 1,
                              .live = 1};
    const char *wrong = read_numbers(settings);
    settings->timeout = pd_launch_timeout(settings->timeout, settings->interval_nanos);
    if (wrong)
        return wrong;
    if (settings->signal && !pd_launch_may_ask((int)settings->signal))
        return PD_VARIABLE_SIGNAL;
    if (!read_threshold(settings))
        return PD_VARIABLE_THRESHOLD;
    if (settings->pressure)
        pd_memory_pressure_find("/proc/self/cgroup", "/sys/fs/cgroup", "/proc/pressure/memory",
                                settings->pressure_file);
    if (!read_format(&settings->format))
        return PD_VARIABLE_FORMAT;
    settings->snapshot |= settings->format != PPROFDELTA_PPROF; /* as receivers of OTLP read it */
    if (!read_resource(settings))
        return PD_VARIABLE_RESOURCE;
    return read_keep(settings) ? read_destination(settings) : PD_VARIABLE_KEEP;
}
