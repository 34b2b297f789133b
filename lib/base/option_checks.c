#include "base/option_checks.h"

#include <stdbool.h>
#include <string.h>

enum { MOST = 4096 }; /* a larger size was never set */

static bool is_size(size_t size)
{
    return size >= sizeof size && size <= MOST;
}

pprofdelta_status pd_options_read(void *own, size_t len, const void *given, pprofdelta_error *err)
{
    size_t size;
    if (!given)
        return PPROFDELTA_OK;
    memcpy(&size, given, sizeof size);
    if (!is_size(size))
        return pd_refuse(err, "options.size is not the size of the struct");
    for (size_t i = len; i < size; i++)
        if (((const uint8_t *)given)[i])
            return pd_refuse(err, "options has a member that this version does not know");
    memcpy(own, given, size < len ? size : len);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_result_check(const void *out, pprofdelta_error *err)
{
    size_t size;
    PD_TRY(pd_need(out, err));
    memcpy(&size, out, sizeof size);
    return is_size(size) ? PPROFDELTA_OK
                         : pd_refuse(err, "the size of a result is not the size of its struct");
}

void pd_result_write(void *out, const void *own, size_t len)
{
    size_t size;
    memcpy(&size, out, sizeof size);
    size_t known = size < len ? size : len;
    if (known > sizeof size)
        memcpy((uint8_t *)out + sizeof size, (const uint8_t *)own + sizeof size,
               known - sizeof size);
}

pprofdelta_status pd_options_check_output(pprofdelta_compression compression, int level,
                                          pprofdelta_format format,
                                          const pprofdelta_attribute *resource, size_t len,
                                          pprofdelta_error *err)
{
    if ((unsigned)compression > PPROFDELTA_PLAIN)
        return pd_refuse(err, "options.compression is not one of pprofdelta_compression");
    if (level < 0 || level > 9)
        return pd_refuse(err, "options.level is not from 0 to 9");
    if ((unsigned)format > PPROFDELTA_TABLES)
        return pd_refuse(err, "options.format is not one of pprofdelta_format");
    if (len && !resource)
        return pd_refuse(err, "options.resource is NULL and its length is not 0");
    for (size_t i = 0; i < len; i++)
        if (!resource[i].key || !*resource[i].key)
            return pd_refuse(err, "options.resource has a key that is empty");
    return PPROFDELTA_OK;
}

pprofdelta_status pd_options_check_types(const void *types, size_t len, pprofdelta_error *err)
{
    if (!types || !len)
        return pd_refuse(err, "options.types is empty");
    if (len > PPROFDELTA_MAX_TYPES)
        return pd_refuse(err, "options.types has more than PPROFDELTA_MAX_TYPES");
    return PPROFDELTA_OK;
}
