#include "profile/identity.h"

#include "profile/filename.h"

/* A seed for each kind of identity, so that equal bytes of two kinds have different keys. */
enum {
    SEED_FILE = 1,
    SEED_BUILD_ID,
    SEED_STRING,
    SEED_FUNCTION,
    SEED_ADDRESS,
    SEED_ADDRESS_FOLDED,
    SEED_LINES,
    SEED_LINES_FOLDED
};

pd_place pd_place_of_mapping(uint64_t start, uint64_t file_offset, pd_bytes filename,
                             pd_bytes build_id)
{
    uint64_t bias = file_offset - start;
    if (build_id.len)
        return (pd_place){pd_key_of_bytes(build_id.ptr, build_id.len, SEED_BUILD_ID), bias};
    pd_bytes file = pd_filename_file(filename);
    if (file.len)
        return (pd_place){pd_key_of_bytes(file.ptr, file.len, SEED_FILE), bias};
    return PD_NOWHERE_MAPPED;
}

pd_key pd_location_key_address(pd_place place, uint64_t address, bool is_folded)
{
    uint64_t relative = address ? address + place.bias : 0;
    uint64_t words[] = {place.file.lo, place.file.hi, relative, address != 0};
    return pd_key_of_words(words, 4, is_folded ? SEED_ADDRESS_FOLDED : SEED_ADDRESS);
}

pd_key pd_function_key(pd_bytes name, pd_bytes system_name, pd_bytes filename, int64_t start_line)
{
    pd_key n = pd_key_of_bytes(name.ptr, name.len, SEED_STRING);
    pd_key s = pd_key_of_bytes(system_name.ptr, system_name.len, SEED_STRING);
    pd_key f = pd_key_of_bytes(filename.ptr, filename.len, SEED_STRING);
    uint64_t words[] = {n.lo, n.hi, s.lo, s.hi, f.lo, f.hi, (uint64_t)start_line};
    return pd_key_of_words(words, 7, SEED_FUNCTION);
}

pd_key pd_location_key_lines_begin(bool is_folded)
{
    return (pd_key){is_folded ? SEED_LINES_FOLDED : SEED_LINES, 0};
}

pd_key pd_location_key_line(pd_key so_far, pd_key function, int64_t line, int64_t column)
{
    uint64_t words[] = {so_far.lo,   so_far.hi,      function.lo,
                        function.hi, (uint64_t)line, (uint64_t)column};
    return pd_key_of_words(words, 6, SEED_LINES);
}
