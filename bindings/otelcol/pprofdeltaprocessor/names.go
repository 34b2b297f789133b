package pprofdeltaprocessor

import (
	"fmt"
	"math"
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
// "". A period type that is one of the above is a name, too.
func nameOf(d pprofile.ProfilesDictionary, e *entry, kind, period string) string {
	if given, has := e.resource.Resource().Attributes().Get(nameAttribute); has {
		return strings.ReplaceAll(given.AsString(), "\x00", "")
	}
	switch {
	case kind != "contentions" && kind != "delay":
		return ""
	case period == mutex || period == block:
		return period
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
	for _, line := range leaf(d, sample).Lines().All() {
		name := at(d.FunctionTable(), line.FunctionIndex(), pprofile.NewFunction).NameStrindex()
		if isUnlock(at(d.StringTable(), name, func() string { return "" })) {
			return true
		}
	}
	return false
}

// sourceOf says where a profile seems to be from, for who has mixed up two: the stack's end and the file of its largest
// sample, and what all samples have.
func sourceOf(d pprofile.ProfilesDictionary, profile pprofile.Profile) string {
	var largest pprofile.Sample
	most, sum := int64(math.MinInt64), int64(0)
	for _, sample := range profile.Samples().All() {
		counted := int64(0)
		for _, value := range sample.Values().All() {
			counted += value
		}
		if sum += counted; counted >= most {
			largest, most = sample, counted
		}
	}
	if profile.Samples().Len() == 0 {
		return "no samples"
	}
	word := func(i int32) string { return at(d.StringTable(), i, func() string { return "" }) }
	location := leaf(d, largest)
	name := fmt.Sprintf("%#x", location.Address())
	if location.Lines().Len() > 0 {
		name = word(at(d.FunctionTable(), location.Lines().At(0).FunctionIndex(), pprofile.NewFunction).NameStrindex())
	}
	return fmt.Sprintf("most in %s of %q, sum %d, samples %d", name,
		word(at(d.MappingTable(), location.MappingIndex(), pprofile.NewMapping).FilenameStrindex()), sum, profile.Samples().Len())
}

// leaf returns the place where the stack of a sample ends, which may be an empty one.
func leaf(d pprofile.ProfilesDictionary, sample pprofile.Sample) pprofile.Location {
	stack := at(d.StackTable(), sample.StackIndex(), pprofile.NewStack)
	if stack.LocationIndices().Len() == 0 {
		return pprofile.NewLocation()
	}
	return at(d.LocationTable(), stack.LocationIndices().At(0), pprofile.NewLocation)
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
