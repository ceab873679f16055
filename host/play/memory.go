package play

import (
	"math"
	"os"
	"runtime/debug"
	"unsafe"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// memorySlack is what a run may use beside what it keeps: garbage, buffers and the
// rest of the service.
const memorySlack = 32 << 20

// memoryLimit keeps the collector from letting garbage grow to the size of what a run
// keeps, which is mostly columns of numbers. The limit follows what is kept, so that
// it never makes the collector work against a run that really is large. It is set for
// the whole process, for as long as a run records: a host that plays several runs side
// by side or keeps results must not set it. GOGC and GOMEMLIMIT win.
type memoryLimit struct {
	off  bool
	held int64
}

func newMemoryLimit(off bool) *memoryLimit {
	return &memoryLimit{off: off || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != ""}
}

// add says that so many bytes more are kept, less if negative.
func (m *memoryLimit) add(bytes int64) {
	m.held += bytes
	if !m.off {
		debug.SetMemoryLimit(m.held + m.held/8 + memorySlack)
	}
}

// lift ends the limit.
func (m *memoryLimit) lift() {
	if !m.off {
		debug.SetMemoryLimit(math.MaxInt64)
	}
}

// The sizes of what is kept, without the little that strings and lists add.
const (
	orderBytes = int64(unsafe.Sizeof(market.Order{}))
	fillBytes  = int64(unsafe.Sizeof(market.Fill{}))
	tradeBytes = int64(unsafe.Sizeof(market.Trade{})) + 64
)
