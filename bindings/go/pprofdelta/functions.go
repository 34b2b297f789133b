package pprofdelta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Compare computes the delta of two profiles and writes it to w in one call. The window belongs to no
// series: it has no sequence and no attempt.
func Compare(ctx context.Context, prev, cur []byte, w io.Writer, opts ...Option) (*Report, error) {
	o, err := writeOptions(w, opts)
	if err != nil {
		return nil, err
	}
	o.flags |= flagNoSequence
	var report *Report
	delta := takeBuffer()
	defer delta.give()
	err = o.use(ctx, nil, 0, 0, func(h *held) error {
		if err := h.prev(prev); err != nil {
			return err
		}
		delta.b = delta.b[:0]
		var err error
		if report, err = h.window(cur, 0, delta); err != nil {
			return err
		}
		return h.abandon()
	})
	if err != nil {
		return nil, err
	}
	return report, o.write(w, delta.b)
}

// writeOptions checks the options, and the writer.
func writeOptions(w io.Writer, opts []Option) (options, error) {
	o, err := newOptions(opts)
	if err == nil {
		err = o.writable(w)
	}
	return o, err
}

// prev makes the context remember the older one of two profiles.
func (h *held) prev(profile []byte) error {
	err := h.base(profile)
	if e, ok := err.(*Error); ok {
		e.IsPrev = true
	}
	return err
}

// write compresses a profile and writes it in one call.
func (o *options) write(w io.Writer, plain []byte) error {
	bytes := plain
	if codec := o.codec(); codec != nil && len(plain) > 0 {
		encoded := takeBuffer()
		defer encoded.give()
		var err error
		if encoded.b, err = codec.encode(encoded.b, plain); err != nil {
			return err
		}
		bytes = encoded.b
	}
	_, err := writeAll(w, bytes)
	return err
}

// writable fails for a writer that is nil.
func writable(w io.Writer) error {
	if w == nil {
		return usage("the writer is nil")
	}
	return nil
}

// writable fails also if the format has no bytes.
func (o *options) writable(w io.Writer) error {
	if o.format == Tables {
		return usage("WithFormat(Tables) has no bytes to write: call Window, and Window.Tables")
	}
	return writable(w)
}

// writeAll writes bytes in one call. For a request of OTLP that is empty, there is none.
func writeAll(w io.Writer, bytes []byte) (int64, error) {
	if err := writable(w); err != nil || len(bytes) == 0 {
		return 0, err
	}
	n, err := w.Write(bytes)
	if err == nil && n < len(bytes) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return int64(n), failFor(ErrSink, StageWrite,
			fmt.Sprintf("the output of %d bytes was refused", len(bytes)), err)
	}
	return int64(n), nil
}

// Sum writes the sum of these profiles to w in one call: first a cumulative profile or any delta, then
// deltas in their order. It is the inverse of the subtraction. Of several attempts at one window the
// highest counts. The result says how each profile has joined.
func Sum(ctx context.Context, w io.Writer, profiles [][]byte, opts ...Option) ([]Join, error) {
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	return o.add(ctx, w, profiles)
}

// Merge writes the windows of many targets to w as one profile, in one call. They may come in any order. Counters and
// gauges are added up over the targets. For each target, counters are added up over its windows, and gauges are those of
// its last one. Each window counts once, with its highest attempt. The result says how each delta has joined:
// [JoinFirst] is the first window of each target. Profiles whose stamp names no target, such as cumulative ones, fail
// with [ReasonNoTarget].
func Merge(ctx context.Context, w io.Writer, deltas [][]byte, opts ...Option) ([]Join, error) {
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	stamps := make([]Stamp, len(deltas))
	order := make([]int, len(deltas))
	for i, delta := range deltas {
		census, err := Check(ctx, delta, opts...)
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		if err != nil {
			return nil, &ProfileError{Index: i, Err: err}
		}
		stamps[i], order[i] = census.Stamp, i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &stamps[a], &stamps[b]
		return cmp.Or(cmp.Compare(x.ID, y.ID), cmp.Compare(x.Epoch, y.Epoch),
			cmp.Compare(x.Sequence, y.Sequence), cmp.Compare(x.Attempt, y.Attempt))
	})
	sorted := make([][]byte, len(deltas))
	for i, at := range order {
		sorted[i] = deltas[at]
	}
	o.flags |= flagMerge
	found, err := o.add(ctx, w, sorted)
	var refused *ProfileError
	if errors.As(err, &refused) {
		refused.Index = order[refused.Index]
	}
	if err != nil {
		return nil, err
	}
	joins := make([]Join, len(deltas))
	for i, at := range order {
		joins[at] = found[i]
	}
	return joins, nil
}

// add writes the sum of these profiles to w.
func (o *options) add(ctx context.Context, w io.Writer, profiles [][]byte) ([]Join, error) {
	if err := o.writable(w); err != nil {
		return nil, err
	}
	joins := make([]Join, 0, len(profiles))
	sum := takeBuffer()
	defer sum.give()
	err := o.pool.use(ctx, 0, 0, func(h *held) error {
		joins, sum.b = joins[:0], sum.b[:0]
		if err := h.sumBegin(o); err != nil {
			return err
		}
		for i, profile := range profiles {
			join, err := h.sumAdd(profile)
			if ended := ctx.Err(); ended != nil {
				return ended
			}
			if err != nil {
				return &ProfileError{Index: i, Err: err}
			}
			joins = append(joins, join)
		}
		return h.sumFinish(sum)
	})
	if err != nil {
		return nil, err
	}
	return joins, o.write(w, sum.b)
}

// ProfileError is the error of [Sum] and [Merge] if one of the profiles was refused.
type ProfileError struct {
	Index int // of the profile
	Err   error
}

// Error returns the index and the error.
func (e *ProfileError) Error() string { return fmt.Sprintf("profile %d: %v", e.Index, e.Err) }

// Unwrap returns Err, which is an *Error.
func (e *ProfileError) Unwrap() error { return e.Err }

// Check checks whether this is a valid profile, as [Computer.Window] does.
func Check(ctx context.Context, profile []byte, opts ...Option) (*Census, error) {
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	var census *Census
	err = o.use(ctx, nil, 0, 0, func(h *held) (err error) {
		census, err = h.check(profile)
		return err
	})
	return census, err
}
