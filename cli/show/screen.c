/* The terminal that stdout is: see shown.h. */
#include "show/shown.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST_WIDTH = 40, USUAL_WIDTH = 80 };

cli_ink cli_screen_ink(void)
{
    const char *term = getenv("TERM"), *refusal = getenv("NO_COLOR");
    int is_refused = refusal && *refusal;
    if (is_refused || !term || !*term || !strcmp(term, "dumb") || !isatty(STDOUT_FILENO))
        return (cli_ink){"", "", "", "", ""};
    return (cli_ink){"\033[1m", "\033[2m", "\033[31m", "\033[36m", "\033[0m"};
}

size_t cli_screen_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
        return USUAL_WIDTH;
    return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
}

void cli_screen_put_right(cli_string text, size_t width)
{
    size_t columns = cli_string_columns(text);
    printf("%*s", columns < width ? (int)(width - columns) : 0, "");
    cli_string_put(stdout, text, CLI_TEXT_SHOWN);
}

const char *cli_screen_change_ink(const cli_ink *ink, pprofdelta_sum change)
{
    return cli_sum_is_zero(change) ? ink->dim : change.hi < 0 ? ink->shrinkage : ink->growth;
}
