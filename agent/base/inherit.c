/* The environment of a program that this process starts: see inherit.h. */
#include "agent/base/inherit.h"

#include "agent/base/agent.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "LD_PRELOAD=";
enum { VARIABLE_LEN = sizeof variable - 1 };

static const char *own_name; /* of the agent's file, without the directory; NULL: not known */

void pd_inherit_begin(void)
{
    Dl_info info;
    if (dladdr(&own_name, &info) && info.dli_fname)
        own_name = pd_name_in(info.dli_fname);
}

/* ---- the entries of LD_PRELOAD --------------------------------------------------------------- */

static const char separators[] = ": ";

static bool is_own(const char *entry, size_t len)
{
    size_t name_len = strlen(own_name);
    return len >= name_len && memcmp(entry + len - name_len, own_name, name_len) == 0 &&
           (len == name_len || entry[len - name_len - 1] == '/');
}

/* Returns the agent's entry in the value, or NULL. */
static const char *find_own(const char *value, size_t *len)
{
    for (const char *entry = value;; entry += *len + 1) {
        *len = strcspn(entry, separators);
        if (is_own(entry, *len))
            return entry;
        if (!entry[*len])
            return NULL;
    }
}

/* Returns the setting of LD_PRELOAD that has the agent's entry, or NULL. */
static char *const *find_setting(char *const envp[])
{
    size_t len;
    for (; *envp; envp++)
        if (strncmp(*envp, variable, VARIABLE_LEN) == 0 && find_own(*envp + VARIABLE_LEN, &len))
            return envp;
    return NULL;
}

/* Would the loader find the file? It looks for a name without a slash in the library
 * directories. */
static bool is_there(const char *entry, size_t len)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%.*s", (int)len, entry);
    return size < PATH_MAX && (!strchr(path, '/') || access(path, R_OK) == 0);
}

/* Copies the entries that are not the agent's. Returns where the copy ends. */
static char *copy_others(char *to, const char *value)
{
    const char *begin = to;
    for (size_t len; *(value += strspn(value, separators)); value += len) {
        len = strcspn(value, separators);
        if (is_own(value, len))
            continue;
        if (to != begin)
            *to++ = ':';
        to = (char *)memcpy(to, value, len) + len;
    }
    return to;
}

/* ---- the environment ------------------------------------------------------------------------- */

typedef struct question {
    const char *program, *preload; /* the value of LD_PRELOAD */
    bool is_yes;
} question;

/* Will the agent be loaded into the program? */
static void answer_program(void *cookie)
{
    question *q = cookie;
    size_t len;
    const char *entry = find_own(q->preload, &len);
    pd_launch_result found;
    pd_launch_check(q->program, &found);
    q->is_yes = is_there(entry, len) && (!found.obstacle || found.error);
}

bool pd_inherit_is_lost(char *const envp[])
{
    return own_name && !atomic_load(&pd_is_confined) && !(envp && find_setting(envp));
}

size_t pd_inherit_size(const char *program, char *const envp[])
{
    enum {
        MOST = 256 << 10
    }; /* bytes of the caller's stack; a larger environment is not changed */
    size_t count = 1;
    const bool is_confined = atomic_load(&pd_is_confined); /* and the program: without the agent */
    if (!own_name && !is_confined) /* a constructor of another library, before the agent's */
        pd_inherit_begin();
    char *const *own = own_name && envp ? find_setting(envp) : NULL;
    if (!own)
        return 0;
    while (envp[count - 1])
        count++;
    size_t size = count * sizeof *envp + strlen(*own) + 1;
    question q = {.program = program, .preload = *own + VARIABLE_LEN};
    if (size <= MOST && !is_confined)
        pd_own_stack_call(answer_program, &q);
    return size > MOST || q.is_yes ? 0 : size;
}

char **pd_inherit_copy(char *const envp[], void *memory)
{
    char **copy = memory, **next = memory;
    char *const *own = find_setting(envp);
    for (; *envp; envp++)
        if (envp != own)
            *next++ = *envp;
    char *setting = (char *)(next + 2), *value = setting + VARIABLE_LEN;
    memcpy(setting, variable, VARIABLE_LEN);
    char *end = copy_others(value, *own + VARIABLE_LEN);
    *end = '\0';
    if (end != value)
        *next++ = setting;
    *next = NULL;
    return copy;
}
