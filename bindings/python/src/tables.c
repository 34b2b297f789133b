/* _core.Table: a table of the library as Python's Arrow packages take it, by the Arrow PyCapsule interface.
 *
 *     sink's tables -> 4 x core_columns -> Table -> a capsule for each call -> the package
 *
 * A consumer may move the columns out of what it gets, and may release them on any thread. So each capsule
 * has structs of its own, down to each column, which refer to the memory of the library without a copy. Each
 * struct counts as a reference to the columns. The last one to be released, or the Table, releases them. */
#include "core.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *stream);
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};
#endif

struct core_columns {
    atomic_size_t references;
    pprofdelta_table table;
};

static void drop(core_columns *columns)
{
    if (atomic_fetch_sub(&columns->references, 1) > 1)
        return;
    columns->table.schema.release(&columns->table.schema);
    columns->table.array.release(&columns->table.array);
    free(columns);
}

static core_columns *keep(core_columns *columns)
{
    atomic_fetch_add(&columns->references, 1);
    return columns;
}

/* What a schema and an array have in common: a tree, whose parts are released one by one.
 *     release_NAME  releases a part and what was not moved out of it
 *     borrow_NAME   makes *to the tree *from, which belongs to the columns. On failure *to is empty. */
#define TREE(name, type)                                                                           \
    static void release_##name(struct type *part)                                                  \
    {                                                                                              \
        for (int64_t i = 0; part->children && i <= part->n_children; i++) {                        \
            struct type *child = i < part->n_children ? part->children[i] : part->dictionary;      \
            if (child && child->release)                                                           \
                child->release(child);                                                             \
            free(child);                                                                           \
        }                                                                                          \
        free(part->children);                                                                      \
        part->release = NULL;                                                                      \
        drop(part->private_data);                                                                  \
    }                                                                                              \
                                                                                                   \
    static bool borrow_##name(struct type *to, const struct type *from, core_columns *columns)     \
    {                                                                                              \
        *to = *from;                                                                               \
        to->release = release_##name;                                                              \
        to->private_data = keep(columns);                                                          \
        to->dictionary = NULL;                                                                     \
        to->children = calloc((size_t)from->n_children + 1, sizeof *to->children);                 \
        bool is_whole = to->children != NULL;                                                      \
        for (int64_t i = 0; is_whole && i <= from->n_children; i++) {                              \
            const struct type *part = i < from->n_children ? from->children[i] : from->dictionary; \
            struct type **child = i < from->n_children ? &to->children[i] : &to->dictionary;       \
            if (!part)                                                                             \
                continue;                                                                          \
            *child = calloc(1, sizeof **child);                                                    \
            is_whole = *child && borrow_##name(*child, part, columns);                             \
        }                                                                                          \
        if (!is_whole)                                                                             \
            release_##name(to);                                                                    \
        return is_whole;                                                                           \
    }

TREE(schema, ArrowSchema)
TREE(array, ArrowArray)

/* ---- the stream: one batch ------------------------------------------------------------------- */

typedef struct stream_state {
    core_columns *columns;
    bool is_over;
} stream_state;

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    core_columns *columns = ((stream_state *)stream->private_data)->columns;
    return borrow_schema(out, &columns->table.schema, columns) ? 0 : ENOMEM;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    stream_state *state = stream->private_data;
    out->release = NULL; /* the end */
    if (!state->is_over && !borrow_array(out, &state->columns->table.array, state->columns))
        return ENOMEM;
    state->is_over = true;
    return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "there is no memory for the columns";
}

static void stream_release(struct ArrowArrayStream *stream)
{
    drop(((stream_state *)stream->private_data)->columns);
    free(stream->private_data);
    stream->release = NULL;
}

static bool borrow_stream(struct ArrowArrayStream *to, core_columns *columns)
{
    stream_state *state = malloc(sizeof *state);
    if (!state)
        return false;
    *state = (stream_state){keep(columns), false};
    *to =
        (struct ArrowArrayStream){stream_schema, stream_next, stream_error, stream_release, state};
    return true;
}

/* ---- capsules -------------------------------------------------------------------------------- */

/* A consumer that has moved the struct out of the capsule leaves it without a release. */
#define CAPSULE(name, type, label, borrowed)                                                       \
    static void free_##name(PyObject *capsule)                                                     \
    {                                                                                              \
        struct type *held = PyCapsule_GetPointer(capsule, label);                                  \
        if (held->release)                                                                         \
            held->release(held);                                                                   \
        free(held);                                                                                \
    }                                                                                              \
                                                                                                   \
    static PyObject *capsule_of_##name(core_columns *columns)                                      \
    {                                                                                              \
        struct type *held = malloc(sizeof *held);                                                  \
        if (!held || !borrowed) {                                                                  \
            free(held);                                                                            \
            return PyErr_NoMemory();                                                               \
        }                                                                                          \
        PyObject *capsule = PyCapsule_New(held, label, free_##name);                               \
        if (!capsule) {                                                                            \
            held->release(held);                                                                   \
            free(held);                                                                            \
        }                                                                                          \
        return capsule;                                                                            \
    }

CAPSULE(schema, ArrowSchema, "arrow_schema", borrow_schema(held, &columns->table.schema, columns))
CAPSULE(array, ArrowArray, "arrow_array", borrow_array(held, &columns->table.array, columns))
CAPSULE(stream, ArrowArrayStream, "arrow_array_stream", borrow_stream(held, columns))

typedef struct Table {
    PyObject_HEAD
    core_columns *columns; /* never NULL */
} Table;

static void table_dealloc(PyObject *object)
{
    drop(((Table *)object)->columns);
    core_dealloc(object);
}

static PyObject *table_schema(Table *self, PyObject *unused)
{
    (void)unused;
    return capsule_of_schema(self->columns);
}

/* The consumer may ask for another schema. The interface lets the producer leave that to the consumer. */
static bool takes_request(PyObject *args, PyObject *kwargs)
{
    static char name[] = "requested_schema";
    PyObject *requested;
    return PyArg_ParseTupleAndKeywords(args, kwargs, "|O", (char *[]){name, NULL}, &requested);
}

static PyObject *table_array(Table *self, PyObject *args, PyObject *kwargs)
{
    if (!takes_request(args, kwargs))
        return NULL;
    PyObject *schema = capsule_of_schema(self->columns);
    return schema ? Py_BuildValue("(NN)", schema, capsule_of_array(self->columns)) : NULL;
}

static PyObject *table_stream(Table *self, PyObject *args, PyObject *kwargs)
{
    return takes_request(args, kwargs) ? capsule_of_stream(self->columns) : NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool bit_of(const void *bits, int64_t n)
{
    return ((const uint8_t *)bits)[n / 8] >> n % 8 & 1;
}

static PyObject *value_of(const struct ArrowSchema *schema, const struct ArrowArray *array,
                          int64_t n);

static PyObject *struct_of(const struct ArrowSchema *schema, const struct ArrowArray *array,
                           int64_t n)
{
    PyObject *row = PyDict_New();
    for (int64_t i = 0; row && i < schema->n_children; i++) {
        PyObject *value = value_of(schema->children[i], array->children[i], n);
        if (!value || PyDict_SetItemString(row, schema->children[i]->name, value))
            Py_CLEAR(row);
        Py_XDECREF(value);
    }
    return row;
}

static PyObject *list_of(const struct ArrowSchema *schema, const struct ArrowArray *array,
                         int64_t n)
{
    const int32_t *offsets = array->buffers[1];
    PyObject *list = PyList_New(0);
    for (int64_t i = offsets[n]; list && i < offsets[n + 1]; i++) {
        PyObject *value = value_of(schema->children[0], array->children[0], i);
        if (!value || PyList_Append(list, value))
            Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

/* The formats are those of libpprofdelta-tables(3). The library makes no column with an offset. */
static PyObject *value_of(const struct ArrowSchema *schema, const struct ArrowArray *array,
                          int64_t n)
{
    const void *values = array->n_buffers > 1 ? array->buffers[1] : NULL;
    const int32_t *offsets = values;
    if (array->buffers[0] && !bit_of(array->buffers[0], n))
        return Py_NewRef(Py_None);
    if (schema->dictionary)
        return value_of(schema->dictionary, array->dictionary, ((const int32_t *)values)[n]);
    switch (schema->format[0]) {
    case '+':
        return schema->format[1] == 'l' ? list_of(schema, array, n) : struct_of(schema, array, n);
    case 'u':
        return PyUnicode_DecodeUTF8((const char *)array->buffers[2] + offsets[n],
                                    offsets[n + 1] - offsets[n], NULL);
    case 'b':
        return PyBool_FromLong(bit_of(values, n));
    case 'i':
        return PyLong_FromLong(((const int32_t *)values)[n]);
    case 'L':
        return PyLong_FromUnsignedLongLong(((const uint64_t *)values)[n]);
    default: /* an int64, or a time in nanoseconds */
        return PyLong_FromLongLong(((const int64_t *)values)[n]);
    }
}

static Py_ssize_t table_length(Table *self)
{
    return (Py_ssize_t)self->columns->table.array.length;
}

static PyObject *table_row(Table *self, Py_ssize_t n)
{
    if (n < 0 || n >= table_length(self)) {
        PyErr_SetString(PyExc_IndexError, "the table has no such row");
        return NULL;
    }
    return struct_of(&self->columns->table.schema, &self->columns->table.array, n);
}

static PyObject *table_repr(Table *self)
{
    const struct ArrowSchema *schema = &self->columns->table.schema;
    Py_ssize_t rows = table_length(self);
    PyObject *text = PyUnicode_FromFormat("<Table: %zd row%s, %zd columns", rows,
                                          rows == 1 ? "" : "s", (Py_ssize_t)schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++)
        PyUnicode_AppendAndDel(
            &text, PyUnicode_FromFormat("%s %s", i ? "," : ":", schema->children[i]->name));
    PyUnicode_AppendAndDel(&text, PyUnicode_FromString(">"));
    return text;
}

static PyMethodDef methods[] = {
    {"__arrow_c_schema__", (PyCFunction)(void (*)(void))table_schema, METH_NOARGS,
     "__arrow_c_schema__($self)\n--\n\nReturns a capsule of the schema."},
    {"__arrow_c_array__", (PyCFunction)(void (*)(void))table_array, METH_VARARGS | METH_KEYWORDS,
     "__arrow_c_array__($self, requested_schema=None)\n--\n\n"
     "Returns a capsule of the schema and one of the table, as a struct array."},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))table_stream, METH_VARARGS | METH_KEYWORDS,
     "__arrow_c_stream__($self, requested_schema=None)\n--\n\n"
     "Returns a capsule of a stream of one batch."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)table_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_repr, (void *)table_repr},
    {Py_tp_iter, (void *)PySeqIter_New},
    {Py_sq_length, (void *)table_length},
    {Py_sq_item, (void *)table_row},
    {Py_tp_doc,
     (void *)"A table that packages of Arrow take without a copy. It is a sequence of rows, which "
             "are "
             "mappings from the names of the columns to the values. Times are in nanoseconds."},
    {0, NULL},
};

PyType_Spec core_table_spec = {
    .name = "pprofdelta._core.Table",
    .basicsize = sizeof(Table),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

/* ---- from the library to Python -------------------------------------------------------------- */

int core_output_take(void *cookie, pprofdelta_tables *tables)
{
    core_output *output = cookie;
    pprofdelta_table *all[] = {&tables->samples, &tables->stacks, &tables->locations,
                               &tables->functions};
    for (size_t i = 0; i < CORE_TABLES; i++) {
        core_columns *columns = output->tables[i] = malloc(sizeof *columns);
        output->is_short |= !columns;
        if (!columns)
            return -1;
        columns->references = 1;
        columns->table = *all[i];
        all[i]->schema.release = NULL;
        all[i]->array.release = NULL;
    }
    return 0;
}

void core_output_drop_tables(core_output *output)
{
    for (size_t i = 0; i < CORE_TABLES; i++) {
        if (output->tables[i])
            drop(output->tables[i]);
        output->tables[i] = NULL;
    }
}

PyObject *core_output_tables(core_output *output, PyTypeObject *type)
{
    if (!output->tables[0])
        return Py_NewRef(Py_None);
    core_state *state = PyType_GetModuleState(type);
    PyObject *tuple = PyTuple_New(CORE_TABLES);
    for (size_t i = 0; tuple && i < CORE_TABLES; i++) {
        Table *table = core_alloc(state->types[CORE_TABLE]);
        if (table) {
            table->columns = output->tables[i];
            output->tables[i] = NULL;
        }
        if (!table || PyTuple_SetItem(tuple, (Py_ssize_t)i, (PyObject *)table))
            Py_CLEAR(tuple);
    }
    return tuple;
}
