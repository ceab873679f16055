package candle

import (
	"context"
	"path/filepath"
)

// Temporary makes a store of exactly these candles for as long as a few runs last:
// their files in the existing folder dir, which the caller removes after Close, and the
// catalogue in memory. Nothing is synced to disk and no sample is installed; any
// exchange may be named. Runs cannot tell it from another store. The errors are those
// of Put.
func Temporary(ctx context.Context, dir string, sets []PutRequest) (*Store, error) {
	s := &Store{dir: dir, verified: map[string]bool{}}
	s.windows.dir = filepath.Join(dir, "windows")
	for _, set := range sets {
		if _, err := s.put(ctx, set, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// held is the datasets of a catalogue in memory that keep picks.
func (s *Store) held(keep func(*Dataset) bool) []Dataset {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Dataset{}
	for i := range s.memory {
		if keep(&s.memory[i]) {
			list = append(list, s.memory[i])
		}
	}
	return list
}

// hold is insert for a catalogue in memory, where nothing arrives at once.
func (s *Store) hold(d Dataset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.memory[:0:0]
	for _, old := range s.memory {
		if old.Exchange == d.Exchange && old.Symbol == d.Symbol && old.Timeframe == d.Timeframe {
			if old.SHA256 == d.SHA256 {
				continue
			}
			old.Current = false
		}
		kept = append(kept, old)
	}
	s.memory = append(kept, d)
}
