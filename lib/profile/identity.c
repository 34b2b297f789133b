#include "profile/identity.h"

#include <string.h>

/* A seed for each kind of identity, so that equal bytes of two kinds have different keys. */
enum {
    SEED_FILE = 1,
    SEED_BUILD_ID,
    SEED_STRING,
    SEED_FUNCTION,
    SEED_ADDRESS,
    SEED_ADDRESS_FOLDED,
    SEED_LINES,
    SEED_LINES_FOLDED,
    SEED_NUMBERS = 101,
    SEED_FOLD,
    SEED_LABEL
};

/* ---- file names ------------------------------------------------------------------------------ */

/* In a pattern, '#' is a hexadecimal digit, and '*' at the end is any text. */
static bool matches_pattern(pd_bytes name, const char *pattern)
{
    size_t i = 0;
    for (; pattern[i] && pattern[i] != '*'; i++)
        if (i >= name.len || (pattern[i] == '#' ? pd_digit_of(name.ptr[i]) > 15
                                                : name.ptr[i] != (uint8_t)pattern[i]))
            return false;
    return pattern[i] == '*' || i == name.len;
}

/* `name` has no mark. */
static bool is_made_up(pd_bytes name)
{
    static const char *const files[] = {"[vdso]",    "[vsyscall]", "[vectors]",
                                        "[sigpage]", "/dev/shm/*", "/dev/hugepages/*"};
    static const char *const made_up[] = {
        "",         "[*",        "//anon",       "/anon_hugepage", "/secretmem",    "/[aio]",
        "/memfd:*", "/dmabuf:*", "anon_inode:*", "socket:[*",      "/SYSV########", "/dev/*"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (matches_pattern(name, files[i]))
            return false;
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
        if (matches_pattern(name, made_up[i]))
            return true;
    return false;
}

pd_bytes pd_filename_unmarked(pd_bytes name)
{
    static const char mark[] = " (deleted)";
    const size_t len = sizeof mark - 1;
    while (name.len >= len && memcmp(name.ptr + name.len - len, mark, len) == 0)
        name.len -= len;
    return name;
}

pd_bytes pd_filename_file(pd_bytes name)
{
    pd_bytes file = pd_filename_unmarked(name);
    return is_made_up(file) ? (pd_bytes){NULL, 0} : file;
}

/* ---- services ---------------------------------------------------------------------------------- */

/* The name of the file without its folder. */
static pd_bytes base_name(pd_bytes name)
{
    size_t from = name.len;
    while (from && name.ptr[from - 1] != '/')
        from--;
    return (pd_bytes){name.ptr + from, name.len - from};
}

static pd_bytes take_word(pd_bytes *rest)
{
    return pd_bytes_take_word(rest, "-_.+@~ []");
}

/* Is the word a part of a version, or the hash of a commit? */
static bool is_version(pd_bytes word)
{
    size_t digits = 0, hex = 0;
    for (size_t i = 0; i < word.len; i++) {
        digits += pd_digit_of(word.ptr[i]) < 10;
        hex += pd_digit_of(word.ptr[i]) < 16;
    }
    return !word.len || digits || (word.len >= 7 && hex == word.len);
}

static pd_bytes first_word(pd_bytes *rest)
{
    pd_bytes word = take_word(rest);
    while (word.len && pd_digit_of(word.ptr[word.len - 1]) < 10)
        word.len--;
    return word;
}

static pd_bytes later_word(pd_bytes *rest)
{
    while (rest->len) {
        pd_bytes word = take_word(rest);
        if (!is_version(word))
            return word;
    }
    return *rest;
}

bool pd_filename_may_be_one_service(pd_bytes a, pd_bytes b)
{
    pd_bytes file_a = pd_filename_file(a), file_b = pd_filename_file(b);
    if (!file_a.len || !file_b.len)
        return true;
    pd_bytes rest_a = base_name(file_a), rest_b = base_name(file_b);
    pd_bytes word_a = first_word(&rest_a), word_b = first_word(&rest_b);
    if (!word_a.len || !word_b.len)
        return true;
    while (pd_bytes_equal(word_a, word_b)) {
        if (!word_a.len)
            return true;
        word_a = later_word(&rest_a);
        word_b = later_word(&rest_b);
    }
    return false;
}

/* ---- files, functions and locations ---------------------------------------------------------- */

pd_key pd_file_key(pd_bytes filename, pd_bytes build_id)
{
    if (build_id.len)
        return pd_key_of_bytes(build_id.ptr, build_id.len, SEED_BUILD_ID);
    pd_bytes file = pd_filename_file(filename);
    return file.len ? pd_key_of_bytes(file.ptr, file.len, SEED_FILE) : (pd_key){0, 0};
}

pd_place pd_place_in_file(pd_key file, uint64_t start, uint64_t limit, uint64_t file_offset)
{
    return pd_key_is_set(file) ? (pd_place){file, start, file_offset - start, start < limit}
                               : PD_NOWHERE_MAPPED;
}

uint64_t pd_place_address(pd_place place, uint64_t address)
{
    return address && !pd_place_is_before(place, address) ? address + place.bias : address;
}

pd_key pd_location_key_address(pd_place place, uint64_t address, bool is_folded)
{
    uint64_t relative = pd_place_address(place, address);
    uint64_t words[] = {place.file.lo, place.file.hi, relative, address != 0};
    return pd_key_of_words(words, 4, is_folded ? SEED_ADDRESS_FOLDED : SEED_ADDRESS);
}

pd_key pd_string_key(pd_bytes string)
{
    return pd_key_of_bytes(string.ptr, string.len, SEED_STRING);
}

pd_key pd_function_key_of(pd_key name, pd_key system_name, pd_key filename, int64_t start_line)
{
    uint64_t words[] = {name.lo,     name.hi,     system_name.lo,      system_name.hi,
                        filename.lo, filename.hi, (uint64_t)start_line};
    return pd_key_of_words(words, 7, SEED_FUNCTION);
}

pd_function_parts pd_function_parts_of(const pprofdelta_frame *frame)
{
    pd_function_parts parts = {
        .name = pd_bytes_of(frame->name),
        .system_name = pd_bytes_of(frame->system_name ? frame->system_name : frame->name),
        .filename = pd_bytes_of(frame->filename),
        .start_line = frame->start_line,
    };
    pd_key name = pd_string_key(parts.name);
    pd_key system_name = frame->system_name ? pd_string_key(parts.system_name) : name;
    parts.key =
        pd_function_key_of(name, system_name, pd_string_key(parts.filename), parts.start_line);
    return parts;
}

pd_key pd_location_key_lines_begin(uint64_t address, bool is_folded)
{
    return (pd_key){is_folded ? SEED_LINES_FOLDED : SEED_LINES, address};
}

pd_key pd_location_key_line(pd_key so_far, pd_key function, int64_t line, int64_t column)
{
    uint64_t words[] = {so_far.lo,   so_far.hi,      function.lo,
                        function.hi, (uint64_t)line, (uint64_t)column};
    return pd_key_of_words(words, 6, SEED_LINES);
}

/* ---- labels ---------------------------------------------------------------------------------- */

pd_key pd_label_names_key(pd_bytes key, pd_bytes str, pd_bytes num_unit)
{
    pd_key k = pd_key_of_bytes(key.ptr, key.len, SEED_LABEL);
    pd_key s = pd_key_of_bytes(str.ptr, str.len, SEED_LABEL);
    pd_key u = pd_key_of_bytes(num_unit.ptr, num_unit.len, SEED_LABEL);
    uint64_t words[] = {k.lo, k.hi, s.lo, s.hi, u.lo, u.hi};
    return pd_key_of_words(words, 6, SEED_LABEL);
}

pd_label_parts pd_label_parts_of(const pprofdelta_label *label)
{
    pd_label_parts parts = {.key = pd_bytes_of(label->key), .str = pd_bytes_of(label->str)};
    if (!parts.str.len) {
        parts.num = label->num;
        parts.num_unit = pd_bytes_of(label->num_unit);
    }
    return parts;
}

pd_key pd_label_parts_key(const pd_label_parts *parts)
{
    return pd_label_key(pd_label_names_key(parts->key, parts->str, parts->num_unit), parts->num);
}

/* ---- samples --------------------------------------------------------------------------------- */

void pd_stack_numbers_init(pd_stack_numbers *numbers)
{
    for (uint64_t i = 0; i < PD_STACK_BLOCK; i++) {
        uint64_t word = i;
        pd_key random = pd_key_of_words(&word, 1, SEED_NUMBERS);
        numbers->lo[i] = random.lo | 1;
        numbers->hi[i] = random.hi | 1;
    }
}

void pd_identity_fold(pd_identity *identity)
{
    uint64_t words[] = {identity->lo, identity->hi};
    pd_key folded = pd_key_of_words(words, 2, SEED_FOLD);
    identity->lo = folded.lo;
    identity->hi = folded.hi;
}
