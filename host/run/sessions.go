package run

import (
	"errors"
	"sync"
)

// Sessions are the processes of workers that play side by side. The zero value is ready.
type Sessions struct {
	// Forks has them play only bundles, in copies of their processes, each on candles of its own.
	Forks bool

	mu   sync.Mutex
	idle []*Session
}

// Take returns a session that nobody plays in.
func (s *Sessions) Take() *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		session := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return session
	}
	return &Session{forks: s.Forks}
}

// Put gives a session back; nil is none.
func (s *Sessions) Put(session *Session) {
	if session == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, session)
}

// Close ends the processes of all sessions that were given back.
func (s *Sessions) Close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.idle {
		err = errors.Join(err, session.Close())
	}
	return err
}
