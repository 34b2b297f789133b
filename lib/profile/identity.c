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

pd_key pd_file_key(pd_bytes filename, pd_bytes build_id)
{
    if (build_id.len)
        return pd_key_of_bytes(build_id.ptr, build_id.len, SEED_BUILD_ID);
    pd_bytes file = pd_filename_file(filename);
    return file.len ? pd_key_of_bytes(file.ptr, file.len, SEED_FILE) : (pd_key){0, 0};
}

pd_place pd_place_in_file(pd_key file, uint64_t start, uint64_t file_offset)
{
    return file.lo | file.hi ? (pd_place){file, file_offset - start} : PD_NOWHERE_MAPPED;
}

pd_place pd_place_of_mapping(uint64_t start, uint64_t file_offset, pd_bytes filename,
                             pd_bytes build_id)
{
    return pd_place_in_file(pd_file_key(filename, build_id), start, file_offset);
}

pd_key pd_location_key_address(pd_place place, uint64_t address, bool is_folded)
{
    uint64_t relative = address ? address + place.bias : 0;
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

pd_key pd_function_key(pd_bytes name, pd_bytes system_name, pd_bytes filename, int64_t start_line)
{
    return pd_function_key_of(pd_string_key(name), pd_string_key(system_name),
                              pd_string_key(filename), start_line);
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
