/* The agent's settings: see settings.h. */
#include "agent/base/settings.h"

#include "base/bytes.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Reads a decimal number, with a fraction if scale > 1. The result is in parts of 1/scale. Returns what
 * is behind the number, or NULL if there is none. */
static const char *read_decimal(const char *text, uint64_t scale, uint64_t *out)
{
    pd_bytes rest = pd_bytes_of(text);
    if (!pd_bytes_take_number(&rest, 10, UINT64_MAX / scale, out))
        return NULL;
    text = (const char *)rest.ptr;
    *out *= scale;
    if (*text == '.' && scale > 1)
        for (text++; *text >= '0' && *text <= '9'; text++) {
            scale /= 10;
            *out += scale * (uint64_t)(*text - '0');
        }
    return text;
}

/* ---- numbers --------------------------------------------------------------------------------- */

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
    {PD_VARIABLE_PROBES, offsetof(pd_settings, probes), 1, 0, 1},
    {PD_VARIABLE_PID, offsetof(pd_settings, command_pid), 1, 0, INT_MAX},
    {PD_VARIABLE_QUIET, offsetof(pd_settings, is_quiet), 1, 0, 1},
    {PD_VARIABLE_TIMEOUT, offsetof(pd_settings, timeout), PD_NANOS_PER_SECOND, 0,
     PD_TIMEOUT_SECONDS_MAX *PD_NANOS_PER_SECOND},
};

static const char *given_copy; /* of the environment that is read; NULL: the one of the process */

static const char *value_in_copy(const char *name)
{
    const size_t len = strlen(name);
    for (const char *at = given_copy; *at; at += strlen(at) + 1)
        if (strncmp(at, name, len) == 0 && at[len] == '=')
            return at + len + 1;
    return NULL;
}

/* Returns the value of a variable, or NULL if it is not set, or empty. */
static const char *value_of(const char *name)
{
    const char *text = given_copy ? value_in_copy(name) : getenv(name);
    return text && *text ? text : NULL;
}

/* Returns NULL, or the name of the variable whose value is not a number within its bounds. */
static const char *read_numbers(pd_settings *settings)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *text = value_of(numbers[i].name);
        uint64_t value;
        if (!text)
            continue;
        text = read_decimal(text, numbers[i].scale, &value);
        if (!text || *text || value < numbers[i].least || value > numbers[i].most)
            return numbers[i].name;
        memcpy((char *)settings + numbers[i].off, &value, sizeof value);
    }
    return NULL;
}

/* ---- texts: each returns whether the value is valid -------------------------------------------- */

static bool read_format(pd_settings *settings, const char *text)
{
    static const char *const names[] = {PPROFDELTA_FORMAT_NAMES};
    size_t i = 0;
    while (i < sizeof names / sizeof *names && strcmp(text, names[i]) != 0)
        i++;
    settings->format = (pprofdelta_format)i;
    settings->snapshot |= settings->format != PPROFDELTA_PPROF; /* as receivers of OTLP read it */
    return i < sizeof names / sizeof *names;
}

enum { ATTRIBUTES_MAX = 256 };

/* Into static memory, since the program may change its environment. */
static bool read_resource(pd_settings *settings, const char *text)
{
    static char kept[PD_RESOURCE_MAX], whole[PD_RESOURCE_MAX];
    static pprofdelta_attribute attributes[ATTRIBUTES_MAX];
    size_t size = strlen(text) + 1, count = 0;
    if (size > sizeof kept)
        return false;
    memcpy(kept, text, size);
    settings->resource_text = memcpy(whole, text, size);
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
    settings->resource = attributes;
    settings->resource_len = count;
    return true;
}

/* A size, or a share of the memory limit. Without a limit there is no threshold. */
static bool read_threshold(pd_settings *settings, const char *text)
{
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

static bool read_keep(pd_settings *settings, const char *text)
{
    static const char *const kinds[] = {
        [PD_KEEP_FILES] = "files=", [PD_KEEP_BYTES] = "bytes=", [PD_KEEP_NANOS] = "nanos="};
    enum { NAME_LEN = 6 };
    for (pd_keep kind = PD_KEEP_FILES; kind <= PD_KEEP_NANOS; kind++)
        if (strncmp(text, kinds[kind], NAME_LEN) == 0)
            settings->keep = kind;
    const char *run =
        settings->keep ? read_decimal(text + NAME_LEN, 1, &settings->keep_most) : NULL;
    if (!run || *run++ != ',' || !settings->keep_most)
        return false;
    size_t len = strspn(run, "0123456789abcdefghijklmnopqrstuvwxyz");
    if (!len || len >= sizeof settings->run || run[len])
        return false;
    memcpy(settings->run, run, len + 1);
    return true;
}

static bool read_command(pd_settings *settings, const char *text)
{
    static char kept[16384];
    size_t size = strlen(text) + 1;
    settings->command = size <= sizeof kept ? memcpy(kept, text, size) : NULL;
    return settings->command != NULL;
}

static bool read_dir(pd_settings *settings, const char *dir)
{
    enum { NAME_ROOM = 128 }; /* for the names of files in it */
    char *to = settings->dir;
    size_t at = 0, len = strlen(dir);
    if (*dir != '/') {
        if (!getcwd(to, sizeof settings->dir))
            return false;
        at = strlen(to);
        if (strcmp(dir, ".") == 0)
            return true;
        to[at++] = '/'; /* in place of the NUL */
    }
    if (len + at >= sizeof settings->dir - NAME_ROOM)
        return false;
    memcpy(to + at, dir, len + 1);
    for (at += len; at > 1 && to[at - 1] == '/'; at--)
        to[at - 1] = '\0';
    return true;
}

static const struct {
    const char *name;
    bool (*read)(pd_settings *settings, const char *text);
} texts[] = {
    {PD_VARIABLE_THRESHOLD, read_threshold}, {PD_VARIABLE_FORMAT, read_format},
    {PD_VARIABLE_RESOURCE, read_resource},   {PD_VARIABLE_KEEP, read_keep},
    {PD_VARIABLE_COMMAND, read_command},     {PD_VARIABLE_DIR, read_dir},
};

const char *pd_settings_read(pd_settings *settings, const char *copy)
{
    given_copy = copy;
    *settings = (pd_settings){.interval_nanos = 60 * PD_NANOS_PER_SECOND,
                              .rate = 512 << 10,
                              .signal = SIGUSR2,
                              .account = 1,
                              .live = 1,
                              .resource_text = ""};
    const char *wrong = read_numbers(settings);
    if (settings->probes)
        settings->account = settings->live = settings->pressure = 0;
    settings->timeout = pd_launch_timeout(settings->timeout, settings->interval_nanos);
    if (!wrong && settings->signal && !pd_launch_may_ask((int)settings->signal))
        wrong = PD_VARIABLE_SIGNAL;
    for (size_t i = 0; !wrong && i < sizeof texts / sizeof *texts; i++) {
        const char *text = value_of(texts[i].name);
        if (text && !texts[i].read(settings, text))
            wrong = texts[i].name;
    }
    if (settings->pressure)
        pd_memory_pressure_find("/proc/self/cgroup", "/sys/fs/cgroup", "/proc/pressure/memory",
                                settings->pressure_file);
    bool has_place = settings->command || *settings->dir || read_dir(settings, ".");
    return wrong || has_place ? wrong : PD_VARIABLE_DIR;
}
