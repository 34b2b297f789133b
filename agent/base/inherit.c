/* The environment of a program that this process starts: see inherit.h. */
#include "agent/base/inherit.h"

#include "agent/base/launch.h"
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

static bool is_preload(const char *setting)
{
    return strncmp(setting, variable, VARIABLE_LEN) == 0;
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

static bool can_take(const char *program)
{
    pd_launch_result found;
    pd_launch_check(program, &found);
    return !found.obstacle || found.error;
}

typedef struct question {
    const char *program, *entry; /* the agent's entry of LD_PRELOAD */
    size_t entry_len;
    bool is_yes;
} question;

static void answer(void *cookie)
{
    question *q = cookie;
    q->is_yes = is_there(q->entry, q->entry_len) && can_take(q->program);
}

static bool will_be_loaded(const char *program, const char *entry, size_t entry_len)
{
    question q = {.program = program, .entry = entry, .entry_len = entry_len};
    pd_own_stack_call(answer, &q);
    return q.is_yes;
}

size_t pd_inherit_size(const char *program, char *const envp[])
{
    enum {
        MOST = 256 << 10
    }; /* bytes of the caller's stack; a larger environment is not changed */
    size_t len, count = 1, text = 0;
    const char *own = NULL;
    size_t own_len = 0;
    if (!own_name) /* a constructor of another library, before the agent's, starts a program */
        pd_inherit_begin();
    if (!own_name || !envp)
        return 0;
    for (char *const *setting = envp; *setting; setting++, count++) {
        const char *found;
        if (!is_preload(*setting) || !(found = find_own(*setting + VARIABLE_LEN, &len)))
            continue;
        own = found;
        own_len = len;
        text += strlen(*setting) + 1;
    }
    size_t size = count * sizeof *envp + text;
    return own && size <= MOST && !will_be_loaded(program, own, own_len) ? size : 0;
}

char **pd_inherit_copy(char *const envp[], void *memory)
{
    char **next = memory;
    size_t len, count = 1;
    for (char *const *setting = envp; *setting; setting++)
        count++;
    char *text = (char *)(next + count);
    for (char *const *setting = envp; *setting; setting++) {
        size_t size = strlen(*setting) + 1;
        *next = *setting;
        if (is_preload(*setting) && find_own(*setting + VARIABLE_LEN, &len)) {
            *next = memcpy(text, *setting, size);
            text += size;
            if (!remove_own(*next + VARIABLE_LEN))
                continue;
        }
        next++;
    }
    *next = NULL;
    return memory;
}
