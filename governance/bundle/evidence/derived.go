package evidence

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/governance/bundle"
)

// The files that the derived numbers are worked out of besides those that Read needs. Where
// one is not there, its numbers are not either.
const (
	curveName     = "equity_curve.csv"
	tradesName    = "trades.csv"
	BenchmarkName = "falsify/buy_and_hold/benchmark.csv"
)

// The numbers that are derived, by the names that gates use.
const (
	// FigureSharpe is the annual Sharpe ratio of the days out of sample, FigureSharpeLow its
	// one-sided 95 % lower bound, FigureDays their number.
	FigureSharpe    = "oos_sharpe"
	FigureSharpeLow = "oos_sharpe_low"
	FigureDays      = "oos_days"
	// FigureDSR is dsr_max of a falsification's selection_bias.
	FigureDSR = "dsr_max"
	// FigureHolding is the one-sided 90 % upper bound of the mean daily difference to holding
	// at equal exposure.
	FigureHolding = "holding_high"
	// FigureLeftOut is how many tests a user has left out of a falsification.
	FigureLeftOut = "tests_left_out"
	// FigureTrained is how many splits out of sample do not count, because they begin before the
	// end of the data that the program was made with; only where such an end is declared.
	FigureTrained = "oos_splits_trained"
	// FigureKnown is 1 for a falsification whose candles begin before that end: it attacks what the program
	// may know, so that nothing it comes to is evidence.
	FigureKnown = "candles_known"
	// FigureReserves is how many reasons beside its tests a falsification has for its verdict, such as looser
	// thresholds; only where plausibility alone refutes, which hides them.
	FigureReserves = "reserves"
)

// The quantiles of the standard normal distribution.
const (
	z95 = 1.6448536269514722
	z90 = 1.2815515655446004
)

const (
	leastReturns = 11 // fewer have no standard error worth the name
	daysPerYear  = 365
	dayMillis    = 86_400_000
)

// skippedByUser is why a test that a user has left out was not made.
const skippedByUser = "skipped_by_user"

// roleWalkForward and roleTest are the splits that no choice was made by.
const (
	roleWalkForward = "walk_forward"
	roleTest        = "test"
)

// derive works the derived numbers out of the files of a run.
func (r *Run) derive(rep *report, a *attack, files Files) error {
	d := &bundle.Derived{EngineSHA256: r.request.Inputs.Engine.SHA256, Figures: map[string]float64{}}
	switch r.Kind {
	case kindRun:
		if err := r.outOfSample(rep, files, d); err != nil {
			return err
		}
		var err error
		if r.Edge, err = edgeOf(rep, files); err != nil {
			return err
		}
	case kindFalsification:
		d.Figures[FigureLeftOut] = 0
		for _, t := range a.Statistics {
			if t.Reason == skippedByUser {
				d.Figures[FigureLeftOut]++
			}
			if t.Statistic.Name == FigureDSR && t.Statistic.Value != nil {
				d.Figures[FigureDSR] = *t.Statistic.Value
			}
		}
		if end := r.request.TrainedUntil; end != nil && r.request.Start.Before(*end) {
			d.Figures[FigureKnown] = 1
		}
		if r.Falsification.TooGood() {
			d.Figures[FigureReserves] = float64(len(a.Reasons))
		}
		if err := holding(files, d); err != nil {
			return err
		}
		var err error
		if r.Impact, err = impactOf(a); err != nil {
			return err
		}
	default:
		return nil
	}
	r.Derived = d
	return nil
}

// outOfSample takes the daily returns of the walk-forward windows and the test, each day once,
// and their Sharpe ratio with its lower bound. No return crosses from one window to the next.
func (r *Run) outOfSample(rep *report, files Files, d *bundle.Derived) error {
	windows := slices.Clone(rep.Splits)
	slices.SortStableFunc(windows, func(a, b reportSplit) int { return a.From - b.From })
	last, span := int64(math.MinInt64), int64(0)
	var returns []float64
	for _, s := range windows {
		if s.Role != roleWalkForward && s.Role != roleTest || !safeName(s.ID) {
			continue
		}
		name := "splits/" + s.ID + "/" + curveName
		text, err := files(name)
		if errors.Is(err, fs.ErrNotExist) {
			d.Days = nil
			return nil // an incomplete sample would be chosen by whoever left one out
		}
		if err != nil {
			return err
		}
		levels, err := dayLevels(name, text)
		if err != nil {
			return err
		}
		for k := 1; k < len(levels); k++ {
			from, to := levels[k-1], levels[k]
			if to.day <= last || from.equity <= 0 {
				continue
			}
			x := to.equity/from.equity - 1
			d.Days = addDay(d.Days, s.Role, to.day, x)
			returns = append(returns, x)
			last, span = to.day, span+to.day-from.day
		}
	}
	d.Figures[FigureDays] = float64(len(returns))
	if r.request.TrainedUntil != nil {
		d.Figures[FigureTrained] = float64(r.trained)
	}
	if span == 0 {
		return nil
	}
	perYear := daysPerYear * float64(len(returns)) / float64(span)
	if sharpe, low, ok := SharpeLow(returns, z95); ok {
		d.Figures[FigureSharpe] = sharpe * math.Sqrt(perYear)
		d.Figures[FigureSharpeLow] = low * math.Sqrt(perYear)
	}
	return nil
}

// addDay adds a day to the newest segment, or begins another where it does not follow.
func addDay(list []bundle.DailyReturns, kind string, day int64, x float64) []bundle.DailyReturns {
	if n := len(list); n > 0 {
		s := &list[n-1]
		if s.Kind == kind && s.Day(len(s.Returns)) == day {
			s.Returns = append(s.Returns, x)
			return list
		}
	}
	return append(list, bundle.DailyReturns{
		Kind: kind, From: time.UnixMilli(day * dayMillis).UTC().Format(time.DateOnly), Returns: []float64{x},
	})
}

// SharpeLow is the Sharpe ratio of returns per observation and its lower bound, z standard
// errors below; false for fewer than 11 or where none differs from another. The standard
// error is that of Mertens (2002), "Comments on variance of the IID estimator in Lo (2002)":
// the root of (1 - g3 SR + (g4 - 1)/4 SR^2) / (T - 1), as Bailey and Lopez de Prado (2012),
// "The Sharpe ratio efficient frontier", use it. Returns count as independent.
func SharpeLow(returns []float64, z float64) (sharpe, low float64, ok bool) {
	n := float64(len(returns))
	if len(returns) < leastReturns {
		return 0, 0, false
	}
	mean := sum(returns, func(x float64) float64 { return x }) / n
	m2 := sum(returns, func(x float64) float64 { d := x - mean; return float64(d * d) }) / n
	m3 := sum(returns, func(x float64) float64 { d := x - mean; return float64(float64(d*d) * d) }) / n
	m4 := sum(returns, func(x float64) float64 {
		d := x - mean
		q := float64(d * d)
		return float64(q * q)
	}) / n
	std := math.Sqrt(m2 * n / (n - 1))
	if std <= 1e-12 {
		return 0, 0, false
	}
	sharpe = mean / std
	skew, kurt := m3/(m2*math.Sqrt(m2)), m4/(m2*m2)
	square := float64(sharpe * sharpe)
	variance := (1 - float64(skew*sharpe) + float64((kurt-1)/4*square)) / (n - 1)
	if !(variance > 0) {
		return 0, 0, false
	}
	return sharpe, sharpe - float64(z*math.Sqrt(variance)), true
}

// sum adds what of makes of each value, with the rest that rounding leaves (Neumaier 1974).
func sum(values []float64, of func(float64) float64) float64 {
	total, rest := 0.0, 0.0
	for _, v := range values {
		x := of(v)
		t := total + x
		if math.Abs(total) >= math.Abs(x) {
			rest += (total - t) + x
		} else {
			rest += (x - t) + total
		}
		total = t
	}
	return total + rest
}

// level is the equity at the end of a UTC day; day counts from 1970-01-01.
type level struct {
	day    int64
	equity float64
}

// dayLevels are the last levels of each UTC day of an equity curve. Its rows are closes: the
// one at midnight belongs to the day that ends there.
func dayLevels(name string, text []byte) ([]level, error) {
	var levels []level
	err := rows(name, text, "timestamp", func(at string, x []float64) error {
		equity := x[0]
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return err
		}
		day := dayOf(t.UnixMilli() - 1)
		switch n := len(levels); {
		case n > 0 && levels[n-1].day > day:
			return errors.New("its rows do not ascend")
		case n > 0 && levels[n-1].day == day:
			levels[n-1].equity = equity
		default:
			levels = append(levels, level{day, equity})
		}
		return nil
	}, "equity")
	return levels, err
}

// dayOf is the UTC day of a time in Unix milliseconds.
func dayOf(ms int64) int64 { return (ms - ((ms%dayMillis)+dayMillis)%dayMillis) / dayMillis }

// holding is the upper bound of the mean daily difference to holding: mean + z90 s/sqrt(n),
// with the standard deviation of the sample; days count as independent.
func holding(files Files, d *bundle.Derived) error {
	text, err := files(BenchmarkName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var list []float64
	if err := rows(BenchmarkName, text, "date", func(_ string, x []float64) error {
		list = append(list, x[0])
		return nil
	}, "difference"); err != nil || len(list) < leastReturns {
		return err
	}
	n := float64(len(list))
	mean := sum(list, func(x float64) float64 { return x }) / n
	m2 := sum(list, func(x float64) float64 { e := x - mean; return float64(e * e) }) / (n - 1)
	d.Figures[FigureHolding] = mean + float64(z90*math.Sqrt(m2/n))
	return nil
}

// rows calls do with a text and finite numbers of each row of a table, by the names of their
// columns.
func rows(name string, text []byte, key string, do func(string, []float64) error, values ...string) error {
	r := csv.NewReader(bytes.NewReader(text))
	r.ReuseRecord = true
	header, err := r.Read()
	if err != nil {
		return invalid(name, "it is no table")
	}
	k, at, numbers := slices.Index(header, key), make([]int, len(values)), make([]float64, len(values))
	for i, value := range values {
		if at[i] = slices.Index(header, value); k < 0 || at[i] < 0 {
			return invalid(name, "it has no columns %s and %s", key, value)
		}
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return invalid(name, "a row cannot be read")
		}
		for i, value := range values {
			x, err := strconv.ParseFloat(row[at[i]], 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return invalid(name, "%s is not a number", value)
			}
			numbers[i] = x
		}
		if err := do(row[k], numbers); err != nil {
			return invalid(name, "a row is not one of a lab: %v", err)
		}
	}
}

// safeName reports whether an id of a split names a folder and nothing else.
func safeName(id string) bool {
	return id != "" && bundle.ValidArtifactPath("runs/x/"+id, "x") && !bytes.ContainsRune([]byte(id), '/')
}
