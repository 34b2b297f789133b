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

void cli_page_write(const char *path, const char *option, cli_page page,
                    void (*put)(FILE *to, void *cookie), void *cookie)
{
    static cli_output output = {.fd = -1, .is_page = true};
    if (!strcmp(path, "-") && isatty(STDOUT_FILENO))
        cli_usage("(stdout): is a terminal, and the page is for a browser: %s OUT.html", option);
    cli_must(cli_output_prepare(&output, path));
    FILE *to = fopencookie(&output, "w", (cookie_io_functions_t){.write = write_bytes});
    if (!to)
        cli_must(cli_system_error(output.name, "write", ENOMEM));
    fwrite(page.head, 1, page.head_len, to);
    put(to, cookie);
    fwrite(page.tail, 1, page.tail_len, to);
    fclose(to);
    cli_must(cli_output_finish(&output));
    cli_output_close(&output);
}
