/* A page for a browser: see page_file.h. */
#include "show/page_file.h"

#include "cli.h"
#include "message.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static ssize_t write_bytes(void *output, const char *bytes, size_t len)
{
    cli_output_write(output, bytes, len);
    return (ssize_t)len;
}

int cli_page_open(cli_page *page, const char *path, const char *option)
{
    *page = (cli_page){.output = {.fd = -1, .is_page = true}};
    if (!strcmp(path, "-") && isatty(STDOUT_FILENO))
        cli_usage("(stdout): is a terminal, and the page is for a browser: %s OUT.html", option);
    int code = cli_output_prepare(&page->output, path);
    if (code)
        return code;
    page->to = fopencookie(&page->output, "w", (cookie_io_functions_t){.write = write_bytes});
    return page->to ? CLI_DONE : cli_system_error(page->output.name, "write", ENOMEM);
}

int cli_page_close(cli_page *page, int code)
{
    if (page->to)
        fclose(page->to);
    code = code ? code : cli_output_finish(&page->output);
    cli_output_close(&page->output);
    return code;
}
