/* The structs that the library fills, as tuples. Made by bindings/facts.py from pprofdelta.h. Do not edit. */
/* clang-format off */
#include "core.h"

#include <string.h>

static PyObject *text_of(const char *bytes, size_t len)
{
    return PyUnicode_DecodeUTF8(len ? bytes : "", (Py_ssize_t)len, "backslashreplace");
}

static PyObject *sum_of(pprofdelta_sum sum)
{
    PyObject *lo = PyLong_FromUnsignedLongLong(sum.lo), *hi = PyLong_FromLongLong(sum.hi);
    PyObject *bits = PyLong_FromLong(64), *high = hi && bits ? PyNumber_Lshift(hi, bits) : NULL;
    PyObject *whole = lo && high ? PyNumber_Or(high, lo) : NULL;
    Py_XDECREF(lo);
    Py_XDECREF(hi);
    Py_XDECREF(bits);
    Py_XDECREF(high);
    return whole;
}

static PyObject *core_type_report(const pprofdelta_type_report *from)
{
    return Py_BuildValue("(NNNNNNNN)",
                         text_of(from->type, strlen(from->type)),
                         text_of(from->unit, strlen(from->unit)),
                         PyBool_FromLong(from->is_counter != 0),
                         sum_of(from->prev),
                         sum_of(from->cur),
                         sum_of(from->delta),
                         sum_of(from->clamped),
                         sum_of(from->vanished));
}

static PyObject *core_type_reports(const pprofdelta_type_report *from, size_t len, size_t stride)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)len);
    for (size_t i = 0; tuple && i < len; i++) {
        PyObject *one = core_type_report((const void *)((const char *)from + i * stride));
        if (!one || PyTuple_SetItem(tuple, (Py_ssize_t)i, one))
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *core_stamp(const pprofdelta_stamp *from)
{
    return Py_BuildValue("(NLLKiiKKKKKKK)",
                         PyBool_FromLong(from->is_delta != 0),
                         (long long)from->from_nanos,
                         (long long)from->to_nanos,
                         (unsigned long long)from->sequence,
                         (int)from->restart,
                         (int)from->live,
                         (unsigned long long)from->id,
                         (unsigned long long)from->epoch,
                         (unsigned long long)from->first,
                         (unsigned long long)from->attempt,
                         (unsigned long long)from->acked,
                         (unsigned long long)from->windows,
                         (unsigned long long)from->targets);
}

PyObject *core_report(const pprofdelta_report *from)
{
    return Py_BuildValue("(KKKKKKKKKKNKNiLLKKKNNNNKKN)",
                         (unsigned long long)from->samples_in,
                         (unsigned long long)from->samples_out,
                         (unsigned long long)from->matched,
                         (unsigned long long)from->fresh,
                         (unsigned long long)from->vanished,
                         (unsigned long long)from->clamped,
                         (unsigned long long)from->duplicates,
                         (unsigned long long)from->by_address,
                         (unsigned long long)from->by_lines,
                         (unsigned long long)from->files_replaced,
                         PyBool_FromLong(from->other_build != 0),
                         (unsigned long long)from->unknown_fields,
                         PyBool_FromLong(from->had_base != 0),
                         (int)from->restart,
                         (long long)from->from_nanos,
                         (long long)from->to_nanos,
                         (unsigned long long)from->sequence,
                         (unsigned long long)from->attempt,
                         (unsigned long long)from->output_len,
                         core_type_reports(from->types, from->types_len, from->types_stride),
                         PyBool_FromLong(from->is_same != 0),
                         PyBool_FromLong(from->may_be_window != 0),
                         PyBool_FromLong(from->clock_set_back != 0),
                         (unsigned long long)from->id,
                         (unsigned long long)from->left_out,
                         PyBool_FromLong(from->may_be_two_kinds != 0));
}

PyObject *core_memory(const pprofdelta_memory *from)
{
    return Py_BuildValue("(NKKKKLLiNNKLLiKK)",
                         PyBool_FromLong(from->has_base != 0),
                         (unsigned long long)from->sequence,
                         (unsigned long long)from->attempts,
                         (unsigned long long)from->samples,
                         (unsigned long long)from->unseen,
                         (long long)from->from_nanos,
                         (long long)from->to_nanos,
                         (int)from->restart,
                         text_of(from->build_id, strlen(from->build_id)),
                         core_type_reports(from->types, from->types_len, from->types_stride),
                         (unsigned long long)from->open_sequence,
                         (long long)from->open_from_nanos,
                         (long long)from->open_to_nanos,
                         (int)from->open_restart,
                         (unsigned long long)from->id,
                         (unsigned long long)from->bytes);
}

PyObject *core_census(const pprofdelta_census *from)
{
    return Py_BuildValue("(NKKKKKKKKKKLLNNNNKKKKKKK)",
                         text_of(from->format, strlen(from->format)),
                         (unsigned long long)from->inflated_len,
                         (unsigned long long)from->types,
                         (unsigned long long)from->samples,
                         (unsigned long long)from->mappings,
                         (unsigned long long)from->locations,
                         (unsigned long long)from->functions,
                         (unsigned long long)from->strings,
                         (unsigned long long)from->by_address,
                         (unsigned long long)from->by_lines,
                         (unsigned long long)from->unknown_fields,
                         (long long)from->time_nanos,
                         (long long)from->duration_nanos,
                         PyBool_FromLong(from->is_stamped != 0),
                         core_stamp(&from->stamp),
                         text_of(from->binary, from->binary_len),
                         text_of(from->build_id, from->build_id_len),
                         (unsigned long long)from->resources,
                         (unsigned long long)from->scopes,
                         (unsigned long long)from->profiles,
                         (unsigned long long)from->timestamps,
                         (unsigned long long)from->links,
                         (unsigned long long)from->payloads,
                         (unsigned long long)from->other_attributes);
}
