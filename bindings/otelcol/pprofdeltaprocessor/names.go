package pprofdeltaprocessor

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Go's profiles of mutexes and of blocked goroutines have the same types, period and comments, and a receiver of pprof
// does not say where it has a profile from. But they differ in the functions that their stacks end in: in a profile of
// mutexes, a lock is given back there, and in the other one a goroutine waits. A process never forgets a stack, so a
// profile that has one of the former has it in every later scrape, too.
//
// The other two, heap and allocs, differ in the default sample type: only allocs names one. Newer receivers have it in
// the scope, and so it is in the key. Without it, they are the same counters of the same process: one series, in which
// nothing counts twice.

// nameAttribute is the attribute of a resource that names its profiles. What somebody has named is not guessed.
const nameAttribute = "profile.name"

const (
	mutex   = "mutex"
	block   = "block"
	nothing = "\x00" // no sample: it may be of either, and there is nothing to subtract. Nobody gives this name
)

// nameOf returns the name of a cumulative profile: the one that was given, one of the above if the type has several, or
// "".
func nameOf(d pprofile.ProfilesDictionary, e *entry, kind string) string {
	if given, has := e.resource.Resource().Attributes().Get(nameAttribute); has {
		return strings.ReplaceAll(given.AsString(), "\x00", "")
	}
	switch {
	case kind != "contentions" && kind != "delay":
		return ""
	case e.profile.Samples().Len() == 0:
		return nothing
	}
	for _, sample := range e.profile.Samples().All() {
		if endsInUnlock(d, sample) {
			return mutex
		}
	}
	return block
}

// isUnlock returns whether the stacks of mutexes end in this function: sync.(*Mutex).Unlock, sync.(*RWMutex).RUnlock,
// runtime.unlock and their like, and the place of locks of the runtime whose stack is not known. No goroutine waits in
// one of these, as it may in a function of the program that is called Unlock.
func isUnlock(name string) bool {
	name = strings.TrimPrefix(name, "internal/")
	return (strings.HasPrefix(name, "sync.") || strings.HasPrefix(name, "runtime.")) && !strings.Contains(name, "/") &&
		(strings.HasSuffix(name, "nlock") || name == "runtime._LostContendedRuntimeLock")
}

// endsInUnlock returns whether a lock is given back where the stack of a sample ends. All lines count that the compiler
// has made one place of, because pprofreceiver sorts them by their numbers.
func endsInUnlock(d pprofile.ProfilesDictionary, sample pprofile.Sample) bool {
	stack := at(d.StackTable(), sample.StackIndex(), pprofile.NewStack)
	if stack.LocationIndices().Len() == 0 {
		return false
	}
	location := at(d.LocationTable(), stack.LocationIndices().At(0), pprofile.NewLocation)
	for _, line := range location.Lines().All() {
		name := at(d.FunctionTable(), line.FunctionIndex(), pprofile.NewFunction).NameStrindex()
		if isUnlock(at(d.StringTable(), name, func() string { return "" })) {
			return true
		}
	}
	return false
}

// at returns the entry of a table, or an empty one if the table has none with this index.
func at[T any](table interface {
	Len() int
	At(int) T
}, i int32, empty func() T) T {
	if i < 0 || int(i) >= table.Len() {
		return empty()
	}
	return table.At(int(i))
}
