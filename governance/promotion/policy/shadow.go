package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/evalue"
)

// ShadowResult is what the days after the seal have come to, see docs/governance.md.
type ShadowResult struct {
	// Revision is the one that is played: the first of the same program, parameters and limits
	// in the line of parents. First is its first day, Last its last one, "" while there is none.
	Revision    string
	First, Last string
	// Days were played, LateDays of them stated more than 48 h after their close; Trades are
	// round trips that closed.
	Days, LateDays, Trades int64
	Dropped
	// Attested reports whether the worker has fetched all candles from the exchange itself;
	// Trusted whether all keys that signed the days still count.
	Attested, Trusted bool
	// Bound is the declared max_daily_loss as a share of max_capital, 0 where none is declared.
	Bound float64
	// E is the evidence that the mean daily return is above 0, Ruined that a day has lost more
	// than twice the bound.
	E      float64
	Ruined bool
	Claims
	Drift DriftResult
	// Next is the day that comes next; from Due on it is missing.
	Next string
	Due  time.Time
	// Unsigned reports that nobody has signed what would be played: its days have not begun.
	Unsigned bool
	Timing
	// FirstSeq and LastSeq are the entries of the first and the newest day, -1 for none.
	FirstSeq, LastSeq int64
}

// Dropped are further days, of which only what they lost counts.
type Dropped struct {
	// InDispute are days whose candles a second fetcher disputes, Own those that OwnBy, one of the
	// revision's own people, has stated.
	InDispute, Own int64
	OwnBy          string
}

// Claims are the place of a claim among others.
type Claims struct {
	// Claim is the i of the packer's i-th sealed program.
	Claim int64
	// Among returns the place among the claims of its packer, or of the whole plane, and those of
	// them that people have let go as far as canary. It is called where a gate asks.
	Among func(of string) (place int64, others []Claimed)
}

// Claimed is another claim at its place.
type Claimed struct {
	Place int64
	*ShadowResult
}

// Timing is which days count, and by whose clock. It is zero by the rules before Witnessed.
type Timing struct {
	// UncountedLate and UncountedBefore are the days that no gate counts: stated late, or begun before
	// witnesses had seen the seal. UncountedTrades are theirs.
	UncountedLate, UncountedBefore, UncountedTrades int64
	// OwnClock reports that counted days began by the plane's own clock, which no witness vouches
	// for. Lacking are the witnesses that the policy asks for in vain, each with why.
	OwnClock bool
	Lacking  []string
}

// DriftResult is how much the days after the seal differ from those before it.
type DriftResult struct {
	// Promised is how many days of the locked test they are measured against.
	Promised int64
	// Returns and Fills are D of the daily returns and its twin of the daily number of fills,
	// since people last resumed; Peak and PeakDay are where Returns was largest.
	Returns, Fills, Peak float64
	PeakDay              string
}

// counted is how many days and trades a gate counts.
func (s *ShadowResult) counted() (days, trades int64) {
	return s.Days - s.UncountedLate - s.UncountedBefore, s.Trades - s.UncountedTrades
}

// describe is what the days have come to in words, with those that do not count.
func (s *ShadowResult) describe() string {
	days, trades := s.counted()
	text := fmt.Sprintf("E is %.4g after %d days and %d trades", s.E, days, trades)
	if s.OwnClock {
		text += " by own clock"
	}
	if s.UncountedLate > 0 {
		text += fmt.Sprintf("; %d late, which count only where they lose", s.UncountedLate)
	}
	if s.UncountedBefore > 0 {
		text += fmt.Sprintf("; %d before its seal was witnessed, which count only where they lose",
			s.UncountedBefore)
	}
	return text
}

// Drifted reports whether the days are so much worse than those that were promised that it
// has to be stopped.
func (s *ShadowResult) Drifted() bool { return s.Drift.Peak >= evalue.DriftBar }

// Missing reports whether a day has been due for more than 48 h.
func (s *ShadowResult) Missing(now time.Time) bool { return !s.Due.IsZero() && !now.Before(s.Due) }

// NotShown begins what is said of a revision that unseen days have not shown to earn anything.
const NotShown = "not shown prospectively: "

// Why there are no days of a revision: they were not played, or cannot be yet.
const (
	notPlayed = NotShown + "no day after the seal was played (governance shadow)"
	notBegun  = NotShown + "no lab has signed the bundle, with which its days begin"
)

// shadow passes when enough days after the seal show an edge. It waits for more, has expired
// while a day is missing, and fails for ever after a loss beyond twice the declared bound.
// Candles that were imported from files never pass it for live.
func shadow(g *Gate, stage bundle.Stage, e *Evidence, now time.Time) Result {
	s := e.Shadow
	if s == nil || s.Days == 0 && !s.Ruined {
		reason := notPlayed
		if s != nil && s.Unsigned {
			reason = notBegun
		} else if s != nil && s.InDispute+s.Own > 0 {
			reason = NotShown + "no day counts" + s.Dropped.describe()
		}
		return Result{Verdict: Pending, Op: ">=", Threshold: g.Evidence, Reason: reason}
	}
	bar := ShadowBar(g, stage, s, now)
	r := Result{Verdict: Pass, Observed: s.E, Op: ">=", Threshold: bar.E, ValidUntil: s.Due}
	r.Reason = s.describe() + s.Dropped.describe()
	if g.EBH != "" {
		r.Reason += fmt.Sprintf("; claim %d of the %s, online e-BH with %d discoveries", bar.Place, g.EBH,
			bar.Discoveries)
		if !bar.until.IsZero() && bar.until.Before(r.ValidUntil) {
			r.ValidUntil = bar.until
		}
	}
	lacks := g.lacks(s, stage)
	switch {
	case s.Ruined:
		r.Verdict, r.ValidUntil = Fail, time.Time{}
		r.Reason = fmt.Sprintf("a day lost more than twice the declared %.4g of the capital", s.Bound)
		return r
	case lacks == "" && s.E < bar.E:
		lacks = fmt.Sprintf("E is below %.4g", bar.E)
	case lacks == "" && s.Missing(now):
		r.Verdict = Expired
		r.Reason = "the day " + s.Next + " is missing: " + r.Reason
	}
	if lacks != "" {
		r.Verdict, r.ValidUntil = Pending, time.Time{}
		r.Reason = lacks + ": " + r.Reason
	}
	return r
}

// lacks is why days that ruin nothing show nothing for a stage, whatever E they have come to; "" where
// E alone decides.
func (g *Gate) lacks(s *ShadowResult, stage bundle.Stage) string {
	switch days, trades := s.counted(); {
	case s.Bound == 0:
		return "the limits declare no max_daily_loss, which the evidence is measured by"
	case !s.Trusted:
		return "a key that signed its days is no longer trusted"
	case !s.Attested && (g.Attested || stage == bundle.Live):
		return "its days are unattested: not all candles were fetched from the exchange itself"
	case stage == bundle.Live && len(s.Lacking) > 0:
		return unwitnessed(s.Lacking)
	case days < g.Days:
		return fmt.Sprintf("%d of %d days", days, g.Days)
	case trades < g.Trades:
		return fmt.Sprintf("%d of %d trades", trades, g.Trades)
	case s.Drifted():
		return fmt.Sprintf("its days drift from those that were promised (D %.4g)", s.Drift.Peak)
	}
	return ""
}

// EBHPlane is the value of e_bh that counts the claims of all packers together.
const EBHPlane = "plane"

// ShadowGate is the gate of live that counts discoveries, else the one that is built in.
func (p *Policy) ShadowGate() *Gate {
	gates := p.Stage(bundle.Live).Gates
	if i := slices.IndexFunc(gates, countsDiscoveries); i >= 0 {
		return &gates[i]
	}
	return &Gate{Kind: Shadow, Days: 60, Trades: 10, Evidence: evalue.LiveBar, PerClaim: true}
}

// CountsDiscoveries reports whether a gate takes what online e-BH takes, so that the days of one
// revision move the bars of others.
func (p *Policy) CountsDiscoveries() bool {
	for _, s := range p.stages {
		if slices.ContainsFunc(s.Gates, countsDiscoveries) {
			return true
		}
	}
	return false
}

func countsDiscoveries(g Gate) bool { return g.EBH != "" }

// Bar is how large E has to be for a gate.
type Bar struct {
	E float64
	// Place and Discoveries are i and k of online e-BH, 0 by other rules; until is when one of those
	// that have helped may stop doing so by time alone, zero for never.
	Place, Discoveries int64
	until              time.Time
}

// ShadowBar works out the bar of a gate of kind shadow. With e_bh only those others are discoveries
// that would pass the gate themselves: a claim whose day is missing could be withholding a loss.
func ShadowBar(g *Gate, stage bundle.Stage, s *ShadowResult, now time.Time) Bar {
	switch {
	case g.PerClaim:
		return Bar{E: g.Evidence * float64(max(s.Claim, 1))}
	case g.EBH == "" || s.Among == nil:
		return Bar{E: g.Evidence}
	}
	place, others := s.Among(g.EBH)
	bar := Bar{Place: place}
	var claims []evalue.Claim
	for _, o := range others {
		if o.Ruined || o.Missing(now) || g.lacks(o.ShadowResult, stage) != "" {
			continue
		}
		claims = append(claims, evalue.Claim{Place: o.Place, E: o.E})
		if !o.Due.IsZero() && (bar.until.IsZero() || o.Due.Before(bar.until)) {
			bar.until = o.Due
		}
	}
	bar.E, bar.Discoveries = evalue.OnlineBar(g.Evidence, place, claims)
	return bar
}
