#include "base/option_checks.h"

pprofdelta_status pd_options_check_output(pprofdelta_compression compression, int level,
                                          pprofdelta_error *err)
{
    if ((unsigned)compression > PPROFDELTA_PLAIN)
        return pd_refuse(err, "options.compression is not one of pprofdelta_compression");
    if (compression != PPROFDELTA_PLAIN && !pd_options_has_codecs)
        return pd_refuse(err, "options.compression is not PPROFDELTA_PLAIN, the only one that this "
                              "build without compression libraries has");
    if (level < 0 || level > 9)
        return pd_refuse(err, "options.level is not from 0 to 9");
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
