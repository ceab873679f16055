// Package split divides the candles of an evaluation into train, validation, test and
// walk-forward windows.
//
// A Scheme and the number of candles come in; ranges of candle indices come out, half
// open and in integer arithmetic, so that they never depend on parameters, on the
// machine or on what a strategy does. The caller turns them into artifact.Splits with
// the close times, runs one simulation per range and never lets one of them see the
// candles behind it. Indices count the distinct close times of all symbols.
//
// The package may import artifact, whose type it fills, and the market nouns.
package split

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The names of schemes.
const (
	Default     = "default"
	Holdout     = "holdout"
	WalkForward = "walk_forward"
	CPCV        = "cpcv"
	None        = "none"
)

// The roles of ranges.
const (
	RoleTrain       = "train"
	RoleValidation  = "validation"
	RoleTest        = "test"
	RoleSearch      = "search"
	RoleWalkForward = "walk_forward"
	RoleFull        = "full"
)

// MinCandles is the fewest candles that can be split.
const MinCandles = 100

// maxSplits bounds what a scheme may make.
const maxSplits = 100_000

// Scheme is how to split, as "splits" in lab.json has it. Lengths are candles.
type Scheme struct {
	Scheme string `json:"scheme"`
	// Train, Test and Step are the windows of walk_forward; Step is Test if 0.
	Train       int  `json:"train,omitempty"`
	Test        int  `json:"test,omitempty"`
	Step        int  `json:"step,omitempty"`
	Anchored    bool `json:"anchored,omitempty"`
	KeepPartial bool `json:"keep_partial,omitempty"`
	// Folds and TestFolds are those of cpcv, 6 and 2 if 0.
	Folds     int `json:"n_folds,omitempty"`
	TestFolds int `json:"n_test_folds,omitempty"`
	// Purge is how many candles lie between training and test; nil: what the strategy
	// holds at most. Embargo follows a test block of cpcv; nil: ceil(n/100).
	Purge   *int `json:"purge,omitempty"`
	Embargo *int `json:"embargo,omitempty"`
	// First is how many of the walk-forward windows are played, the first ones; 0: all.
	// It is no field of lab.json: successive halving sets it for the trials of a rung.
	First int `json:"windows,omitempty"`
}

// TooShortError is too few candles for the scheme.
type TooShortError struct {
	Candles, Needed int
	What            string
}

// Error has how many candles are needed.
func (e *TooShortError) Error() string {
	return fmt.Sprintf("%d candles are too few for %s: at least %d are needed", e.Candles, e.What, e.Needed)
}

// FieldError is a bad value of a Scheme; Pointer is below "splits".
type FieldError struct{ Pointer, Message string }

// Error names the field and what is wrong with it.
func (e *FieldError) Error() string { return e.Pointer + " " + e.Message }

func bad(pointer, format string, args ...any) error {
	return &FieldError{pointer, fmt.Sprintf(format, args...)}
}

// Validate checks everything that does not depend on the data.
func (s *Scheme) Validate() error {
	var errs []error
	least := func(pointer string, value, least int) {
		if value < least {
			errs = append(errs, bad(pointer, "must be at least %d", least))
		}
	}
	switch s.Scheme {
	case Default, Holdout, None:
	case WalkForward:
		least("/train", s.Train, 1)
		least("/test", s.Test, 1)
		least("/step", s.Step, 0)
	case CPCV:
		least("/n_folds", s.folds(), 2)
		least("/n_test_folds", s.testFolds(), 1)
		if s.testFolds() >= s.folds() {
			errs = append(errs, bad("/n_test_folds", "must be below n_folds"))
		}
	default:
		return bad("/scheme", "%q is not one of default, holdout, walk_forward, cpcv, none", s.Scheme)
	}
	least("/purge", s.purge(0), 0)
	least("/embargo", s.embargo(0), 0)
	for _, f := range []struct {
		pointer, of string
		set         bool
	}{
		{"/train", WalkForward, s.Train != 0}, {"/test", WalkForward, s.Test != 0},
		{"/step", WalkForward, s.Step != 0},
		{"/anchored", WalkForward, s.Anchored}, {"/keep_partial", WalkForward, s.KeepPartial},
		{"/n_folds", CPCV, s.Folds != 0}, {"/n_test_folds", CPCV, s.TestFolds != 0},
		{"/embargo", CPCV, s.Embargo != nil},
	} {
		if f.set && s.Scheme != f.of {
			errs = append(errs, bad(f.pointer, "is not a field of scheme %s", s.Scheme))
		}
	}
	return errors.Join(errs...)
}

func (s *Scheme) folds() int { return cmp.Or(s.Folds, 6) }

func (s *Scheme) testFolds() int { return cmp.Or(s.TestFolds, 2) }

func (s *Scheme) step() int { return cmp.Or(s.Step, s.Test) }

// embargo is the scheme's own, else ceil(n/100).
func (s *Scheme) embargo(n int) int {
	if s.Embargo != nil {
		return *s.Embargo
	}
	return (n + 99) / 100
}

// purge is the scheme's own, else what the strategy may hold.
func (s *Scheme) purge(holding int) int {
	if s.Purge != nil {
		return *s.Purge
	}
	return holding
}

// Folds is one choice of combinatorial purged cross-validation: the test folds and
// what is left to train on, as ascending half-open ranges of candles.
type Folds struct {
	// Chosen are the numbers of the test folds.
	Chosen      []int
	Test, Train [][2]int
}

// Folded are the C(N, k) choices of a cpcv scheme over n candles, in lexicographic
// order. Purge candles are dropped from training on both sides of a test block,
// embargo candles after it besides. Source: Lopez de Prado, Advances in Financial
// Machine Learning (2018), chapter 12.
func (s *Scheme) Folded(n, holding int) ([]Folds, error) {
	folds, chosen, purge, embargo := s.folds(), s.testFolds(), s.purge(holding), s.embargo(n)
	if c := choices(folds, chosen); c > maxSplits {
		return nil, bad("/n_folds", "and n_test_folds make more than %d splits", maxSplits)
	}
	size := n / folds
	if purge+embargo >= size-1 {
		return nil, bad("/embargo", "and purge take %d candles of folds that have %d", purge+embargo, size)
	}
	// The last fold takes the remainder.
	fold := func(i int) [2]int {
		if i == folds-1 {
			return [2]int{i * size, n}
		}
		return [2]int{i * size, (i + 1) * size}
	}
	var out []Folds
	combinations(folds, chosen, func(test []int) {
		f := Folds{Chosen: append([]int(nil), test...)}
		for _, i := range test {
			f.Test = append(f.Test, fold(i))
		}
		f.Train = training(n, f.Test, purge, embargo)
		out = append(out, f)
	})
	return out, nil
}

// Paths is how many full paths the choices of a cpcv scheme put together: k/N C(N,k).
func (s *Scheme) Paths() int {
	return int(math.Round(choices(s.folds(), s.testFolds()) * float64(s.testFolds()) / float64(s.folds())))
}

// training is [0, n) without the test blocks and their surroundings. Neighbouring
// test folds are one block.
func training(n int, test [][2]int, purge, embargo int) [][2]int {
	var out [][2]int
	from := 0
	for i, block := range test {
		if to := block[0] - purge; to > from {
			out = append(out, [2]int{from, to})
		}
		if i+1 < len(test) && test[i+1][0] == block[1] {
			from = block[1]
			continue
		}
		from = block[1] + purge + embargo
	}
	if from < n {
		out = append(out, [2]int{from, n})
	}
	return out
}

// choices is C(n, k) as a float, which cannot overflow.
func choices(n, k int) float64 {
	c := 1.0
	for i := 1; i <= k; i++ {
		c = c * float64(n-k+i) / float64(i)
	}
	return math.Round(c)
}

// combinations calls use with every k of 0..n-1 in lexicographic order.
func combinations(n, k int, use func([]int)) {
	at := make([]int, k)
	for i := range at {
		at[i] = i
	}
	for {
		use(at)
		i := k - 1
		for i >= 0 && at[i] == n-k+i {
			i--
		}
		if i < 0 {
			return
		}
		at[i]++
		for j := i + 1; j < k; j++ {
			at[j] = at[j-1] + 1
		}
	}
}

// Range is the candles [From, To) of one split. Train and Test are the halves of a
// pair, nil where there is none.
type Range struct {
	ID, Role    string
	From, To    int
	Train, Test *[2]int
}

// Ranges divides n candles; holding is the longest time, in candles, that the
// strategy declares to hold a position, the default of the purge. The error is a
// *FieldError or a *TooShortError.
func (s *Scheme) Ranges(n, holding int) ([]Range, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if n < MinCandles {
		return nil, &TooShortError{n, MinCandles, "splitting"}
	}
	purge := s.purge(holding)
	switch s.Scheme {
	case None:
		return []Range{{ID: RoleFull, Role: RoleFull, To: n}}, nil
	case Holdout:
		return holdout(n), nil
	case WalkForward:
		return s.walkForward(n, purge)
	case CPCV:
		if _, err := s.Folded(n, holding); err != nil {
			return nil, err
		}
		return holdout(n), nil
	}
	return defaults(n, purge)
}

// Windows are the pairs of a walk_forward scheme over n candles, however few: Ranges
// without MinCandles. The errors are those of Ranges.
func (s *Scheme) Windows(n, holding int) ([]Range, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s.walkForward(n, s.purge(holding))
}

// holdout is 60, 20 and 20 percent, rounded down but for the last.
func holdout(n int) []Range {
	train := 6 * n / 10
	validation := train + 2*n/10
	return []Range{
		{ID: RoleTrain, Role: RoleTrain, From: 0, To: train},
		{ID: RoleValidation, Role: RoleValidation, From: train, To: validation},
		{ID: RoleTest, Role: RoleTest, From: validation, To: n},
	}
}

// The shape of the default walk-forward: the search part in eighths, three to train
// and one to test, five times.
const (
	defaultParts   = 8
	defaultTrain   = 3
	defaultWindows = 5
)

func defaults(n, purge int) ([]Range, error) {
	out := holdout(n)
	s := out[1].To
	out = append(out, Range{ID: RoleSearch, Role: RoleSearch, From: 0, To: s})
	m := s / defaultParts
	if purge >= defaultTrain*m {
		return nil, &TooShortError{n, 10 * (purge/defaultTrain + 1),
			fmt.Sprintf("a purge of %d candles", purge)}
	}
	for k, test := range Tests(s) {
		out = append(out, pair(k, [2]int{k * m, test[0] - purge}, test)...)
	}
	return out, nil
}

// Tests are the test windows of the default walk-forward over n candles of search. There
// are none that are empty.
func Tests(n int) [][2]int {
	m := n / defaultParts
	if m == 0 {
		return nil
	}
	out := make([][2]int, defaultWindows)
	for k := range out {
		at := (k + defaultTrain) * m
		out[k] = [2]int{at, at + m}
	}
	return out
}

// pair is the two ranges of a walk-forward window.
func pair(k int, train, test [2]int) []Range {
	id := fmt.Sprintf("wf-%02d", k)
	return []Range{
		{ID: id + "-train", Role: RoleTrain, From: train[0], To: train[1], Train: &train, Test: &test},
		{ID: id, Role: RoleWalkForward, From: test[0], To: test[1], Train: &train, Test: &test},
	}
}

func (s *Scheme) walkForward(n, purge int) ([]Range, error) {
	var out []Range
	for k := 0; ; k++ {
		train := [2]int{k * s.step(), k*s.step() + s.Train}
		if s.Anchored {
			train[0] = 0
		}
		test := [2]int{train[1] + purge, train[1] + purge + s.Test}
		partial := test[1] > n && s.KeepPartial
		if partial {
			test[1] = n
		}
		if test[0] >= n || test[1] > n {
			break
		}
		if out = append(out, pair(k, train, test)...); len(out) > 2*maxSplits {
			return nil, bad("/step", "makes more than %d windows", maxSplits)
		}
		if partial { // only the last test may be shorter
			break
		}
	}
	if len(out) == 0 {
		return nil, &TooShortError{n, s.Train + purge + s.Test, "one walk-forward window"}
	}
	return out, nil
}

// Over is the content of splits.json: the ranges of a scheme over the close times of
// all symbols together, which ascend and differ.
func (s *Scheme) Over(closes []market.Time, holding int) (artifact.Splits, error) {
	ranges, err := s.Ranges(len(closes), holding)
	if err != nil {
		return artifact.Splits{}, err
	}
	out := artifact.FullSplit(slices.Values(closes))
	out.Scheme, out.Params, out.Splits = s.Scheme, s.params(len(closes), holding), nil
	for _, r := range ranges {
		out.Splits = append(out.Splits, artifact.SplitRange{
			ID: r.ID, Role: r.Role, Train: r.Train, Test: r.Test, From: r.From, To: r.To,
			TSFrom: closes[r.From], TSTo: closes[r.To-1],
		})
	}
	return out, nil
}

// params are the numbers that the scheme was made with, defaults filled in.
func (s *Scheme) params(n, holding int) map[string]any {
	p := map[string]any{}
	if s.First > 0 {
		p["windows"] = s.First
	}
	switch s.Scheme {
	case Default:
		p["purge"] = s.purge(holding)
	case WalkForward:
		p["train"], p["test"], p["step"], p["purge"] = s.Train, s.Test, s.step(), s.purge(holding)
		p["anchored"], p["keep_partial"] = s.Anchored, s.KeepPartial
	case CPCV:
		p["n_folds"], p["n_test_folds"], p["purge"] = s.folds(), s.testFolds(), s.purge(holding)
		p["embargo"] = s.embargo(n)
	}
	return p
}
