package pprofdeltaprocessor

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

func contention(kind string, time int64, values map[string]int64) source {
	unit := map[string]string{"contentions": "count", "delay": "nanoseconds"}[kind]
	return source{resource: "service.name=s", kind: kind, unit: unit, time: time, values: maps.Clone(values)}
}

// periods is the sum of what each request says, by period type and type.
func periods(sums map[string]int64, request pprofile.Profiles) {
	for _, resource := range request.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, one := range scope.Profiles().All() {
				for _, sample := range one.Samples().All() {
					sums[text(request, one.PeriodType().TypeStrindex())+" "+text(request, one.SampleType().TypeStrindex())] += sample.Values().At(0)
				}
			}
		}
	}
}

// Mutexes and blocked goroutines of one resource and scope are two series, in any order, with profiles that have nothing
// in them in between, with failures and restarts, alone in a request or together.
func TestMutexAndBlockAreToldApart(t *testing.T) {
	for _, joined := range []bool{false, true} {
		for _, first := range []string{firstFull, firstZero} {
			t.Run(fmt.Sprint(first, joined), func(t *testing.T) {
				b := newBench(t, func(c *Config) { c.First = first })
				sums := map[string]int64{}
				unlock, wait := map[string]int64{}, map[string]int64{}
				sendAll := func(all ...source) {
					if joined {
						b.sends(all...)
						return
					}
					for _, one := range all {
						if err := b.send(one); err != nil && !errors.Is(err, busy) {
							t.Fatal(err)
						}
					}
				}
				for round := int64(1); round <= 12; round++ {
					refuses := round%4 == 3
					b.fails = func(in pprofile.Profiles) error {
						if refuses && !joined {
							return busy
						}
						periods(sums, in)
						return nil
					}
					if round > 2 { // contention begins late
						unlock["sync.(*Mutex).Unlock;main.a"] += round
						unlock["sync.(*RWMutex).RUnlock;main.Unlock"] += 2
						unlock["runtime.unlock;main.a"]++
						unlock["runtime._LostContendedRuntimeLock"]++
					}
					if round > 4 {
						wait["sync.(*Mutex).Lock;main.a"] += 1000 * round
						wait["main.(*Remote).Unlock;sync.(*Once).Do;main.a"] += 1000 // waits in a function of that name
					}
					if round == 7 {
						b.begin(func(c *Config) { c.First = first })
					}
					var all []source
					for _, kind := range []string{"contentions", "delay"} {
						all = append(all, contention(kind, 10*round, unlock), contention(kind, 10*round+1, wait))
					}
					if round%2 == 0 {
						all[0], all[1], all[2], all[3] = all[3], all[0], all[1], all[2]
					}
					sendAll(all...)
				}
				total := func(of map[string]int64, begin int64) (sum int64) {
					for _, n := range of {
						sum += n
					}
					return sum - begin
				}
				want := map[string]int64{"mutex contentions": total(unlock, 0), "block contentions": total(wait, 0)}
				if first == firstZero { // what the first profile had
					want = map[string]int64{"mutex contentions": total(unlock, 3+2+1+1), "block contentions": total(wait, 5000+1000)}
				}
				want["mutex delay"], want["block delay"] = want["mutex contentions"], want["block contentions"]
				equal(t, "sums", sums, want)
				equal(t, "targets", b.metric("targets", ""), 4)
				equal(t, "restarts", b.metric("restarts", ""), 0)
				equal(t, "refused", b.metric("refused", ""), 0)
			})
		}
	}
}

func TestWhereMutexesEnd(t *testing.T) {
	for name, want := range map[string]bool{"sync.(*Mutex).Unlock": true, "sync.(*RWMutex).Unlock": true, "sync.(*RWMutex).RUnlock": true,
		"internal/sync.(*Mutex).Unlock": true, "runtime.unlock": true, "runtime._LostContendedRuntimeLock": true, "sync.(*Mutex).Lock": false,
		"main.(*Remote).Unlock": false, "example.com/sync.(*Mutex).Unlock": false, "sync.example.com/a.(*B).Unlock": false, "runtime.chanrecv1": false,
		"internal/poll.(*fdMutex).rwlock": false, "": false} {
		equal(t, name, isUnlock(name), want)
	}
	// pprofreceiver sorts the lines of a place by their numbers, so the innermost function may be the last.
	request := requestOf(contention("delay", 1, map[string]int64{"sync.(*Mutex).Unlock;main.a": 1}))
	d := request.Dictionary()
	lines := d.LocationTable().At(1).Lines()
	lines.At(0).CopyTo(lines.AppendEmpty())
	lines.At(0).SetFunctionIndex(d.LocationTable().At(2).Lines().At(0).FunctionIndex())
	equal(t, "sorted lines", endsInUnlock(d, request.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0)), true)
}

// Two kinds whose period type or scope differs are told apart, whatever is in them.
func TestPeriodTypeAndScopeTell(t *testing.T) {
	for what, change := range map[string]func(*source, string){
		"period type": func(s *source, name string) { s.period = name },
		"scope":       func(s *source, name string) { s.scope = name },
		"named":       func(s *source, name string) { s.period = map[string]string{"a": mutex, "b": block}[name] },
	} {
		b := newBench(t, nil)
		sum := int64(0)
		b.fails = func(in pprofile.Profiles) error {
			sums := map[string]int64{}
			periods(sums, in)
			for _, n := range sums {
				sum += n
			}
			return nil
		}
		for round := int64(1); round <= 8; round++ {
			for at, name := range []string{"a", "b"} {
				one := contention("delay", 2*round+int64(at), map[string]int64{"wait;main." + name: 100*int64(at) + round})
				if round == 1 && what == "named" {
					one.values = nil // of which kind it is does not depend on what is in it
				}
				change(&one, name)
				b.sends(one)
			}
		}
		equal(t, what, sum, 8+108)
		equal(t, what+": restarts", b.metric("restarts", ""), 0)
		equal(t, what+": targets", b.metric("targets", ""), 2)
	}
}

// Profiles of two sources that nothing tells apart are told of once, with both; a restart now and then is not.
func TestTwoSourcesOfOneTarget(t *testing.T) {
	a, b := map[string]int64{"_wait;main": 1000}, map[string]int64{"lockOf;work": 10}
	for what, one := range map[string]struct {
		order string
		want  int
	}{"in turns": {"abababababab", 1}, "in twos": {"aabbaabbaabb", 1}, "a restart now and then": {"aaaaaabbbbbbaaaaaaabbbbbbb", 0}} {
		bench := newBench(t, nil)
		for at, which := range one.order {
			values := map[rune]map[string]int64{'a': a, 'b': b}[which]
			for name := range values {
				values[name]++
			}
			next := contention("delay", int64(at+1), values)
			next.resource = "host.name=h"
			bench.sends(next)
		}
		said := bench.logged.FilterMessageSnippet("a target restarts again and again").All()
		equal(t, what, len(said), one.want)
		if one.want > 0 {
			both := fmt.Sprint(said[0].ContextMap()["one"], said[0].ContextMap()["other"])
			for _, name := range []string{"most in _wait of ", "most in lockOf of ", "samples 1"} {
				if !strings.Contains(both, name) {
					t.Errorf("%s: %q is not in %q", what, name, both)
				}
			}
		}
	}
	// Indices that no table has.
	request := requestOf(contention("delay", 1, map[string]int64{"a": 1}))
	request.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0).SetStackIndex(99)
	sourceOf(request.Dictionary(), request.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0))
}

// A resource that has a name is of that name, also if nothing is in a profile of it, or its stacks end elsewhere.
func TestNamedResource(t *testing.T) {
	b := newBench(t, nil)
	sums := map[string]int64{}
	b.fails = func(in pprofile.Profiles) error { periods(sums, in); return nil }
	for at, values := range []map[string]int64{{"a": 5}, {}, {"sync.(*Mutex).Unlock": 7}} {
		one := contention("delay", int64(at+1), values)
		one.resource += " profile.name=waits"
		b.sends(one)
	}
	equal(t, "sums", sums, map[string]int64{"waits delay": 5 + 7})
	equal(t, "targets", b.metric("targets", ""), 1)
	equal(t, "restarts", b.metric("restarts", ""), 1)
}

// Newer receivers have the default sample type of allocs in the scope. Without it, heap and allocs are one series, in which nothing counts twice.
func TestHeapAndAllocs(t *testing.T) {
	for _, isTold := range []bool{true, false} {
		b := newBench(t, nil)
		for round := int64(1); round <= 5; round++ {
			for at := range 2 {
				request := requestOf(heap("r=1", 10*round+int64(at), 10*round+int64(at)))
				if isTold && at == 1 {
					request.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Attributes().PutStr("pprof.scope.default_sample_type", "alloc_space")
				}
				must(0, b.deltas.ConsumeProfiles(t.Context(), request))
			}
		}
		want, targets := int64(51+2*51), 1
		if isTold {
			want, targets = want+50+2*50, 2
		}
		sum := int64(0)
		for stack, n := range b.sums["map[r:1] resource-schema test alloc_space/bytes"] {
			if strings.Contains(stack, "alloc") {
				sum += n
			}
		}
		equal(t, "sum", sum, want)
		equal(t, "targets", b.metric("targets", ""), targets)
		equal(t, "restarts", b.metric("restarts", ""), 0)
	}
}

// Indices that no table has are no reason to fail before the profile is refused.
func TestDamagedLeaf(t *testing.T) {
	for what, damage := range map[string]func(pprofile.Profiles){
		"stack": func(in pprofile.Profiles) {
			in.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0).SetStackIndex(99)
		},
		"location": func(in pprofile.Profiles) { in.Dictionary().StackTable().At(1).LocationIndices().SetAt(0, -1) },
		"function": func(in pprofile.Profiles) { in.Dictionary().LocationTable().At(1).Lines().At(0).SetFunctionIndex(99) },
		"name":     func(in pprofile.Profiles) { in.Dictionary().FunctionTable().At(1).SetNameStrindex(-5) },
	} {
		b := newBench(t, nil)
		request := requestOf(contention("delay", 1, map[string]int64{"a": 1}))
		damage(request)
		must(0, b.deltas.ConsumeProfiles(t.Context(), request))
		equal(t, what, b.metric("refused", ""), 1)
	}
}

// Versions of pprofreceiver number the comments.
func TestNumberedComments(t *testing.T) {
	b := newBench(t, nil)
	one := heap("r=1", 1, 1)
	one.comment = "pprofdelta: delta from=1 to=2"
	request := requestOf(one)
	texts := request.Dictionary().StringTable()
	for at, is := range texts.All() {
		if is == "pprof.profile.comment" {
			texts.SetAt(at, is+".0")
		}
	}
	must(0, b.deltas.ConsumeProfiles(t.Context(), request))
	equal(t, "passed", b.metric("passed", ""), 1)
}
