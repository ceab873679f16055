package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
)

// leastShared is how many shared days a correlation takes, underWater how far below its peak a
// strategy is in a drawdown that counts as common.
const (
	leastShared = 30
	underWater  = 0.05
)

// Member is a revision with its daily returns out of sample, as the portfolio sees it.
type Member struct {
	Piece
	Revision, Candidate string
	Stage               bundle.Stage
	// Capital is what its stage allows it, in quote currency.
	Capital float64
	Days    []Day
	// Symbols are what it trades; Edge and Impact are nil where no file shows them.
	Symbols []string
	Edge    *bundle.Edge
	Impact  *bundle.Impact
}

// Day is the return of one UTC day, counted from 1970-01-01.
type Day struct {
	Day    int64
	Return float64
}

// DaysOf are the days of derived numbers in their order, each once.
func DaysOf(d *bundle.Derived) []Day {
	if d == nil {
		return nil
	}
	var list []Day
	for i := range d.Days {
		s := &d.Days[i]
		for k, x := range s.Returns {
			list = append(list, Day{s.Day(k), x})
		}
	}
	slices.SortStableFunc(list, func(a, b Day) int { return cmp.Compare(a.Day, b.Day) })
	return slices.CompactFunc(list, func(a, b Day) bool { return a.Day == b.Day })
}

// shared are the returns of two lists on the days that both have.
func shared(a, b []Day) (x, y []float64) {
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case a[i].Day < b[k].Day:
			i++
		case a[i].Day > b[k].Day:
			k++
		default:
			x, y = append(x, a[i].Return), append(y, b[k].Return)
			i, k = i+1, k+1
		}
	}
	return x, y
}

func mean(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total / float64(len(x))
}

// covariance is that of a sample, with n - 1.
func covariance(x, y []float64) float64 {
	mx, my, total := mean(x), mean(y), 0.0
	for i := range x {
		total += float64((x[i] - mx) * (y[i] - my))
	}
	return total / float64(len(x)-1)
}

// Pair is how two members go together on the days that both have.
type Pair struct {
	A, B string // revisions
	Days int
	// Correlation is Pearson's of the daily returns; nil below 30 days or where one is constant.
	Correlation *float64
	// BothDown is the share of days on which both stand at least 5 % below their peaks, nil
	// below 30 days.
	BothDown *float64
}

// Together compares two members.
func Together(a, b *Member) Pair {
	x, y := shared(a.Days, b.Days)
	p := Pair{A: a.Revision, B: b.Revision, Days: len(x)}
	if len(x) < leastShared {
		return p
	}
	if v := covariance(x, x) * covariance(y, y); v > 0 {
		r := min(max(covariance(x, y)/math.Sqrt(v), -1), 1)
		p.Correlation = &r
	}
	down, dx, dy := 0, drawdowns(x), drawdowns(y)
	for i := range dx {
		if dx[i] >= underWater && dy[i] >= underWater {
			down++
		}
	}
	share := float64(down) / float64(len(x))
	p.BothDown = &share
	return p
}

// drawdowns are how far below its peak an account stands after each return, as a fraction.
func drawdowns(returns []float64) []float64 {
	level, peak := 1.0, 1.0
	list := make([]float64, len(returns))
	for i, r := range returns {
		level *= 1 + r
		peak = max(peak, level)
		list[i] = 1 - level/peak
	}
	return list
}

// Risk is what the members come to together, weighted by their capital, on the days that all
// have.
type Risk struct {
	Days int
	// Volatility and Drawdown are the daily standard deviation and the largest drawdown of the
	// portfolio; 0 below 30 days.
	Volatility, Drawdown float64
	// Shares are the members' shares of the variance, w_i (S w)_i / (w' S w), which add up to 1:
	// the Euler allocation of Litterman (1996), "Hot spots and hedges". Empty below 30 days.
	Shares []float64
}

// RiskOf works out the risk of members. It takes the first member's days that all others have.
func RiskOf(members []Member) Risk {
	var out Risk
	if len(members) == 0 {
		return out
	}
	days := slices.Clone(members[0].Days)
	for _, m := range members[1:] {
		days = slices.DeleteFunc(days, func(d Day) bool {
			_, ok := slices.BinarySearchFunc(m.Days, d, func(a, b Day) int {
				return cmp.Compare(a.Day, b.Day)
			})
			return !ok
		})
	}
	if out.Days = len(days); out.Days < leastShared {
		return out
	}
	capital := 0.0
	for _, m := range members {
		capital += m.Capital
	}
	weighted, total := make([][]float64, len(members)), make([]float64, len(days))
	for i, m := range members {
		w := 1 / float64(len(members))
		if capital > 0 {
			w = m.Capital / capital
		}
		x, _ := shared(m.Days, days)
		weighted[i] = make([]float64, len(days))
		for k := range x {
			weighted[i][k] = float64(w * x[k])
			total[k] += weighted[i][k]
		}
	}
	variance := covariance(total, total)
	out.Volatility, out.Drawdown = math.Sqrt(variance), slices.Max(drawdowns(total))
	for i := range members {
		if variance > 0 {
			out.Shares = append(out.Shares, covariance(weighted[i], total)/variance)
		}
	}
	return out
}

// correlated passes when the daily returns out of sample correlate with each active revision of
// another candidate in the gate's stages by at most max. It waits where fewer than 30 days are
// shared.
func correlated(g *Gate, e *Evidence, _ time.Time) Result {
	r := Result{Verdict: Pass, Op: "<=", Threshold: g.Max, Evidence: e.core(),
		Reason: "nothing runs in these stages that it is compared with"}
	if e.Self == nil || e.Others == nil {
		return r
	}
	self := e.Self()
	highest := math.Inf(-1)
	for _, other := range e.Others() {
		if !slices.Contains(g.Stages, string(other.Stage)) {
			continue
		}
		p := Together(&self, &other)
		r.Evidence = append(r.Evidence, other.Piece)
		switch {
		case p.Correlation == nil:
			r.worse(Pending, "", fmt.Sprintf("%d days are shared with %s: at least %d are needed", p.Days,
				other.Revision, leastShared))
			continue
		case *p.Correlation > g.Max && (r.Verdict != Fail || *p.Correlation > highest):
			r.Verdict, r.Blame = Fail, ""
			r.Reason = fmt.Sprintf("correlates by %.3f with %s over %d days", *p.Correlation, other.Revision,
				p.Days)
		case r.Verdict == Pass:
			r.Reason = "different enough from what runs"
		}
		if *p.Correlation > highest {
			highest = *p.Correlation
			r.Observed = highest
		}
	}
	return r
}
