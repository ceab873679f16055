package promotion

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// SchemaPortfolio is the schema of a portfolio.
const SchemaPortfolio = "portfolio/v1"

// Portfolio is portfolio/v1: how what is active goes together, by the daily returns out of sample
// in the files that the plane has read.
type Portfolio struct {
	Schema  string            `json:"schema"`
	AsOfSeq int64             `json:"as_of_seq"`
	AsOf    string            `json:"as_of"`
	Members []PortfolioMember `json:"members"`
	Pairs   []PortfolioPair   `json:"pairs"`
	// SharedDays are the days that all members have; with fewer than 30 the rest is null.
	SharedDays int      `json:"shared_days"`
	Volatility *float64 `json:"daily_volatility"`
	Drawdown   *float64 `json:"max_drawdown"`
	// Capacity is the capital that all can share at the present proportions, CapacitySymbol what
	// limits it; both are null where a member's own is, or where none has capital.
	Capacity       *float64 `json:"capacity"`
	CapacitySymbol *string  `json:"capacity_symbol"`
}

// PortfolioMember is one active revision; RiskShare is its share of the portfolio's variance at
// the capital that its stage allows, null where that is unknown.
type PortfolioMember struct {
	CandidateRevisionID string       `json:"candidate_revision_id"`
	CandidateID         string       `json:"candidate_id"`
	Stage               bundle.Stage `json:"stage"`
	Capital             float64      `json:"capital"`
	Days                int          `json:"days"`
	RiskShare           *float64     `json:"risk_share"`
	// Capacity is the capital at which the market's reaction takes half of what the trades out of
	// sample have earned, in quote currency; null where the files do not show it.
	Capacity *float64 `json:"capacity"`
}

// PortfolioPair is two members on the days that both have; null below 30 of them.
type PortfolioPair struct {
	A           string   `json:"a"`
	B           string   `json:"b"`
	Days        int      `json:"days"`
	Correlation *float64 `json:"correlation"`
	BothDown    *float64 `json:"both_down"`
}

// PortfolioOf is the portfolio of a world at a time.
func PortfolioOf(w *World, now time.Time) *Portfolio {
	list := members(w, nil)
	p := &Portfolio{Schema: SchemaPortfolio, AsOfSeq: w.seq, AsOf: stamp(w.AsOf(now)),
		Members: []PortfolioMember{}, Pairs: []PortfolioPair{}}
	risk := policy.RiskOf(list)
	p.SharedDays = risk.Days
	if len(risk.Shares) > 0 {
		p.Volatility, p.Drawdown = &risk.Volatility, &risk.Drawdown
	}
	for i := range list {
		m := &list[i]
		one := PortfolioMember{CandidateRevisionID: m.Revision, CandidateID: m.Candidate, Stage: m.Stage,
			Capital: m.Capital, Days: len(m.Days), Capacity: m.Capacity()}
		if len(risk.Shares) > 0 {
			one.RiskShare = &risk.Shares[i]
		}
		p.Members = append(p.Members, one)
		for k := range i {
			t := policy.Together(&list[k], m)
			p.Pairs = append(p.Pairs, PortfolioPair{t.A, t.B, t.Days, t.Correlation, t.BothDown})
		}
	}
	if whole, symbol := policy.CapacityOf(list); whole != nil {
		p.Capacity, p.CapacitySymbol = whole, &symbol
	}
	return p
}

// members are the revisions that are active from paper on, but those of the candidate of one; by
// the order of the log.
func members(w *World, but *revision) []policy.Member {
	var list []policy.Member
	for _, r := range w.order {
		same := but != nil &&
			(r == but || r.bundle.Candidate.CandidateID == but.bundle.Candidate.CandidateID &&
				r.bundle.Candidate.FamilyID == but.bundle.Candidate.FamilyID)
		if same || !r.active() || !onTrial(r.Stage) {
			continue
		}
		list = append(list, member(w, r))
	}
	slices.SortStableFunc(list, func(a, b policy.Member) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

// member is a revision with the days and the edge of its first baseline, and the largest impact that
// falsifications of it have measured.
func member(w *World, r *revision) policy.Member {
	m := policy.Member{
		Piece:    policy.Piece{Seq: r.seq, SHA256: r.id[len(bundle.RevisionPrefix):]},
		Revision: r.id, Candidate: r.bundle.Candidate.CandidateID, Stage: r.Stage,
		Symbols: r.bundle.Strategy.Symbols,
	}
	scaled := policy.Scale(r.limits, w.policy.Stage(r.Stage).CapitalScale)
	m.Capital, _ = strconv.ParseFloat(scaled.MaxCapital, 64) // a decimal, as it was read
	at := slices.IndexFunc(r.runs, func(run policy.Run) bool { return run.Role == bundle.RoleBaseline })
	if at < 0 {
		return m
	}
	base := r.runs[at].RunID
	m.Days, m.Edge = policy.DaysOf(r.evidence[base].Derived), r.evidence[base].Edge
	for i := range r.runs {
		read := r.evidence[r.runs[i].RunID]
		if read.Impact == nil || read.Falsification == nil || read.Falsification.BaseRunID != base {
			continue
		}
		if m.Impact == nil || read.Impact.Bps*math.Sqrt(m.Impact.Capital) >
			m.Impact.Bps*math.Sqrt(read.Impact.Capital) {
			m.Impact = read.Impact
		}
	}
	return m
}
