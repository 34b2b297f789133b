/* In the place of symbolize_module.c in builds without libdw. */
#include "symbolize/symbolize_module.h"

cli_apart_end cli_module_resolve(const cli_module_request *request, cli_answer *answer)
{
    (void)request;
    *answer = (cli_answer){0};
    return CLI_APART_NOT_RUN;
}

bool cli_module_is_supported(void)
{
    return false;
}
