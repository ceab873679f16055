package metrics

import (
	"sort"
	"sync/atomic"
	"time"
)

// route counts the requests of one route. All its fields are written by atomic
// operations only.
type route struct {
	requests []atomic.Int64 // by method, then code; the last of each is "other"
	codes    int
	buckets  []atomic.Int64 // not cumulative; the last is above every bound
	nanos    atomic.Int64
}

const numBounds = 14

// bounds are the upper bounds of the histogram in seconds: a status answer takes
// well under a millisecond, a long poll up to 30 s.
func bounds() [numBounds]float64 {
	return [numBounds]float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30}
}

func newRoute(methods, codes int) *route {
	return &route{
		requests: make([]atomic.Int64, (methods+1)*(codes+1)),
		codes:    codes + 1,
		buckets:  make([]atomic.Int64, numBounds+1),
	}
}

func (r *route) count(method, code int) { r.requests[method*r.codes+code].Add(1) }

func (r *route) time(took time.Duration) {
	took = max(took, 0)
	b := bounds()
	r.buckets[sort.SearchFloat64s(b[:], took.Seconds())].Add(1)
	r.nanos.Add(int64(took))
}

// durations are the cumulative counts of the buckets and the sum in seconds.
func (r *route) durations() (cumulative []int64, seconds float64) {
	var sum int64
	for i := range r.buckets {
		sum += r.buckets[i].Load()
		cumulative = append(cumulative, sum)
	}
	return cumulative, time.Duration(r.nanos.Load()).Seconds()
}
