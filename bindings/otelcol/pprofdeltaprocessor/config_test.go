package pprofdeltaprocessor

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
)

func read(settings map[string]any) (*Config, error) {
	config := NewFactory().CreateDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(settings).Unmarshal(config); err != nil {
		return config, err
	}
	return config, confmap.Validate(config)
}

func TestConfig(t *testing.T) {
	if err := componenttest.CheckConfigStruct(NewFactory().CreateDefaultConfig()); err != nil {
		t.Error(err)
	}
	config, err := read(map[string]any{
		"counters": []any{"mine", "other/apples"}, "gauges": []any{"delay"}, "first": "zero", "storage": "file_storage/x",
		"deltas":      []any{map[string]any{"telemetry.sdk.name": "pyroscope"}},
		"format":      "otlp-plain",
		"max_targets": 5, "idle_timeout": "90m", "max_memory": 2048,
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "config", []any{config.Counters, config.Deltas, config.Storage, config.format(), config.IdleTimeout, config.MaxMemory},
		[]any{[]string{"mine", "other/apples"}, []map[string]string{{"telemetry.sdk.name": "pyroscope"}}, "file_storage/x", "otlp-plain", 90 * time.Minute, 2048})
	for _, bad := range []struct {
		setting string
		value   any
		want    string
	}{
		{"counters", []any{"a/b/c"}, `"a/b/c"`},
		{"counters", []any{""}, `""`},
		{"gauges", []any{"/x"}, `"/x"`},
		{"deltas", []any{map[string]any{}}, "deltas[0]"},
		{"format", "pprof", `format: "pprof" is none of ["otlp" "otlp-parca" "otlp-plain"]`},
		{"format", "tables", `format: "tables"`},
		{"format", "", `format: ""`},
		{"first", "some", `first: "some" is neither "full" nor "zero"`},
		{"max_targets", 0, "max_targets: 0 is not from 1"},
		{"idle_timeout", "0s", "idle_timeout: 0s is shorter than a second"},
		{"idle_timeout", "-5m", "idle_timeout: -5m0s is shorter than a second"},
		{"idle_timeout", "999ms", "idle_timeout: 999ms is shorter than a second"},
		{"idle_timeout", 10, "idle_timeout: 10ns: did you mean 10s?"},
		{"idle_timeout", 86400, "idle_timeout: 86.4µs: did you mean 24h0m0s?"},
		{"idle_timeout", "10", "idle_timeout"},
		{"max_memory", 1, "max_memory: 1 MiB is not from 64"},
		{"max_target", 1, "max_target"},
	} {
		if _, err := read(map[string]any{bad.setting: bad.value}); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v: %v", bad.setting, bad.value, err)
		}
	}
	if _, err := read(map[string]any{"counters": []any{"a/b"}, "gauges": []any{"a"}}); err == nil || !strings.Contains(err.Error(), "gauges") {
		t.Error(err)
	}
}
