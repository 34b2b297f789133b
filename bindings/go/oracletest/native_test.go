package oracletest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// command returns a call of the command that PPROFDELTA_COMMAND names.
func command(t *testing.T, args ...string) *exec.Cmd {
	name := os.Getenv("PPROFDELTA_COMMAND")
	if name == "" {
		t.Skip("PPROFDELTA_COMMAND does not name the command")
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "OTEL_SERVICE_NAME=", "OTEL_RESOURCE_ATTRIBUTES=")
	return cmd
}

// TestSameBytesAsTheCommand: what the C library writes as native code and what it writes here are the same bytes, before
// they are compressed; a state that one of them has saved is read by the other.
func TestSameBytesAsTheCommand(t *testing.T) {
	run := func(args ...string) []byte {
		return must(command(t, append([]string{"--compress=none", "-q"}, args...)...).Output())
	}
	plain := pprofdelta.WithCompression(pprofdelta.None)
	for _, kind := range pairs {
		names := [2]string{"valid/" + kind + ".1.pb.gz", "valid/" + kind + ".2.pb.gz"}
		files := [2]string{filepath.Join(proftest.Data, names[0]), filepath.Join(proftest.Data, names[1])}
		profiles := [2][]byte{proftest.File(names[0]), proftest.File(names[1])}
		compare := func(what string, want []byte, opts ...pprofdelta.Option) {
			var out bytes.Buffer
			must(pprofdelta.Compare(t.Context(), profiles[0], profiles[1], &out, append(opts, plain)...))
			if !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%s: %s: other bytes than the command", kind, what)
			}
		}
		compare("Compare", run(files[0], files[1]))
		for _, format := range []pprofdelta.Format{pprofdelta.OTLP, pprofdelta.OTLPParca, pprofdelta.OTLPPlain} {
			compare(format.String(), run("--format="+format.String(), "--resource=service.name=shop", "--resource=a=", files[0], files[1]),
				pprofdelta.WithFormat(format), pprofdelta.WithResource("service.name", "shop"), pprofdelta.WithResource("a", ""))
		}

		state, mine := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "mine")
		first := run("--state", state, files[0])
		other := newComputer(plain)
		must(0, other.Load(t.Context(), bytes.NewReader(must(os.ReadFile(state)))))
		c := newComputer(plain, pprofdelta.WithID(must(other.Describe(t.Context())).ID))
		if !bytes.Equal(deltaOf(c, profiles[0]), first) {
			t.Errorf("%s: first window: other bytes than the command", kind)
		}
		var saved bytes.Buffer
		must(0, c.Save(t.Context(), &saved))
		must(0, os.WriteFile(mine, saved.Bytes(), 0o600))
		second := deltaOf(c, profiles[1])
		for what, got := range map[string][]byte{"a state of the command": deltaOf(other, profiles[1]),
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
	const files = 2000
	random := rand.New(rand.NewPCG(7, 7))
	frame := must(zstd.NewWriter(nil)).EncodeAll(proftest.Inflate(proftest.File("valid/mutex.2.pb.gz")), nil)
	compressed := [][]byte{proftest.File("valid/heap.1.pb.gz"), frame, proftest.File("valid/block.1.pb.gz")}
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
		must(0, os.WriteFile(file, damaged, 0o600))
		args = append(args, file)
		if _, err := pprofdelta.Check(t.Context(), damaged); err != nil {
			answers[file] = err.(*pprofdelta.Error).Text
			if bytes.HasPrefix(damaged, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
				answers[file] = "zstd frame"
			}
		}
	}
	out, err := command(t, args...).CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) {
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
