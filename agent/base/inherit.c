/* The environment of a program that this process starts: see inherit.h. */
#include "agent/base/inherit.h"

#include "agent/base/launch.h"
#include "agent/base/self.h"
#include "agent/base/own_stack.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "LD_PRELOAD=";
enum { VARIABLE_LEN = sizeof variable - 1 };

static const char *own_name; /* of the agent's file, without the directory; NULL: not known */

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void pd_inherit_begin(void)
{
    Dl_info info;
    if (dladdr(&own_name, &info) && info.dli_fname)
        own_name = file_of(info.dli_fname);
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
    if (len >= sizeof path)
        return false;
    memcpy(path, entry, len);
    path[len] = '\0';
    return !strchr(path, '/') || access(path, R_OK) == 0;
}

/* Removes the agent's entries. Returns whether anything is left. */
static bool remove_own(char *value)
{
    size_t len;
    for (const char *own; (own = find_own(value, &len));) {
        char *entry = value + (own - value);
        const char *rest = entry + len;
        if (*rest)
            rest++;
        else if (entry > value)
            entry--;
        memmove(entry, rest, strlen(rest) + 1);
    }
    for (char *space = value; (space = strchr(space, ' '));)
        *space = ':';
    return value[strspn(value, separators)] != '\0';
}

/* ---- the environment ------------------------------------------------------------------------- */

typedef struct question {
    const char *program, *preload; /* the value of LD_PRELOAD */
    bool is_yes;
} question;

/* Will the agent be loaded into the program? */
static void answer(void *cookie)
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
    if (!own_name && is_confined)
        return 0;
    if (!own_name) /* a constructor of another library, before the agent's, starts a program */
        pd_inherit_begin();
    char *const *own = own_name && envp ? find_setting(envp) : NULL;
    if (!own)
        return 0;
    while (envp[count - 1])
        count++;
    size_t size = count * sizeof *envp + strlen(*own) + 1;
    question q = {.program = program, .preload = *own + VARIABLE_LEN};
    if (size <= MOST && !is_confined)
        pd_own_stack_call(answer, &q);
    return size > MOST || q.is_yes ? 0 : size;
}

char **pd_inherit_copy(char *const envp[], void *memory)
{
    char **copy = memory, **next = memory;
    char *const *own = find_setting(envp);
    for (; *envp; envp++)
        if (envp != own)
            *next++ = *envp;
    char *setting = (char *)(next + 2);
    memcpy(setting, *own, strlen(*own) + 1);
    if (remove_own(setting + VARIABLE_LEN))
        *next++ = setting;
    *next = NULL;
    return copy;
}
