package pprofdelta

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// expectation is one of testdata/hostile/expected.json, which has what the command prints.
type expectation struct {
	File, Prev, Cur string
	With, Stderr    []string
	Exit            int
}

func expectations(t testing.TB) []expectation {
	t.Helper()
	var all []expectation
	if err := json.Unmarshal(read(t, "hostile/expected.json"), &all); err != nil || len(all) < 100 {
		t.Fatalf("%d expectations: %v", len(all), err)
	}
	return all
}

var position = regexp.MustCompile(` \(at byte (\d+) of the (compressed file|inflated profile)\)$`)

// TestHostileFilesAreRefused: what the command refuses is refused, with the same words and the same
// offset wherever the words are the library's. A computer is as before.
func TestHostileFilesAreRefused(t *testing.T) {
	limited := newPool(t, WithMaxMemory(1<<20))
	good := read(t, "hostile/good.pb")
	words := 0
	for _, want := range expectations(t) {
		if want.File == "" {
			continue
		}
		var opts []Option
		if len(want.With) > 0 {
			if want.With[0] != "--max-memory=1048576" {
				continue // an option of another verb
			}
			opts = append(opts, WithPool(limited))
		}
		profile := read(t, "hostile/"+want.File)
		_, err := Check(context.Background(), profile, opts...)
		if (err != nil) != (want.Exit != 0) {
			t.Errorf("%s: %v, and the command exits with %d", want.File, err, want.Exit)
		}
		if err == nil {
			continue
		}
		e, ok := err.(*Error)
		if !ok || e.Status == ErrEngine {
			t.Errorf("%s: %v", want.File, err)
			continue
		}
		if hasWords(t, want, e) {
			words++
		}
		c := newComputer(t, opts...)
		deltaOf(t, c, good)
		token := c.token
		if err := c.Delta(profile, io.Discard); err == nil || c.token != token {
			t.Errorf("%s: a delta: %v", want.File, err)
		}
	}
	if words < 150 {
		t.Errorf("only %d files are refused with the words of the command", words)
	}
}

// hasWords compares an error with what the command prints, where that names a byte.
func hasWords(t *testing.T, want expectation, e *Error) bool {
	t.Helper()
	said := strings.TrimPrefix(want.Stderr[0], "pprofdelta: "+want.File+": ")
	at := position.FindStringSubmatch(said)
	if at == nil {
		return false
	}
	said = strings.TrimSuffix(said, at[0])
	said = strings.ReplaceAll(said, "max_memory", "the pool's max memory")
	text := e.Text
	if e.Field != "" {
		text = e.place() + ": " + text
	}
	if strconv.FormatInt(e.Offset, 10) != at[1] {
		t.Errorf("%s: %v, and the command says byte %s", want.File, e, at[1])
	}
	if text != said && e.Reason != ReasonMaxMemory { // the limit is another one here
		t.Errorf("%s: %q, and the command says %q", want.File, text, said)
	}
	if (e.Stage == "inflate") != (at[2] == "compressed file") {
		t.Errorf("%s: stage %s", want.File, e.Stage)
	}
	return true
}

// TestHostilePairsAreRefused: two profiles that have no delta.
func TestHostilePairsAreRefused(t *testing.T) {
	pairs := 0
	for _, want := range expectations(t) {
		if want.Prev == "" || len(want.With) > 0 {
			continue
		}
		pairs++
		_, err := Compare(context.Background(), read(t, "hostile/"+want.Prev),
			read(t, "hostile/"+want.Cur), io.Discard)
		if (err != nil) != (want.Exit != 0) {
			t.Errorf("%s, %s: %v, and the command exits with %d", want.Prev, want.Cur, err, want.Exit)
		}
		if err != nil && !strings.Contains(fmt.Sprint(want.Stderr), textOf(err)) {
			t.Errorf("%s, %s: %v, and the command says %s", want.Prev, want.Cur, err, want.Stderr)
		}
	}
	if pairs == 0 {
		t.Error("expected.json has no pairs")
	}
}

func textOf(err error) string {
	if e, ok := err.(*Error); ok {
		return e.Text
	}
	return err.Error()
}
