/* Builds small profiles by hand.
 *
 *     build b = {0};
 *     build_types(&b, "alloc_objects/count alloc_space/bytes");
 *     model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0, "/bin/app", "id-1");
 *     build_place(&b, "leaf", app, 0x401000);
 *     build_sample(&b, "leaf main", "10 1000");
 *     buf bytes = build_bytes(&b);
 *     build_free(&b);
 *
 * A word in a stack is a location that was named before. Any other word is a new function with that
 * name, without an address, at line 1. All objects live until build_free. */
#ifndef PD_TESTS_BUILD_H
#define PD_TESTS_BUILD_H

#include "arena.h"
#include "model.h"

typedef struct build_name {
    const char *name;
    model_location *location;
} build_name;

typedef struct build {
    arena arena;
    model m; /* may be changed by the test at any time */
    build_name *names;
    size_t names_len, names_cap;
} build;

void build_free(build *b);

/* "type/unit type/unit ..." */
void build_types(build *b, const char *types);
model_mapping *build_mapping(build *b, uint64_t start, uint64_t limit, uint64_t offset,
                             const char *filename, const char *build_id);
model_function *build_function(build *b, const char *name, const char *filename);

/* A location with this name, without a line. */
model_location *build_bare(build *b, const char *name, model_mapping *mapping, uint64_t address);
void build_line(build *b, model_location *location, model_function *function, int64_t line);

/* build_bare with line 1 of the function `name` in "file.go". */
model_location *build_place(build *b, const char *name, model_mapping *mapping, uint64_t address);

/* The stack, leaf first, and the values, each separated by spaces. */
model_sample *build_sample(build *b, const char *stack, const char *values);
void build_label(build *b, model_sample *sample, const char *key, const char *str, int64_t num,
                 const char *unit);
void build_comment(build *b, const char *comment);

/* The bytes as a plain exporter writes them (a serial_style of zeros). */
buf build_bytes(build *b);
buf build_bytes_in(arena *a, build *b);

#endif
