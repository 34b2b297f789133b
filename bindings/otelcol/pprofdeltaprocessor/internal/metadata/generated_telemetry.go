// Code generated from metadata.yaml. DO NOT EDIT.

package metadata

import (
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/metric"
)

// TelemetryBuilder has the metrics of the component.
type TelemetryBuilder struct {
	ProcessorPprofdeltaBytesIn  metric.Int64Counter
	ProcessorPprofdeltaBytesOut metric.Int64Counter
	ProcessorPprofdeltaDuration metric.Float64Histogram
	ProcessorPprofdeltaEvicted  metric.Int64Counter
	ProcessorPprofdeltaPassed   metric.Int64Counter
	ProcessorPprofdeltaRefused  metric.Int64Counter
	ProcessorPprofdeltaRestarts metric.Int64Counter
	ProcessorPprofdeltaTargets  metric.Int64UpDownCounter
	ProcessorPprofdeltaWindows  metric.Int64Counter
}

// NewTelemetryBuilder makes all metrics.
func NewTelemetryBuilder(settings component.TelemetrySettings) (*TelemetryBuilder, error) {
	meter := settings.MeterProvider.Meter(ScopeName)
	var built TelemetryBuilder
	var err, errs error
	built.ProcessorPprofdeltaBytesIn, err = meter.Int64Counter("otelcol_processor_pprofdelta_bytes_in",
		metric.WithDescription("Cumulative profiles of windows that were sent, as OTLP [Alpha]"), metric.WithUnit("By"))
	errs = errors.Join(errs, err)
	built.ProcessorPprofdeltaBytesOut, err = meter.Int64Counter("otelcol_processor_pprofdelta_bytes_out",
		metric.WithDescription("Deltas that were sent, as OTLP [Alpha]"), metric.WithUnit("By"))
	errs = errors.Join(errs, err)
	built.ProcessorPprofdeltaDuration, err = meter.Float64Histogram("otelcol_processor_pprofdelta_duration",
		metric.WithDescription("Time to compute the windows of a request, without waiting and sending [Alpha]"), metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10))
	errs = errors.Join(errs, err)
	built.ProcessorPprofdeltaEvicted, err = meter.Int64Counter("otelcol_processor_pprofdelta_evicted",
		metric.WithDescription("Targets that were forgotten, by the setting that was reached [Alpha]"), metric.WithUnit("{targets}"))
	errs = errors.Join(errs, err)
	built.ProcessorPprofdeltaPassed, err = meter.Int64Counter("otelcol_processor_pprofdelta_passed",
		metric.WithDescription("Profiles that are not cumulative, or deltas already [Alpha]"), metric.WithUnit("{profiles}"))
	errs = errors.Join(errs, err)
	built.ProcessorPprofdeltaRefused, err = meter.Int64Counter("otelcol_processor_pprofdelta_refused",
		metric.WithDescription("Profiles that were dropped, by reason; the next window covers their time [Alpha]"), metric.WithUnit("{profiles}"))
	errs = errors.Join(errs, err)
	built.ProcessorPprofdeltaRestarts, err = meter.Int64Counter("otelcol_processor_pprofdelta_restarts",
		metric.WithDescription("Windows before which the target restarted; many mean that processes are mixed up [Alpha]"), metric.WithUnit("{restarts}"))
	errs = errors.Join(errs, err)
	built.ProcessorPprofdeltaTargets, err = meter.Int64UpDownCounter("otelcol_processor_pprofdelta_targets",
		metric.WithDescription("Targets that are remembered [Alpha]"), metric.WithUnit("{targets}"))
	errs = errors.Join(errs, err)
	built.ProcessorPprofdeltaWindows, err = meter.Int64Counter("otelcol_processor_pprofdelta_windows",
		metric.WithDescription("Windows that were computed, by what became of them [Alpha]"), metric.WithUnit("{windows}"))
	errs = errors.Join(errs, err)
	return &built, errs
}
