package record

import (
	"math"
	"time"
)

// UnixNano returns t in Unix nanoseconds, as stores compare times in columns of
// their own. A time that does not fit (before 1678 or after 2262) becomes the
// nearest one that does.
func UnixNano(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}
