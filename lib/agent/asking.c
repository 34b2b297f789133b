/* Which signal may ask for a profile: see asking.h. */
#include "agent/asking.h"

#include <signal.h>
#include <stddef.h>

const char *pd_asking_refusal(int number)
{
    switch (number) {
    case SIGHUP:
    case SIGUSR1:
    case SIGUSR2:
    case SIGALRM:
    case SIGVTALRM:
    case SIGPROF:
    case SIGIO:
    case SIGPWR:
        return NULL;
    case SIGKILL:
    case SIGSTOP:
        return "cannot be caught";
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGSYS:
        return "means that the program has failed";
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
    case SIGPIPE:
    case SIGXCPU:
    case SIGXFSZ:
        return "is there to end the program";
    case SIGCHLD:
    case SIGCONT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGURG:
    case SIGWINCH:
        return "does not end a program by default, and is sent for other reasons";
    default:
        break;
    }
    if (number >= SIGRTMIN && number <= SIGRTMAX)
        return NULL;
    if (number > SIGSYS && number < SIGRTMIN)
        return "belongs to the C library";
    return number < 1 || number > SIGRTMAX ? "does not exist" : "cannot ask for a profile";
}
