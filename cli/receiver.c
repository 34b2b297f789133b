#include "receiver.h"

const cli_needs cli_receivers[CLI_RECEIVERS] = {
    [CLI_FOR_NONE] = {"", "", PPROFDELTA_PPROF, PPROFDELTA_GZIP, false},
    [CLI_FOR_PYROSCOPE] = {"Pyroscope", "2 of August 2026", PPROFDELTA_OTLP, PPROFDELTA_GZIP, true},
    [CLI_FOR_PARCA] = {"Parca", "of July 2026", PPROFDELTA_OTLP_PARCA, PPROFDELTA_GZIP, true},
    [CLI_FOR_OTEL] = {"OpenTelemetry", "profcheck of August 2026", PPROFDELTA_OTLP_PLAIN,
                      PPROFDELTA_GZIP, true},
    [CLI_FOR_PPROF] = {"pprof", "of Go 1.26", PPROFDELTA_PPROF, PPROFDELTA_GZIP, true},
};

void cli_receiver_set(cli_receiver receiver, pprofdelta_format *format,
                      pprofdelta_compression *compression)
{
    const cli_needs *needs = &cli_receivers[receiver];
    if ((int)*format == CLI_NOT_GIVEN)
        *format = needs->format;
    if ((int)*compression == CLI_NOT_GIVEN)
        *compression = needs->compression;
}
