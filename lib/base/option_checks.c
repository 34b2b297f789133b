#include "base/option_checks.h"

pprofdelta_status pd_options_check_output(pprofdelta_compression compression, int level,
                                          pprofdelta_error *err)
{
    if ((unsigned)compression > PPROFDELTA_PLAIN)
        return pd_refuse(err, "options.compression is not one of pprofdelta_compression");
    if (level < 0 || level > 9)
        return pd_refuse(err, "options.level is not from 0 to 9");
    return PPROFDELTA_OK;
}

pprofdelta_status pd_options_check_format(pprofdelta_format format,
                                          const pprofdelta_attribute *resource, size_t len,
                                          pprofdelta_error *err)
{
    if ((unsigned)format > PPROFDELTA_OTLP)
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
