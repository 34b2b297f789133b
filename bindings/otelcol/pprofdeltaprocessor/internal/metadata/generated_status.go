// Code generated from metadata.yaml. DO NOT EDIT.

// Package metadata is what metadata.yaml says, as Go.
package metadata

import "go.opentelemetry.io/collector/component"

var (
	Type      = component.MustNewType("pprofdelta")
	ScopeName = "github.com/pprofdelta/pprofdelta/bindings/otelcol/pprofdeltaprocessor"
)

const (
	ProfilesStability = component.StabilityLevelAlpha
)
