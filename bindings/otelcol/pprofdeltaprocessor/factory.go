// Package pprofdeltaprocessor is a processor of the OpenTelemetry Collector. It turns cumulative profiles (Go's
// heap, mutex and block profiles, and what else counts from the start of a process) into deltas: what a
// target did since the profile before. OTLP does not say whether a profile is cumulative, and receivers add
// profiles up, so without it the same allocation is counted by each scrape.
//
//	receiver -> config, metadata:  what the user sets and sees
//	         -> processor.go:      which profiles are cumulative, and the life of their windows
//	         -> targets.go:        what is remembered of each target, its bounds, and the storage
//	         -> dictionary.go:     profiles move from one request to another
//	         -> exporter
//
// The module bindings/go has all rules of what a delta is.
package pprofdeltaprocessor

//go:generate go test -run=TestGenerated -update .

import (
	"context"

	"github.com/pprofdelta/pprofdelta/bindings/otelcol/pprofdeltaprocessor/internal/metadata"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/xprocessor"
)

// NewFactory makes the factory of the processor. Its type is pprofdelta.
func NewFactory() xprocessor.Factory {
	return xprocessor.NewFactory(metadata.Type, createDefaultConfig,
		xprocessor.WithProfiles(createProfiles, metadata.ProfilesStability))
}

func createProfiles(_ context.Context, settings processor.Settings, config component.Config,
	next xconsumer.Profiles) (xprocessor.Profiles, error) {
	telemetry, err := metadata.NewTelemetryBuilder(settings.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &deltas{config: config.(*Config), id: settings.ID, log: settings.Logger, next: next, telemetry: telemetry}, nil
}
