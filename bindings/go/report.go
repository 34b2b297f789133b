package pprofdelta

import (
	"math/big"
	"time"
)

// Int128 is a sum of 64-bit values in two's complement. It never overflows.
type Int128 struct {
	Hi int64
	Lo uint64
}

// Big returns the value as a big.Int.
func (v Int128) Big() *big.Int {
	sum := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
	return sum.Add(sum, new(big.Int).SetUint64(v.Lo))
}

// Int64 returns the value, and whether it fits.
func (v Int128) Int64() (int64, bool) {
	low := int64(v.Lo)
	return low, v.Hi == low>>63
}

// String returns the value in decimal.
func (v Int128) String() string { return v.Big().String() }

// TypeReport has the sums of one type over all samples. For a counter,
// Prev + Delta - Clamped - Vanished = Cur. For a gauge, only Cur and Delta are set.
type TypeReport struct {
	Type, Unit string
	IsCounter  bool
	Prev       Int128 // what the computer remembered
	Cur        Int128 // the input
	Delta      Int128 // the output
	Clamped    Int128 // how far counters of cur are below what was remembered
	Vanished   Int128 // samples that were remembered and that cur does not have
}

// Restart says why a window counts as a restart of the target.
type Restart int32

// The kinds of restarts.
const (
	RestartNone    Restart = iota // no restart
	RestartStarted                // the target began after prev's time (see Computer.SetStarted)
	RestartBuildID                // the main mapping has another build id
	RestartMass                   // half of a counter, or more, went away
	RestartAny                    // a decrease, with ResetRestart
	RestartLive                   // a live heap's stamp has another id, or begins after prev's end
)

// Report is what a window found.
type Report struct {
	SamplesIn     uint64 // sample records in cur
	SamplesOut    uint64 // sample records written
	Matched       uint64 // distinct samples of cur that were remembered
	Fresh         uint64 // distinct samples of cur that were not
	Vanished      uint64 // remembered samples that cur does not have
	Clamped       uint64 // distinct samples with a counter below the remembered one
	Duplicates    uint64 // records of cur that were added to an earlier equal one
	ByAddress     uint64 // locations of cur that are identified by their address
	ByLines       uint64 // locations of cur that are identified by their lines
	FilesReplaced uint64 // mappings of cur whose file was replaced since prev, in the same process
	OtherBuild    bool   // likewise: the main mapping has another build id than in prev
	UnknownFields uint64 // fields of cur that profile.proto does not have; they are skipped
	HadBase       bool   // false: the computer was empty (see FirstZero)
	Restart       Restart
	From          time.Time // prev's time; zero if unknown, or if the window begins with the process
	To            time.Time // cur's time; zero if unknown
	Sequence      uint64    // 1 for the first window, 2 for the first after a base
	Attempt       uint64    // 1 for the first delta of this sequence, and 1 more for each further one
	OutputLen     uint64    // bytes of the delta before it is compressed
	Types         []TypeReport
	IsSame        bool   // cur is the same profile as prev
	MayBeWindow   bool   // the durations do not show that both profiles are cumulative
	ClockSetBack  bool   // cur's time is before that of the profile before it, and cur is later
	ID            uint64 // of the series of windows, as in the stamp; 0 without a sequence
}

// Memory is what a computer remembers.
type Memory struct {
	HasBase  bool      // false: nothing, or only attempts at the first window
	Sequence uint64    // of the last committed window, or 1 after a base
	Attempts uint64    // deltas of the window that is open; 0: none is
	Samples  uint64    // distinct samples, with those of the open window
	Unseen   uint64    // those of them that the last profile did not have
	From, To time.Time // of the last committed window
	Restart  Restart   // of the last committed window
	BuildID  string    // of the target's main mapping
	// Types has the counters first. Only Prev of the sums is set.
	Types []TypeReport
	// The open window, whose last attempt was not committed; zero if none is open.
	OpenSequence     uint64
	OpenFrom, OpenTo time.Time
	OpenRestart      Restart
	ID               uint64 // of the series of windows; set without a base, too
}

// Live is the kind of a live heap's profile (see pprofdelta_heap(3)).
type Live int32

// The kinds of profiles of a live heap.
const (
	LiveNone   Live = iota
	LiveFull        // everything since the tracker began
	LiveDelta       // what was allocated, and the change of what is in use
	LiveWindow      // what was allocated, and all that is in use
)

// Stamp is the stamp of a profile that pprofdelta wrote.
type Stamp struct {
	IsDelta  bool // false: only To and the members of a live heap are set
	From, To time.Time
	Sequence uint64 // 0: none, as in a delta of two files
	Restart  Restart
	Live     Live
	ID       uint64 // of the tracker or of the series of windows; 0: none
	Epoch    uint64 // of the full batch that this batch continues
	First    uint64 // this is the sum of the batches First to Sequence
	Attempt  uint64 // at this sequence, from 1; 0: none
	Acked    uint64 // the sequence that was committed last before it
}

// Census is what [Check] found in a valid profile.
type Census struct {
	Format        string // "gzip", "zstd", "plain", or "text" for a text heap profile
	InflatedLen   uint64
	Types         uint64
	Samples       uint64
	Mappings      uint64
	Locations     uint64
	Functions     uint64
	Strings       uint64
	ByAddress     uint64
	ByLines       uint64
	UnknownFields uint64
	Time          time.Time // zero if unknown
	Duration      time.Duration
	IsStamped     bool // a delta that pprofdelta wrote
	Stamp         Stamp
	Binary        string // the file of the first mapping, which is the main binary
	BuildID       string // of the first mapping
}

// Joint says how a profile joined a sum.
type Joint int32

// The ways in which a profile joins a sum.
const (
	JointFirst   Joint = iota // it is the first
	JointNext                 // it begins where the last one ends
	JointRestart              // the same, in a new process: the sum is of both
	JointAgain                // it is a later attempt at the last window, and replaces it
	JointStale                // it is an earlier attempt at the last window, and does not count
	JointUntimed              // neither has a time: a missing window cannot be noticed
	JointForced               // it does not join (Force)
	JointResync               // a live heap's full profile, which includes all before it
	JointGap                  // batches of a live heap are missing before it: it does not count
	JointEnded                // a window that a restart ended is missing before it: it was never acknowledged
	JointEqual                // it has the sequence and the attempt of the last window: it does not count
)

// timeOf converts nanoseconds since 1970; 0 is unknown.
func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}
