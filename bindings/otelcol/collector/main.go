// Collector is an OpenTelemetry Collector with the processor pprofdelta, as the Collector's builder makes one: an
// OTLP receiver, a limit of memory, an exporter of OTLP by HTTP, and the file storage. It is what the test of this folder runs.
//
//	go run . --feature-gates=service.profilesSupport --config=FILE
package main

import (
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/pprofdelta/pprofdelta/bindings/otelcol/pprofdeltaprocessor"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func components() (all otelcol.Factories, err error) {
	all.Telemetry = otelconftelemetry.NewFactory()
	if all.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return all, err
	}
	if all.Processors, err = otelcol.MakeFactoryMap[processor.Factory](memorylimiterprocessor.NewFactory(), pprofdeltaprocessor.NewFactory()); err != nil {
		return all, err
	}
	if all.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](otlphttpexporter.NewFactory()); err != nil {
		return all, err
	}
	all.Extensions, err = otelcol.MakeFactoryMap[extension.Factory](filestorage.NewFactory())
	return all, err
}

func main() {
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		Factories: components,
		BuildInfo: component.BuildInfo{Command: "collector", Description: "A Collector with pprofdelta", Version: "0.1.0"},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
			DefaultScheme:     "env",
		}},
	})
	if err := command.Execute(); err != nil {
		os.Exit(1)
	}
}
