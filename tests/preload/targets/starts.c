/* Starts a program in one of the ways that there are: starts HOW PROGRAM. The output and the exit
 * status are the program's. */
#include "program.h"

#include <libgen.h>
#include <spawn.h>

int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);

static char *arguments[] = {(char *)"program", NULL};

static int waited(pid_t pid)
{
    int status = status_of(pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* The ways that return only if they fail. */
static void become(const char *how, char *program)
{
    if (!strcmp(how, "execve"))
        execve(program, arguments, environ);
    else if (!strcmp(how, "execv"))
        execv(program, arguments);
    else if (!strcmp(how, "execvp"))
        execvp(program, arguments);
    else if (!strcmp(how, "execvpe"))
        execvpe(program, arguments, environ);
    else if (!strcmp(how, "execl"))
        execl(program, "program", (char *)NULL);
    else if (!strcmp(how, "execlp"))
        execlp(program, "program", (char *)NULL);
    else if (!strcmp(how, "execle"))
        execle(program, "program", (char *)NULL, environ);
    else if (!strcmp(how, "fexecve"))
        fexecve(open(program, O_RDONLY), arguments, environ);
    else if (!strcmp(how, "execveat"))
        execveat(open(dirname(strdup(program)), O_RDONLY | O_DIRECTORY), basename(program),
                 arguments, environ, 0);
    else if (!strcmp(how, "execveat of a descriptor"))
        execveat(open(program, O_RDONLY), "", arguments, environ, AT_EMPTY_PATH);
}

static int by_popen(const char *program)
{
    FILE *pipe = popen(program, "r");
    for (int c; pipe && (c = getc(pipe)) != EOF;)
        putchar(c);
    return pipe ? pclose(pipe) >> 8 : 99;
}

static int start(const char *how, char *program)
{
    pid_t pid = -1;
    if (!strcmp(how, "vfork")) {
        pid = vfork(); // NOLINT: what it is about
        if (pid == 0) {
            execve(program, arguments, environ);
            _exit(98);
        }
        return waited(pid);
    }
    if (!strcmp(how, "posix_spawn"))
        return posix_spawn(&pid, program, NULL, NULL, arguments, environ) ? 97 : waited(pid);
    if (!strcmp(how, "posix_spawnp"))
        return posix_spawnp(&pid, program, NULL, NULL, arguments, environ) ? 97 : waited(pid);
    if (!strcmp(how, "system"))
        return system(program) >> 8; // NOLINT: what it is about
    if (!strcmp(how, "popen"))
        return by_popen(program);
    become(how, program);
    perror(program);
    return 96;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    void *volatile block = malloc(1000);
    int status = start(argv[1], argv[2]);
    free(block);
    return status;
}
