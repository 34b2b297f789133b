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

// timeOf converts nanoseconds since 1970; 0 is unknown.
func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}
