/* A library whose constructor comes before the agent's, and starts a program there. The command that
 * records has it preloaded, too, where it is not linked statically: it is not meant. */
#include <dlfcn.h>
#include "program.h"

#include <spawn.h>

__attribute__((constructor)) static void start_early(void)
{
    char *arguments[] = {(char *)"sh", (char *)"-c", (char *)"exit 5", NULL};
    pid_t pid = -1;
    int status = -1;
    if (strcmp(program_invocation_short_name, "inherits") != 0)
        return;
    unsetenv("LD_PRELOAD");
    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ) == 0)
        waitpid(pid, &status, 0);
    void *self = dlopen(NULL, RTLD_NOW);
    printf("early: %d, %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1, dlclose(self));
    fflush(stdout);
}
