package pprofdelta

import (
	"fmt"
	"os"
	"testing"

	"github.com/tetratelabs/wazero"
)

// TestMain keeps the machine code of the module in PPROFDELTA_TEST_CACHE, for test programs that would
// take a minute to compile it, because the race detector watches wazero's compiler, too.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PPROFDELTA_TEST_CACHE"); dir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		compiled = func() wazero.CompilationCache { return cache }
	}
	os.Exit(m.Run())
}
