/* The structs that the library fills in, as tuples. The order of the members is that of _core.pyi
 * and of the dataclasses in _results.py: numbers and strings first, then enums and parts. */
#include "core.h"

#include <string.h>

static PyObject *text_of(const char *bytes, size_t len)
{
    return PyUnicode_DecodeUTF8(len ? bytes : "", (Py_ssize_t)len, "backslashreplace");
}

static PyObject *sum_of(pprofdelta_sum sum)
{
    char digits[48];
    if (sum.hi == ((int64_t)sum.lo < 0 ? -1 : 0))
        return PyLong_FromLongLong((int64_t)sum.lo);
    return PyLong_FromString(pprofdelta_sum_format(sum, digits), NULL, 10);
}

static PyObject *bool_of(int value)
{
    return PyBool_FromLong(value != 0);
}

static PyObject *type_of(const pprofdelta_type_report *t)
{
    return Py_BuildValue("(NNNNNNNN)", text_of(t->type, strlen(t->type)),
                         text_of(t->unit, strlen(t->unit)), bool_of(t->is_counter), sum_of(t->prev),
                         sum_of(t->cur), sum_of(t->delta), sum_of(t->clamped), sum_of(t->vanished));
}

static PyObject *types_of(const pprofdelta_type_report *types, size_t len)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)len);
    for (size_t i = 0; tuple && i < len; i++) {
        PyObject *type = type_of(&types[i]);
        if (!type || PyTuple_SetItem(tuple, (Py_ssize_t)i, type))
            Py_CLEAR(tuple);
    }
    return tuple;
}

#define U(x) ((unsigned long long)(x))
#define S(x) ((long long)(x))

PyObject *core_report(const pprofdelta_report *r)
{
    return Py_BuildValue(
        "(LLKKKNKKKKKKKKKKNKKNNNiN)", S(r->from_nanos), S(r->to_nanos), U(r->sequence),
        U(r->attempt), U(r->id), bool_of(r->had_base), U(r->samples_in), U(r->samples_out),
        U(r->matched), U(r->fresh), U(r->vanished), U(r->clamped), U(r->duplicates),
        U(r->by_address), U(r->by_lines), U(r->files_replaced), bool_of(r->other_build),
        U(r->unknown_fields), U(r->output_len), bool_of(r->is_same), bool_of(r->may_be_window),
        bool_of(r->clock_set_back), (int)r->restart, types_of(r->types, r->types_len));
}

PyObject *core_memory(const pprofdelta_memory *m)
{
    const char *build_id = m->build_id ? m->build_id : "";
    return Py_BuildValue("(NKKKKKLLNiNKLLi)", bool_of(m->has_base), U(m->sequence), U(m->attempts),
                         U(m->id), U(m->samples), U(m->unseen), S(m->from_nanos), S(m->to_nanos),
                         text_of(build_id, strlen(build_id)), (int)m->restart,
                         types_of(m->types, m->types_len), U(m->open_sequence),
                         S(m->open_from_nanos), S(m->open_to_nanos), (int)m->open_restart);
}

static PyObject *stamp_of(const pprofdelta_stamp *s)
{
    return Py_BuildValue("(NLLKKKKKiiK)", bool_of(s->is_delta), S(s->from_nanos), S(s->to_nanos),
                         U(s->sequence), U(s->attempt), U(s->id), U(s->epoch), U(s->first),
                         (int)s->restart, (int)s->live, U(s->acked));
}

PyObject *core_census(const pprofdelta_census *c)
{
    return Py_BuildValue("(sKKKKKKKKKKLLNNNN)", c->format, U(c->inflated_len), U(c->types),
                         U(c->samples), U(c->mappings), U(c->locations), U(c->functions),
                         U(c->strings), U(c->by_address), U(c->by_lines), U(c->unknown_fields),
                         S(c->time_nanos), S(c->duration_nanos), text_of(c->binary, c->binary_len),
                         text_of(c->build_id, c->build_id_len), bool_of(c->is_stamped),
                         stamp_of(&c->stamp));
}
