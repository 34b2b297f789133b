/* pprofdelta recover DIR...: makes the last windows of processes that were killed while they were recorded. */
#include "arguments.h"
#include "cli.h"
#include "message.h"
#include "record/recover.h"

static const cli_option table[] = {
    {"--to", 0, CLI_VALUE, cli_take_name, offsetof(cli_recovering, to), CLI_SHELL, 0,
     "      --to=COMMAND     run this shell command with each profile on its stdin; a\n"
     "                       profile has arrived if it exits with status 0; nothing\n"
     "                       is written to DIR then\n"},
    {"--timeout", 0, CLI_VALUE, cli_take_span, offsetof(cli_recovering, timeout_nanos), 0, 0,
     "      --timeout=TIME   end this command after TIME: 30s, 2m (default: no limit)\n"},
    {"--for", 0, CLI_VALUE, cli_receiver_take, offsetof(cli_recovering, receiver), 0, 0,
     "      --for=RECEIVER   what it takes, with a stamp and values in use (or as the\n"
     "                       process would have written it):\n"},
    {"--max-age", 0, CLI_VALUE, cli_take_span, offsetof(cli_recovering, max_age_nanos), 0, 0,
     "      --max-age=TIME   a window that is older goes to DIR, not to the command\n"},
    {"--quiet", 'q', CLI_ALONE, cli_take_quiet, 0, 0, 0,
     "  -q, --quiet          print no notes on stderr\n"},
    {"--help", 'h', CLI_ALONE, NULL, 0, 0, 0, "  -h, --help\n"},
};

static const cli_command command = {
    .before = "usage: pprofdelta recover DIR...\n"
              "Makes the last window of each process that was killed while pprofdelta record\n"
              "recorded it to DIR, from DIR/heap.PROGRAM.PID.live, and removes that file:\n"
              "DIR/heap.PROGRAM.PID.SEQUENCE.pb.gz. Processes that live are left alone.\n"
              "\n",
    .options = table,
    .missing = "a directory is missing: pprofdelta recover DIR",
    .after = "\n"
             "Exit status: 0 done; 1 a file cannot be recovered, or the system failed; 2 wrong\n"
             "command line; 4 the command of --to failed: the file stays for the next run\n",
};

static void print_total(const cli_recovering *how, int code)
{
    if (how->living)
        cli_note("processes that live, or are being recovered: %zu", how->living);
    if (how->empty)
        cli_note("processes whose windows had all arrived: %zu", how->empty);
    if (how->early)
        cli_note("processes that were killed within milliseconds of their first sample, of which "
                 "nothing can be made: %zu",
                 how->early);
    if (!code && !how->recovered && !how->living && !how->empty && !how->early)
        cli_note("nothing to recover: no killed process has left a file");
}

int cli_recover(int argc, char **argv)
{
    cli_recovering how = {.is_silent = false};
    cli_arguments arguments = {.argc = argc, .argv = argv};
    int code = CLI_DONE;
    cli_command_read(&command, &arguments, &how);
    if ((how.timeout_nanos || how.max_age_nanos) && !how.to)
        cli_usage("%s is for the command of --to, which is missing",
                  how.timeout_nanos ? "--timeout" : "--max-age");
    if (!how.to) /* whose command has the terminal */
        cli_progress_start();
    for (size_t i = 0; i < arguments.operands_len; i++) {
        int failed = cli_recover_folder(arguments.operands[i], &how);
        code = failed ? failed : code;
    }
    print_total(&how, code);
    return code;
}
