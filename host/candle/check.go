package candle

import (
	"context"
	"errors"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
)

// Checked is what Check found out about one dataset.
type Checked struct {
	// Problem is empty for a sound file.
	Problem string
	// Gaps as counted now; empty when there is a problem.
	Gaps GapReport
}

// Check hashes the file of a dataset again, holds it against the catalogue and counts
// its gaps. A damaged file is a Problem, not an error.
func (s *Store) Check(ctx context.Context, d Dataset) (Checked, error) {
	if ctx.Err() != nil {
		return Checked{}, context.Cause(ctx)
	}
	s.mu.Lock()
	delete(s.verified, d.SHA256)
	s.mu.Unlock()
	f, err := s.OpenSeries(d)
	var corrupt *candlefile.CorruptError
	if errors.As(err, &corrupt) {
		return Checked{Problem: corrupt.Reason}, nil
	}
	if err != nil {
		return Checked{}, err
	}
	c := Checked{Gaps: Gaps(f.Series(), d.Calendar)}
	return c, f.Close()
}
