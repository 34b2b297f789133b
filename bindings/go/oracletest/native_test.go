package oracletest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// TestSameBytesAsTheCommand runs the command that PPROFDELTA_COMMAND names. What the C library writes as
// native code and what it writes here are the same bytes, before they are compressed; a state that one of
// them has saved is read by the other.
func TestSameBytesAsTheCommand(t *testing.T) {
	command := os.Getenv("PPROFDELTA_COMMAND")
	if command == "" {
		t.Skip("PPROFDELTA_COMMAND does not name the command")
	}
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(command, append([]string{"--compress=none", "-q"}, args...)...)
		cmd.Stderr = os.Stderr
		cmd.Env = append(os.Environ(), "OTEL_SERVICE_NAME=", "OTEL_RESOURCE_ATTRIBUTES=")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	ctx := context.Background()
	for _, kind := range pairs {
		files := [2]string{filepath.Join(testdata, "valid", kind+".1.pb.gz"),
			filepath.Join(testdata, "valid", kind+".2.pb.gz")}
		profiles := [2][]byte{read(t, "valid/"+kind+".1.pb.gz"), read(t, "valid/"+kind+".2.pb.gz")}
		var out bytes.Buffer
		if _, err := pprofdelta.Compare(ctx, profiles[0], profiles[1], &out, pprofdelta.WithCompression(pprofdelta.None)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), run(files[0], files[1])) {
			t.Errorf("%s: Compare: other bytes than the command", kind)
		}
		out.Reset()
		if _, err := pprofdelta.Compare(ctx, profiles[0], profiles[1], &out, pprofdelta.WithCompression(pprofdelta.None), pprofdelta.WithFormat(pprofdelta.OTLP),
			pprofdelta.WithResource("service.name", "shop"), pprofdelta.WithResource("a", "")); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), run("--format=otlp", "--resource=service.name=shop", "--resource=a=", files[0],
			files[1])) {
			t.Errorf("%s: OTLP: other bytes than the command", kind)
		}
		state := filepath.Join(t.TempDir(), "state")
		first := run("--state", state, files[0])
		saved, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		other := newComputer(t, pprofdelta.WithCompression(pprofdelta.None))
		if err := other.Load(ctx, bytes.NewReader(saved)); err != nil {
			t.Fatal(err)
		}
		memory, err := other.Describe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c := newComputer(t, pprofdelta.WithCompression(pprofdelta.None), pprofdelta.WithID(memory.ID))
		if !bytes.Equal(deltaOf(t, c, profiles[0]), first) {
			t.Errorf("%s: first window: other bytes than the command", kind)
		}
		out.Reset()
		if err := c.Save(ctx, &out); err != nil {
			t.Fatal(err)
		}
		mine := filepath.Join(t.TempDir(), "mine")
		if err := os.WriteFile(mine, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		second := deltaOf(t, c, profiles[1])
		for what, got := range map[string][]byte{"a state of the command": deltaOf(t, other, profiles[1]),
			"the command": run("--state", state, files[1]), "a state of a computer": run("--state", mine, files[1])} {
			if !bytes.Equal(got, second) {
				t.Errorf("%s: second window, %s: other bytes", kind, what)
			}
		}
	}
}

// TestSameAnswersToDamage: what is said of a damaged file is the same for the command and here; of a zstd frame, that
// it is damaged.
func TestSameAnswersToDamage(t *testing.T) {
	command := os.Getenv("PPROFDELTA_COMMAND")
	if command == "" {
		t.Skip("PPROFDELTA_COMMAND does not name the command")
	}
	const files = 2000
	random := rand.New(rand.NewPCG(7, 7))
	plain := plainOf(t, read(t, "valid/mutex.2.pb.gz"))
	compressed := [][]byte{read(t, "valid/heap.1.pb.gz"), zstdOf(t, plain), read(t, "valid/block.1.pb.gz")}
	folder := t.TempDir()
	args, answers := []string{"check", "-q"}, map[string]string{}
	for n := range files {
		damaged := bytes.Clone(compressed[n%len(compressed)])
		for range 1 + n%4 {
			damaged[8+random.IntN(len(damaged)-8)] ^= 1 << random.IntN(8)
		}
		if n%5 == 0 {
			damaged = damaged[:8+random.IntN(len(damaged)-8)]
		}
		file := filepath.Join(folder, strconv.Itoa(n))
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
		if _, err := pprofdelta.Check(context.Background(), damaged); err != nil {
			var e *pprofdelta.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			answers[file] = e.Text
			if bytes.HasPrefix(damaged, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
				answers[file] = "zstd frame"
			}
		}
	}
	out, err := exec.Command(command, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if file, text, ok := strings.Cut(strings.TrimPrefix(line, "pprofdelta: "), ": "); ok {
			said[file] = text
		}
	}
	for _, file := range args[2:] {
		if (said[file] == "") != (answers[file] == "") || !strings.Contains(said[file], answers[file]) {
			t.Errorf("%s: %q, and the command says %q", file, answers[file], said[file])
		}
	}
	if len(answers) < files/2 {
		t.Errorf("only %d files are refused", len(answers))
	}
}
