/* Demangles the names of a profile's functions: see symbolize_view.h.
 *
 *     names that look mangled -> child -> demangled names -> functions
 *
 * The child writes each result at once. So if it dies, the name that it was at is known. That name is
 * left out, and another child goes on behind it. After some such names the others stay mangled. */
#include "symbolize/symbolize_view.h"

#include "keep.h"
#include "names.h"

#include <string.h>

enum { SECONDS_MAX = 2, MEMORY_MAX = 256 << 20, BAD_NAMES_MAX = 8 };

/* The functions whose names are to be demangled. */
typedef struct names {
    const cli_profile *profile;
    Pd__View__Function **functions;
    size_t len, done;
} names;

/* Does the name look mangled? */
static bool is_mangled(cli_string name)
{
    size_t at = 0;
    while (at < name.len && name.ptr[at] == '_')
        at++;
    return at && at < 4 && name.len > at + 1 && name.len <= CLI_MANGLED_MAX &&
           (name.ptr[at] == 'Z' || name.ptr[at] == 'R');
}

/* In the child. */
static void demangle_in_child(const void *cookie, FILE *out)
{
    const names *n = cookie;
    char mangled[CLI_MANGLED_MAX + 1], plain[CLI_DEMANGLED_MAX];
    cli_apart_limit(SECONDS_MAX, MEMORY_MAX);
    for (size_t i = n->done; i < n->len; i++) {
        cli_string name = cli_profile_string(n->profile, n->functions[i]->name);
        memcpy(mangled, name.ptr, name.len);
        mangled[name.len] = '\0';
        size_t len = strlen(mangled) == name.len ? cli_demangle(mangled, plain) : 0;
        cli_answer_put_number(out, len);
        fwrite(plain, 1, len, out);
        fflush(out);
    }
}

static void read_answer(names *n, cli_edit *edit, cli_answer *answer)
{
    while (n->done < n->len) {
        cli_string plain = cli_answer_string(answer);
        if (answer->is_over)
            return;
        Pd__View__Function *f = n->functions[n->done++];
        int64_t name = cli_edit_string(edit, plain);
        if (!name)
            continue;
        f->system_name = f->name;
        f->name = name;
        edit->profile->changes++;
    }
}

static void demangle_names(names *n, cli_edit *edit)
{
    for (size_t bad = 0; n->done < n->len && bad < BAD_NAMES_MAX; bad++) {
        cli_answer answer;
        cli_apart_end end = cli_apart_run(demangle_in_child, n, &answer);
        read_answer(n, edit, &answer);
        cli_answer_free(&answer);
        if (end == CLI_APART_NOT_RUN)
            return;
        n->done += n->done < n->len;
    }
}

/* A name that differs from the system name was demangled before. In other languages, _Za is a name. */
static bool is_wanted(const cli_profile *profile, const Pd__View__Function *function)
{
    return (function->name == function->system_name || !function->system_name) &&
           !cli_is_foreign(cli_profile_string(profile, function->filename), cli_string_of("")) &&
           is_mangled(cli_profile_string(profile, function->name));
}

void cli_demangle_view(cli_edit *edit)
{
    const Pd__View__Profile *view = edit->profile->view;
    names n = {.profile = edit->profile};
    n.functions = cli_keep(view->n_function, sizeof *n.functions);
    for (size_t i = 0; i < view->n_function; i++)
        if (is_wanted(edit->profile, view->function[i]))
            n.functions[n.len++] = view->function[i];
    demangle_names(&n, edit);
    cli_drop(n.functions);
}
