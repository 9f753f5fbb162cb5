package record

import (
	"math"
	"testing"
	"time"
)

// Times that do not fit keep their order with those that do.
func TestUnixNano(t *testing.T) {
	for _, c := range []struct {
		t    time.Time
		want int64
	}{
		{time.Time{}, math.MinInt64},
		{time.Unix(0, math.MinInt64), math.MinInt64},
		{time.Unix(-1, 5), -999_999_995},
		{time.Unix(1, 5), 1_000_000_005},
		{time.Unix(0, math.MaxInt64), math.MaxInt64},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), math.MaxInt64},
	} {
		if got := UnixNano(c.t); got != c.want {
			t.Errorf("%v: %d, want %d", c.t, got, c.want)
		}
	}
}
