package serve

import (
	"reflect"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

// sessions says which runs a process serves: one, or one after another.
type sessions struct {
	many bool // one after another
	free bool // any, also side by side: for tests and debugging

	mu      sync.Mutex
	began   int // runs
	running bool
	last    sdk.Strategy
}

// begin lets a run in.
func (s *sessions) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.free:
	case s.running:
		return status.Error(codes.FailedPrecondition, "a plugin process serves one run at a time")
	case s.began > 0 && !s.many:
		return status.Error(codes.FailedPrecondition, "a plugin process serves one run: start another one")
	}
	s.began++
	s.running = true
	return nil
}

func (s *sessions) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
}

// notFresh is why a run of a session is refused whose strategy is the one of the run before.
const notFresh = "the constructor returned the strategy of the run before instead of a new one: set " +
	"Spec.FreshProcess"

// fresh reports whether a strategy is another one than that of the run before.
func (s *sessions) fresh(strategy sdk.Strategy) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free {
		return true
	}
	before := s.last
	s.last = strategy
	a, b := reflect.ValueOf(before), reflect.ValueOf(strategy)
	// All pointers to something without size may be equal.
	return before == nil || a.Kind() != reflect.Pointer || a.Type() != b.Type() ||
		a.Type().Elem().Size() == 0 || a.Pointer() != b.Pointer()
}
