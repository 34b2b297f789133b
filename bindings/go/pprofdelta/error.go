package pprofdelta

import (
	"fmt"
	"strings"
)

// Status is the kind of an [Error]. The values 1 to 14 are those of pprofdelta_status in
// pprofdelta_common.h. Each is an error, so that errors.Is(err, pprofdelta.ErrStamped) works.
type Status int32

// The kinds of errors.
const (
	// ErrMemory: there is no memory for the call.
	ErrMemory Status = 1
	// ErrLimit: more than [WithMaxMemory] allows, or a count that overflows.
	ErrLimit Status = 2
	// ErrInflate: compressed input is damaged, truncated, or followed by other bytes.
	ErrInflate Status = 3
	// ErrWire: the input is not well-formed protobuf.
	ErrWire Status = 4
	// ErrProfile: the input is protobuf, but not a valid profile.
	ErrProfile Status = 5
	// ErrMismatch: valid profiles that have no delta: their types or their order differ, or no type
	// is a counter.
	ErrMismatch Status = 6
	// ErrStamped: the input is itself a delta (see [WithForce]).
	ErrStamped Status = 7
	// ErrReset: a counter went backwards, and the option is [ResetFail].
	ErrReset Status = 8
	// ErrVerify: the conservation law does not hold (see [WithVerify]). This is a bug in the library.
	ErrVerify Status = 9
	// ErrSink: the writer failed. The error also wraps the writer's error.
	ErrSink Status = 10
	// ErrUsage: an invalid argument, or a call that is not allowed at this point.
	ErrUsage Status = 11
	// ErrState: not a state, a damaged state, or a state of another version.
	ErrState Status = 12
	// ErrSource: the reader failed. The error also wraps the reader's error.
	ErrSource Status = 13
	// ErrNotCumulative: the input is not cumulative: its times show that it is a window, or its types
	// show that it is a CPU profile, a goroutine profile or the like (see [WithForce]).
	ErrNotCumulative Status = 14
	// ErrOlder: the profile is older than the one before it in the series: no counter has grown, and
	// some have fallen or are missing.
	ErrOlder Status = 15
	// ErrOtherTarget: the profiles are of two services (see [WithForce]).
	ErrOtherTarget Status = 16

	// ErrEngine: the engine did not finish the call, for example because of a trap. The instance was
	// dropped; the computer is as it was before.
	ErrEngine Status = -1
	// ErrClosed: the pool is closed.
	ErrClosed Status = -2
	// ErrPending: the last window is pending. Commit or abandon it first; [Computer.Abandon] ends it, too.
	ErrPending Status = -3
	// ErrAbandoned: the window was abandoned, so it cannot be committed.
	ErrAbandoned Status = -4
)

// Reason is why a call failed, where a [Status] has several reasons that a caller may handle
// differently. The values are those of pprofdelta_reason in pprofdelta_common.h.
type Reason int32

// The reasons, by the status that they belong to.
const (
	// ReasonNone: there is no more to know than the status.
	ReasonNone Reason = 0
	// ReasonMaxMemory (ErrLimit): a higher [WithMaxMemory] may be enough.
	ReasonMaxMemory Reason = 1
	// ReasonAddressSpace (ErrLimit): more than a 32-bit process, or the module, has room for.
	ReasonAddressSpace Reason = 2
	// ReasonIsState (ErrProfile): the input is a state.
	ReasonIsState Reason = 3
	// ReasonSeveral (ErrProfile): an OTLP request has profiles of several resources, scopes or times.
	ReasonSeveral Reason = 4
	// ReasonIsWindow (ErrNotCumulative): the times of the input show that it is a window.
	ReasonIsWindow Reason = 5
	// ReasonSwapped (ErrMismatch): cur is older than prev.
	ReasonSwapped Reason = 6
	// ReasonNoCounter (ErrMismatch): no value type is known as a counter.
	ReasonNoCounter Reason = 7
	// ReasonOtherTypes (ErrMismatch): the value types differ.
	ReasonOtherTypes Reason = 8
	// ReasonOtherOptions (ErrMismatch): the counters and gauges are not those of the state.
	ReasonOtherOptions Reason = 9
	// ReasonWindowMissing (ErrMismatch of a sum): windows or batches are missing between the two.
	ReasonWindowMissing Reason = 10
	// ReasonWindowLate (ErrMismatch of a sum): the window or batch comes before one that was added already.
	ReasonWindowLate Reason = 11
	// ReasonNotAState (ErrState): the bytes are something else.
	ReasonNotAState Reason = 12
	// ReasonNewerState (ErrState): a newer version of the library wrote the state.
	ReasonNewerState Reason = 13
	// ReasonTwoTargets (ErrMismatch of a sum): the two are of two states or processes.
	ReasonTwoTargets Reason = 14
	// ReasonNoTarget (ErrMismatch of a merge): no stamp names the target and the window. Of a sum or a merge: the
	// profile is a merge.
	ReasonNoTarget Reason = 15
)

var statusTexts = map[Status]string{
	ErrMemory:        "not enough memory",
	ErrLimit:         "more memory than the limit allows",
	ErrInflate:       "the compressed input is damaged",
	ErrWire:          "not well-formed protobuf",
	ErrProfile:       "not a valid profile",
	ErrMismatch:      "the profiles have no delta",
	ErrStamped:       "the profile is a delta already",
	ErrReset:         "a counter went backwards",
	ErrVerify:        "the conservation law does not hold",
	ErrSink:          "the writer failed",
	ErrUsage:         "wrong usage",
	ErrState:         "not a valid state",
	ErrSource:        "the reader failed",
	ErrNotCumulative: "the profile is not cumulative",
	ErrOlder:         "the profile is older than the last one",
	ErrOtherTarget:   "the profiles are of two services",
	ErrEngine:        "the engine failed",
	ErrClosed:        "the pool is closed",
	ErrPending:       "a window is pending",
	ErrAbandoned:     "the window was abandoned",
}

// Error returns a few words.
func (s Status) Error() string { return "pprofdelta: " + s.String() }

// String returns them without the name of the package.
func (s Status) String() string {
	if text, ok := statusTexts[s]; ok {
		return text
	}
	return fmt.Sprintf("Status(%d)", int32(s))
}

// String returns the reason as it is in its name.
func (r Reason) String() string {
	return nameOf(r, "Reason", "none", "max memory", "address space", "is a state", "is OTLP", "is a window", "swapped",
		"no counter", "other types", "other options", "window missing", "batch late", "not a state", "newer state")
}

// Stage is the part of the work in which an [Error] occurred.
type Stage string

// The stages of this package.
const (
	StageOptions Stage = "options" // arguments and calls
	StageMemory  Stage = "memory"  // reading, and memory for the call
	StageInflate Stage = "inflate"
	StageWire    Stage = "wire"    // protobuf
	StageProfile Stage = "profile" // the fields of a profile
	StageDelta   Stage = "delta"   // the subtraction
	StageWrite   Stage = "write"   // the writer
	StageState   Stage = "state"
	StageSum     Stage = "sum"
	StageOTLP    Stage = "otlp"
	StageEngine  Stage = "engine"
)

// Nowhere is the Element and the Offset of an [Error] without such a position.
const Nowhere = -1

// Error says what failed, and where. All errors of this package are of this type, except those of a
// context.Context. errors.Is compares the Status.
type Error struct {
	Status Status
	// Reason is why, where the status has several reasons.
	Reason Reason
	// Stage is where it occurred.
	Stage Stage
	// Field is the field of the profile, such as "sample.location_id", or empty.
	Field string
	// Element is the index, from 0, of the element of the first part of Field (12 for
	// sample[12].location_id), or Nowhere.
	Element int64
	// Offset is a byte offset, or Nowhere. In [StageInflate], it is in the compressed input; in
	// [StageState], in the state; in later stages, in the inflated input.
	Offset int64
	// IsPrev is true if the error is in the prev of [Compare].
	IsPrev bool
	// Text is a sentence without the position.
	Text string
	// Err is the cause, if there is one: the error of an io.Reader or an io.Writer, or a trap.
	Err error
}

// Error returns the text and the position.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("pprofdelta: ")
	if e.IsPrev {
		b.WriteString("prev: ")
	}
	if e.Field != "" {
		b.WriteString(e.place())
		b.WriteString(": ")
	}
	b.WriteString(e.Text)
	if e.Text == "" {
		b.WriteString(e.Status.String())
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	if e.Offset != Nowhere {
		fmt.Fprintf(&b, " (%s, byte %d)", e.Stage, e.Offset)
	}
	return b.String()
}

// place returns the field with its element: sample[12].location_id.
func (e *Error) place() string {
	if e.Element == Nowhere {
		return e.Field
	}
	first, rest, ok := strings.Cut(e.Field, ".")
	place := fmt.Sprintf("%s[%d]", first, e.Element)
	if ok {
		place += "." + rest
	}
	return place
}

// Unwrap returns the status and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Status}
	}
	return []error{e.Status, e.Err}
}

// fail makes an error without a position.
func fail(status Status, stage Stage, text string) *Error {
	return &Error{Status: status, Stage: stage, Element: Nowhere, Offset: Nowhere, Text: text}
}

// failFor is fail with a cause.
func failFor(status Status, stage Stage, text string, cause error) *Error {
	err := fail(status, stage, text)
	err.Err = cause
	return err
}
