// Orders is a little order service that keeps itself busy and looks at itself twice. The looks are
// the profiles in testdata/valid: heap, mutex and block, which count from the start of the process.
//
//	orders DIRECTORY      writes heap.1.pb.gz, heap.2.pb.gz, mutex.1.pb.gz ... to DIRECTORY
//
// What a delta of the two looks should find
//   - loadCatalogue and warmUp ran before the first look only: what they allocated is the largest
//     part of either look and no part of the delta (the catalogue stays in use, a gauge)
//   - parseOrder, priceBundle, renderInvoice and the session cache go on as before: the cache never
//     evicts, so it also grows in use
//   - importBatch and buildReport start after the first look: samples that are new
//   - refundOrder stops at the first look: samples that do not change
//
// service.go is the service, batch.go the work that comes and goes, cache.go a generic cache.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

const (
	warmUpTime  = 2 * time.Second
	betweenTime = 5 * time.Second
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: orders DIRECTORY")
		os.Exit(2)
	}
	// Everything is sampled finely: the run is short, and a small profile should still be rich.
	runtime.MemProfileRate = 512
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)

	s := newService(loadCatalogue(3000))
	warmUp(s)
	ctx, stop := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	for _, region := range []string{"eu", "us", "apac"} {
		start(&busy, ctx, "region", region, func(ctx context.Context) { s.serveRegion(ctx, region) })
	}
	for i := 0; i < 2; i++ {
		start(&busy, ctx, "role", "packer", s.packParcels)
	}
	refunds, stopRefunds := context.WithCancel(ctx)
	start(&busy, refunds, "role", "refunds", s.refundOrders)

	time.Sleep(warmUpTime)
	stopRefunds()
	look(os.Args[1], 1)
	start(&busy, ctx, "role", "import", s.importBatches)
	start(&busy, ctx, "role", "report", s.buildReports)
	time.Sleep(betweenTime)
	look(os.Args[1], 2)

	stop()
	busy.Wait()
}

// start runs work in a goroutine of its own, labelled for the profiles that carry labels.
func start(busy *sync.WaitGroup, ctx context.Context, key, value string, work func(context.Context)) {
	busy.Add(1)
	go func() {
		defer busy.Done()
		pprof.Do(ctx, pprof.Labels(key, value), work)
	}()
}

// look writes the three profiles as they stand. The collection first makes the heap profile
// complete: it tells what was live at the end of the last one.
func look(directory string, number int) {
	runtime.GC()
	for _, name := range []string{"heap", "mutex", "block"} {
		path := filepath.Join(directory, fmt.Sprintf("%s.%d.pb.gz", name, number))
		if err := writeProfile(path, name); err != nil {
			fmt.Fprintln(os.Stderr, "orders:", err)
			os.Exit(1)
		}
	}
}

func writeProfile(path, name string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.Lookup(name).WriteTo(file, 0); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
