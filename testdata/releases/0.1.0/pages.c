#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void keep_pages(int count)
{
    while (count-- > 0)
        memset(malloc(4096), 1, 4096);
}

int main(void)
{
    keep_pages(10);
    sleep(2);
    keep_pages(5);
    raise(SIGKILL);
}
