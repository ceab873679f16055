package library

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
)

// Shared is which trades runs have in common. The same are those of equal symbol, direction, entry and exit:
// sizes differ by the cash that is left.
type Shared struct {
	// Common counts the trades that all have.
	Common int     `json:"common"`
	Only   []Alone `json:"only"`
	// Differing are the first of DifferingTotal trades that not all have, in the order of their entry.
	Differing      []Differing `json:"differing"`
	DifferingTotal int         `json:"differing_total"`
	// Unread are the runs that keep no trades or whose trades may not be read: with any, nothing is compared.
	Unread []string `json:"unread"`
}

// Alone is how many of its trades a run has alone.
type Alone struct {
	RunID string `json:"run_id"`
	Alone int    `json:"alone"`
	Of    int    `json:"of"`
}

// Differing is a trade that not all runs have.
type Differing struct {
	RunID string `json:"run_id"`
	Trade Entry  `json:"trade"`
}

// maxDiffering is how many trades that not all runs have are shown.
const maxDiffering = 25

// Shared compares all trades of a split.
func (l *Library) Shared(ctx context.Context, runIDs []string, split string) (*Shared, error) {
	s := &Shared{Only: []Alone{}, Differing: []Differing{}, Unread: []string{}}
	all := make([][]Entry, len(runIDs))
	for i, id := range runIDs {
		_, trades, err := l.Entries(ctx, id, split, artifact.TradesFile)
		if unread(err) {
			s.Unread = append(s.Unread, id)
		} else if err != nil {
			return nil, err
		}
		all[i] = trades
	}
	if len(s.Unread) > 0 {
		return s, nil
	}
	s.part(runIDs, all)
	return s, nil
}

// unread reports whether an error says that a run has no trades to show.
func unread(err error) bool {
	var missing *NotFoundError
	var locked *LockedError
	var compact *CompactError
	var differs *artifact.MismatchError
	return errors.As(err, &missing) && missing.Kind != KindRun || errors.As(err, &locked) ||
		errors.As(err, &compact) || errors.As(err, &differs)
}

// part tells the trades of runs apart by who has them.
func (s *Shared) part(runIDs []string, all [][]Entry) {
	key := func(e Entry) string {
		return strings.Join([]string{string(e["symbol"]), string(e["direction"]), string(e["entry_time"]),
			string(e["exit_time"])}, " ")
	}
	owners := map[string]uint64{} // bit i: run i has it
	for i, trades := range all {
		for _, e := range trades {
			owners[key(e)] |= 1 << i
		}
	}
	whole := uint64(1)<<len(all) - 1
	for _, of := range owners {
		if of == whole {
			s.Common++
		}
	}
	for i, trades := range all {
		a := Alone{RunID: runIDs[i], Of: len(trades)}
		for _, e := range trades {
			of := owners[key(e)]
			if of == 1<<i {
				a.Alone++
			}
			if of != whole {
				s.Differing = append(s.Differing, Differing{runIDs[i], e})
			}
		}
		s.Only = append(s.Only, a)
	}
	slices.SortStableFunc(s.Differing, func(a, b Differing) int {
		return cmp.Compare(a.Trade.Time("entry_time"), b.Trade.Time("entry_time"))
	})
	s.DifferingTotal = len(s.Differing)
	s.Differing = s.Differing[:min(maxDiffering, s.DifferingTotal)]
}
