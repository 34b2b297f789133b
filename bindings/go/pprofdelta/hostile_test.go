package pprofdelta

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

// expectation is one of testdata/hostile/expected.json, which has what the command prints.
type expectation struct {
	File, Prev, Cur string
	With, Stderr    []string
	Exit            int
}

func expectations() (all []expectation) {
	must(0, json.Unmarshal(read("hostile/expected.json"), &all))
	return all
}

var position = regexp.MustCompile(` \(at byte (\d+) of the (compressed file|uncompressed file)\)$`)

// TestHostileFilesAreRefused: what the command refuses is refused, with the same words and the same
// offset wherever the words are the library's. A computer is as before.
func TestHostileFilesAreRefused(t *testing.T) {
	limited := newPool(t, WithMaxMemory(1<<20))
	good, words := read("hostile/good.pb"), 0
	for _, want := range expectations() {
		var opts []Option
		if len(want.With) > 0 {
			opts = append(opts, WithPool(limited))
		}
		if want.File == "" || len(want.With) > 0 && want.With[0] != "--max-memory=1048576" {
			continue // an option of another verb
		}
		profile := read("hostile/" + want.File)
		err := errorOf(Check(t.Context(), profile, opts...))
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
		c := newComputer(opts...)
		deltaOf(c, good)
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
	at := position.FindStringSubmatch(want.Stderr[0])
	if at == nil {
		return false
	}
	said := strings.ReplaceAll(strings.TrimSuffix(want.Stderr[0], at[0]), "max_memory", "the pool's max memory")
	text := "pprofdelta: " + want.File + ": "
	if e.Field != "" {
		text += e.place() + ": "
	}
	if text += e.Text; text != said && e.Reason != ReasonMaxMemory { // the limit is another one here
		t.Errorf("%q, and the command says %q", text, said)
	}
	if fmt.Sprint(e.Offset) != at[1] || (e.Stage == StageInflate) != (at[2] == "compressed file") {
		t.Errorf("%s: %v in stage %s, and the command says%s", want.File, e, e.Stage, at[0])
	}
	return true
}

// TestHostilePairsAreRefused: two profiles that have no delta.
func TestHostilePairsAreRefused(t *testing.T) {
	pairs := 0
	for _, want := range expectations() {
		if want.Prev == "" || len(want.With) > 0 {
			continue
		}
		pairs++
		err := errorOf(Compare(t.Context(), read("hostile/"+want.Prev), read("hostile/"+want.Cur), io.Discard))
		e, isOurs := err.(*Error)
		if (err != nil) != (want.Exit != 0) || isOurs && !strings.Contains(fmt.Sprint(want.Stderr), e.Text) || err != nil && !isOurs {
			t.Errorf("%s, %s: %v, and the command exits with %d and says %s", want.Prev, want.Cur, err, want.Exit, want.Stderr)
		}
	}
	if pairs == 0 {
		t.Error("expected.json has no pairs")
	}
}
