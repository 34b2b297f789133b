//go:build otel

package main

import (
	"github.com/open-telemetry/sig-profiling/profcheck"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

func init() {
	all := profcheck.ConformanceChecker{CheckDictionaryDuplicates: true, CheckSampleTimestampShape: true, CheckDictionaryOrphans: true}
	judges["otel"] = func(request []byte) error {
		var data profiles.ProfilesData // has the fields of a request
		if err := proto.Unmarshal(request, &data); err != nil {
			return err
		}
		return all.Check(&data)
	}
}
