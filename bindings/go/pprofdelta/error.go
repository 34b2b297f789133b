package pprofdelta

import (
	"fmt"
	"strings"
)

// The kinds of errors that the C library does not have.
const (
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
