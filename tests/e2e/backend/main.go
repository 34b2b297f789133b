// Backend is Pyroscope's server as far as a profile meets it: its own handlers take profiles at
// /ingest, its own storage keeps them, and its own query engine answers at /render. What is left out
// of the whole server are accounts, the web pages and the profiler of itself, which need no test here.
//
//	backend FOLDER   prints its address, keeps its data in FOLDER, serves until stdin ends
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/pyroscope-io/pyroscope/pkg/config"
	"github.com/pyroscope-io/pyroscope/pkg/exporter"
	"github.com/pyroscope-io/pyroscope/pkg/health"
	"github.com/pyroscope-io/pyroscope/pkg/history"
	"github.com/pyroscope-io/pyroscope/pkg/ingestion"
	"github.com/pyroscope-io/pyroscope/pkg/model"
	"github.com/pyroscope-io/pyroscope/pkg/model/appmetadata"
	"github.com/pyroscope-io/pyroscope/pkg/parser"
	"github.com/pyroscope-io/pyroscope/pkg/server"
	"github.com/pyroscope-io/pyroscope/pkg/server/httputils"
	"github.com/pyroscope-io/pyroscope/pkg/storage"
	"github.com/sirupsen/logrus"
)

// unwatched is what keeps no books: of applications, of requests, of annotations.
type unwatched struct{}

func (unwatched) CreateOrUpdate(context.Context, appmetadata.ApplicationMetadata) error { return nil }

func (unwatched) StatsInc(string) {}

func (unwatched) CreateAnnotation(context.Context, model.CreateAnnotation) (*model.Annotation, error) {
	return nil, errors.New("not kept here")
}

func (unwatched) FindAnnotationsByTimeRange(context.Context, string, time.Time, time.Time) ([]model.Annotation, error) {
	return nil, nil
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	log := logrus.StandardLogger()
	log.SetLevel(logrus.WarnLevel)
	kept, err := storage.New(storage.NewConfig(&config.Server{
		StoragePath: os.Args[1], BadgerLogLevel: "error", CacheEvictThreshold: 0.25,
		CacheEvictVolume: 0.33, MaxNodesSerialization: 1 << 20,
	}), log, prometheus.DefaultRegisterer, health.NewController(log, time.Minute), unwatched{})
	fail(err)
	metrics, err := exporter.NewExporter(nil, prometheus.NewRegistry())
	fail(err)

	answers := httputils.NewDefaultHelper(log)
	http.Handle("/ingest", server.NewIngestHandler(log, parser.New(log, kept, metrics),
		func(*ingestion.IngestInput) {}, answers))
	http.Handle("/render", server.NewRenderHandler(log, kept, http.Dir(os.Args[1]), unwatched{},
		1<<20, answers, &history.NoopManager{}, unwatched{}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	fmt.Println(listener.Addr())
	go http.Serve(listener, nil)
	io.Copy(io.Discard, os.Stdin)
	fail(kept.Close())
}
