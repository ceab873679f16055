package evaluate

import (
	"fmt"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The limits of what a strategy may be absent for without a warning: the share of a split
// that one position lasts, and the share that is lost to warm-up.
const (
	maxHeldShare   = 0.5
	maxWarmupShare = 0.1
)

// absent warns where the numbers of a run hide that the strategy did next to nothing: it
// never trades, sits in one position, or warms up for a good part of a split. The test is
// left out, because a remark on it tells how it went.
func absent(results []played) []artifact.ReportWarning {
	var seen []*played
	for i := range results {
		if r := &results[i]; r.job.keep && r.job.id != split.RoleTest && r.results != nil {
			seen = append(seen, r)
		}
	}
	var list []artifact.ReportWarning
	add := func(code, format string, args ...any) {
		list = append(list, artifact.ReportWarning{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	if n, rejected, ok := neverTrades(seen); ok {
		add("NEVER_TRADES", "the strategy never trades: no order was filled in %d splits%s", n, rejected)
	}
	if r, h := longestHeld(seen); h.share > maxHeldShare {
		add("POSITION_HELD", "on %s one position of %s is held from %s to %s, %.0f %% of the split",
			r.job.id, h.symbol, day(h.from), day(h.to), 100*h.share)
	}
	for _, r := range seen {
		candles := r.job.to - r.job.from
		lost := min(r.short, candles)
		if r.job.id == split.RoleTrain && float64(lost) > maxWarmupShare*float64(candles) {
			add("WARMUP_LONG", "train loses %d of %d candles to warm-up, in which every order is rejected: "+
				"set data.start later in lab.json or import earlier candles", lost, candles)
		}
	}
	return list
}

// neverTrades reports whether no order was filled in any of the splits, and how many were
// rejected, in words.
func neverTrades(list []*played) (splits int, rejected string, never bool) {
	refused := map[market.Reason]int{}
	var most market.Reason
	for _, r := range list {
		if len(r.results.Fills) > 0 {
			return 0, "", false
		}
		for i := range r.results.Orders {
			if reason := r.results.Orders[i].Reason; r.results.Orders[i].Status == market.StatusRejected {
				if refused[reason]++; refused[reason] > refused[most] {
					most = reason
				}
			}
		}
	}
	if most != "" {
		rejected = fmt.Sprintf(", %d were rejected as %s", refused[most], most)
	}
	return len(list), rejected, len(list) > 0
}

// holding is a position from its entry to its end.
type holding struct {
	symbol   market.Symbol
	from, to market.Time
	share    float64 // of the time of the split
}

// longestHeld is the position that lasts for the largest share of a split.
func longestHeld(list []*played) (in *played, longest holding) {
	for _, r := range list {
		times := r.results.Equity.Time
		if len(times) == 0 {
			continue
		}
		first, last := times[0], times[len(times)-1]
		hold := func(symbol market.Symbol, from, to market.Time) {
			whole := span(first, last)
			if share := float64(span(from, to)) / float64(max(whole, 1)); share > longest.share {
				in, longest = r, holding{symbol, from, to, min(share, 1)}
			}
		}
		for i := range r.results.Trades {
			hold(r.results.Trades[i].Symbol, r.results.Trades[i].EntryTime, r.results.Trades[i].ExitTime)
		}
		for i := range r.results.Positions {
			if p := &r.results.Positions[i]; !p.Quantity.IsZero() {
				hold(p.Symbol, p.OpenedAt, last)
			}
		}
	}
	return in, longest
}

// span is the milliseconds from one moment to another.
func span(from, to market.Time) int64 { return int64(to) - int64(from) }

func day(t market.Time) string { return t.String()[:10] }
