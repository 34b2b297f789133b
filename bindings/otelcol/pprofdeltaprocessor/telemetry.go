package pprofdeltaprocessor

import (
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const scopeName = "github.com/pprofdelta/pprofdelta/bindings/otelcol/pprofdeltaprocessor"

// telemetry is what the processor measures of itself.
type telemetry struct {
	targets  metric.Int64UpDownCounter
	windows  metric.Int64Counter
	restarts metric.Int64Counter
	passed   metric.Int64Counter
	refused  metric.Int64Counter
	evicted  metric.Int64Counter
	bytesIn  metric.Int64Counter
	bytesOut metric.Int64Counter
	duration metric.Float64Histogram
}

func newTelemetry(settings component.TelemetrySettings) (*telemetry, error) {
	meter := settings.MeterProvider.Meter(scopeName)
	var failed error
	counter := func(name, unit, what string) metric.Int64Counter {
		made, err := meter.Int64Counter("otelcol_processor_pprofdelta_"+name, metric.WithUnit(unit), metric.WithDescription(what))
		failed = errors.Join(failed, err)
		return made
	}
	t := &telemetry{
		windows:  counter("windows", "{windows}", "Windows that were computed, by what became of them: sent or failed"),
		restarts: counter("restarts", "{restarts}", "Windows before which the target restarted"),
		passed:   counter("passed", "{profiles}", "Profiles that are not cumulative, or deltas already"),
		refused:  counter("refused", "{profiles}", "Profiles that were dropped, by reason; the next window covers their time"),
		evicted:  counter("evicted", "{targets}", "Targets that were forgotten, by the setting that was reached"),
		bytesIn:  counter("bytes_in", "By", "Cumulative profiles of windows that were sent, as OTLP"),
		bytesOut: counter("bytes_out", "By", "Deltas that were sent, as OTLP"),
	}
	var err, err2 error
	t.targets, err = meter.Int64UpDownCounter("otelcol_processor_pprofdelta_targets", metric.WithUnit("{targets}"),
		metric.WithDescription("Targets that are remembered"))
	t.duration, err2 = meter.Float64Histogram("otelcol_processor_pprofdelta_duration", metric.WithUnit("s"),
		metric.WithDescription("Time to compute the windows of a request, without waiting and sending"),
		metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
	return t, errors.Join(failed, err, err2)
}

func by(name, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(name, value)))
}
