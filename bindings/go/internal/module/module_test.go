package module

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	begin    = regexp.MustCompile(`^func (?:\(m \*Module\) )?(\w+)\((.*?)\)(.*) \{`)
	direct   = regexp.MustCompile(`\b(?:m\.(\w+)|(fn\d+))\(`)
	indirect = regexp.MustCompile(`m\.t0\[[^\]]*\]\.\((func\(.*?\)(?: \w+)?)\)\(`)
	element  = regexp.MustCompile(`m\.(fn\d+)`)
)

// signature returns the type of a function without the names of its parameters, as the code for indirect calls has it.
func signature(parameters, result string) string {
	types, unnamed := []string{}, 0
	for p := range strings.SplitSeq(parameters, ", ") {
		unnamed++
		if _, kind, ok := strings.Cut(p, " "); ok {
			types = append(types, slices.Repeat([]string{kind}, unnamed)...)
			unnamed = 0
		}
	}
	return "func(" + strings.Join(types, ", ") + ")" + result
}

// TestRecursionIsBounded: a Go stack that overflows would end the process. So each function that may call itself, also
// through others, polls the host on its way, which ends calls that are too deep. An indirect call may call each
// function of its type.
func TestRecursionIsBounded(t *testing.T) {
	source, err := os.ReadFile("module.go")
	if err != nil {
		t.Fatal(err)
	}
	calls, types, polls := map[string][]string{}, map[string]string{}, map[string]bool{}
	var table []string
	dynamic := [][2]string{} // a function, and a type that it calls
	name := ""
	for line := range strings.Lines(string(source)) {
		if m := begin.FindStringSubmatch(line); m != nil {
			name = m[1]
			calls[name], types[name] = nil, signature(m[2], m[3])
			continue
		}
		if strings.Contains(line, "m.elements = ") {
			for _, m := range element.FindAllStringSubmatch(line, -1) {
				table = append(table, m[1])
			}
		} else if strings.Contains(line, "m._host.Xpoll()") {
			polls[name] = true
		}
		for _, m := range direct.FindAllStringSubmatch(line, -1) {
			calls[name] = append(calls[name], m[1]+m[2])
		}
		for _, m := range indirect.FindAllStringSubmatch(line, -1) {
			dynamic = append(dynamic, [2]string{name, m[1]})
		}
	}
	for _, d := range dynamic {
		for _, f := range table {
			if types[f] == d[1] {
				calls[d[0]] = append(calls[d[0]], f)
			}
		}
	}
	if len(dynamic) != strings.Count(string(source), "m.t0[") || len(table) < 10 || len(polls) < 100 {
		t.Fatalf("%d functions, %d indirect calls: the code has another form", len(calls), len(dynamic))
	}
	var path []string
	done := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if polls[name] || done[name] {
			return
		}
		if at := slices.Index(path, name); at >= 0 {
			t.Errorf("recursive: %v", path[at:])
			return
		}
		path = append(path, name)
		for _, other := range calls[name] {
			visit(other)
		}
		path = path[:len(path)-1]
		done[name] = true
	}
	for name := range calls {
		visit(name)
	}
}
