package store

import "context"

// UpdateUndecided is Update as a plane would do it that holds its decisions back.
func (s *Store) UpdateUndecided(ctx context.Context, f func(*Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Tx{s: s, now: s.opts.Now().UTC(), changed: map[string]bool{}}
	if err := f(t); err != nil {
		return err
	}
	return s.commit(ctx, t)
}
