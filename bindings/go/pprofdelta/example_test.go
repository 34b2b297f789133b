package pprofdelta_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// must ends the program if there is an error.
func must[T any](result T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return result
}

// look returns the nth profile of an example's target.
func look(n int) []byte {
	return must(os.ReadFile(fmt.Sprintf("../../../testdata/valid/heap.%d.pb.gz", n)))
}

// The deltas of a target, as with fastdelta.
func Example() {
	computer := must(pprofdelta.New())
	for n := 1; n <= 2; n++ {
		var delta bytes.Buffer
		if err := computer.Delta(look(n), &delta); err != nil {
			log.Fatal(err)
		}
		census := must(pprofdelta.Check(context.Background(), delta.Bytes()))
		fmt.Println("delta", census.Stamp.Sequence, "has", census.Samples, "samples")
	}
	// Output:
	// delta 1 has 156 samples
	// delta 2 has 348 samples
}

// An upload that may fail: the window is committed when it has arrived.
func ExampleComputer_Window() {
	upload := func(delta []byte, fails bool) error {
		if fails {
			return errors.New("the server is away")
		}
		return nil
	}
	computer := must(pprofdelta.New())
	scrape := func(profile []byte, fails bool) error {
		window, err := computer.Window(context.Background(), profile)
		if err != nil {
			return err
		}
		defer window.Abandon() // does nothing after Commit
		fmt.Println("window", window.Report.Sequence, "attempt", window.Report.Attempt)
		delta, err := window.Bytes()
		if err != nil {
			return err
		}
		if err := upload(delta, fails); err != nil {
			return err
		}
		return window.Commit()
	}
	fmt.Println(scrape(look(1), true))
	fmt.Println(scrape(look(1), false))
	fmt.Println(scrape(look(2), false))
	// Output:
	// window 1 attempt 1
	// the server is away
	// window 1 attempt 2
	// <nil>
	// window 2 attempt 1
	// <nil>
}

// The state goes from one process to the next.
func ExampleComputer_Save() {
	ctx := context.Background()
	computer, next := must(pprofdelta.New()), must(pprofdelta.New())
	if err := computer.Base(ctx, look(1)); err != nil {
		log.Fatal(err)
	}
	var state bytes.Buffer // in a file: write it beside the old one, sync it and rename it
	if err := computer.Save(ctx, &state); err != nil {
		log.Fatal(err)
	}

	if err := next.Load(ctx, &state); err != nil {
		log.Fatal(err)
	}
	window := must(next.Window(ctx, look(2)))
	defer window.Abandon()
	fmt.Println("window", window.Report.Sequence, "covers", window.Report.To.Sub(window.Report.From))
	// Output:
	// window 2 covers 5.023193959s
}

// The delta of two profiles that belong to no series.
func ExampleCompare() {
	var delta bytes.Buffer
	for _, t := range must(pprofdelta.Compare(context.Background(), look(1), look(2), &delta)).Types {
		if t.IsCounter {
			fmt.Println(t.Type, t.Delta, t.Unit)
		}
	}
	// Output:
	// alloc_objects 538039 count
	// alloc_space 59048135 bytes
}

// The windows of the own process.
func ExampleNewHeapProfiler() {
	profiler := must(pprofdelta.NewHeapProfiler())
	for range 2 {
		window := must(profiler.Window(context.Background()))
		if _, err := window.WriteTo(io.Discard); err != nil {
			window.Abandon() // the next window covers this one, too
			continue
		}
		window.Commit()
		fmt.Println("window", window.Report.Sequence)
	}
	// Output:
	// window 1
	// window 2
}
