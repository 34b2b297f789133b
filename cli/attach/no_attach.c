/* Attaching on machines for which there is no stub: see attach.h. */
#include "attach/attach.h"

#include "message.h"

int cli_attach_open(pid_t pid, bool is_stop)
{
    (void)pid, (void)is_stop;
    return cli_error("--pid is for x86-64 and arm64; start the program under pprofdelta record");
}

int cli_attach_record(const cli_attach *how)
{
    return cli_attach_open(0, how != NULL);
}

int cli_attach_stop(void)
{
    return cli_attach_open(0, true);
}

bool cli_attach_is_apart(pid_t pid, char through[64])
{
    (void)pid;
    *through = '\0';
    return false;
}
