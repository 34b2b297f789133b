/* Prints what LD_PRELOAD is in a program that another one started. */
#include "program.h"

int main(void)
{
    const char *preload = getenv("LD_PRELOAD");
    printf("%s\n", preload ? preload : "not set");
    return 0;
}
