package split

import "fmt"

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
		return nil, &TooShortError{n, 10 * (purge/defaultTrain + 1), fmt.Sprintf("a purge of %d candles", purge)}
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
	step := s.Step
	if step == 0 {
		step = s.Test
	}
	var out []Range
	for k := 0; ; k++ {
		train := [2]int{k * step, k*step + s.Train}
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
