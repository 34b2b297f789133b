//go:build parca

package main

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parca-dev/parca/pkg/normalizer"
	"github.com/parca-dev/parca/pkg/profile"
	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

func init() {
	judges["parca"] = func(request []byte) error {
		var q collector.ExportProfilesServiceRequest
		if err := proto.Unmarshal(request, &q); err != nil {
			return err
		}
		schema, err := profile.Schema()
		if err != nil {
			return err
		}
		_, err = normalizer.OtlpRequestToArrowRecord(context.Background(), &q, schema, memory.DefaultAllocator)
		return err
	}
}
