package eval

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat/eval/line"
)

// The largest splits that are spelled out index by index.
const (
	mostCandles = 10_000_000
	mostIndices = 5_000_000
	mostFolds   = 1000
)

func splitFunctions() []Function {
	return []Function{
		{
			Names: []string{"rolling", "rolling purged"}, Forms: form("n", "train", "test", "step", "purge"), Value: "[[train[], test[]]]",
			Doc: "Walk-forward windows, as indices of candles.",
			bind: func(in *line.Inputs) func() any {
				s, n := windows(in)
				purge := in.Integer("purge", 0, mostCandles)
				s.Step, s.Purge = in.Integer("step", 1, mostCandles), &purge
				return func() any { return walk(s, n) }
			},
		},
		{
			Names: []string{"anchored + partial last test", "rolling + partial last test"}, Forms: form("n", "train", "test", "anchored", "keep_partial"), Value: "[[train[], test[]]]",
			Doc: "Walk-forward windows that step by their test, with a shorter last one if asked for.",
			bind: func(in *line.Inputs) func() any {
				s, n := windows(in)
				s.Anchored, s.KeepPartial = in.Flag("anchored"), in.Flag("keep_partial")
				s.Purge = new(int)
				return func() any { return walk(s, n) }
			},
		},
		{
			Names: []string{"purge 1", "embargo 1"}, Forms: form("n", "n_folds", "n_test_folds", "purge", "embargo"), Value: "[[train[], [test fold[]]]]",
			Doc: "Combinatorial purged cross-validation, as indices of candles.",
			bind: func(in *line.Inputs) func() any {
				n, purge, embargo := in.Integer("n", 1, mostCandles), in.Integer("purge", 0, mostCandles), in.Integer("embargo", 0, mostCandles)
				s := folds(in)
				s.Purge, s.Embargo = &purge, &embargo
				return func() any { return folded(s, n) }
			},
		},
		{
			Names: []string{"paths"}, Forms: form("n_folds", "n_test_folds"), Value: "n_splits, n_paths, recombined_paths[[]], path_ids[[]]",
			Doc: "Which splits test each fold, and which path each test fold of a split belongs to.",
			bind: func(in *line.Inputs) func() any {
				s := folds(in)
				return func() any { return paths(s) }
			},
		},
		{
			Names: []string{"counts"}, Forms: form("rows[[n_folds, n_test_folds]]"), Value: "[[splits, paths]]",
			Doc: "Number of splits and of paths.",
			bind: func(in *line.Inputs) func() any {
				rows := in.Rows("rows", line.Whole(2, mostFolds), line.Whole(1, mostFolds))
				for i, r := range rows {
					if len(r) == 2 && r[1] >= r[0] {
						in.Refuse(line.InvalidArgument, "rows", []any{i, 1}, "n_test_folds must be below n_folds")
					}
				}
				return func() any { return counts(rows) }
			},
		},
		{
			Names: []string{"60/20/20 floor rule"}, Forms: form("n[]", "fractions[]"), Value: "[[[a,b],[a,b],[a,b]]]",
			Doc:  "Train, validation and test as half-open ranges of candles, rounded down but for the last.",
			bind: floorRule,
		},
	}
}

func windows(in *line.Inputs) (*split.Scheme, int) {
	s := &split.Scheme{Scheme: split.WalkForward, Train: in.Integer("train", 1, mostCandles), Test: in.Integer("test", 1, mostCandles)}
	return s, in.Integer("n", 1, mostCandles)
}

func folds(in *line.Inputs) *split.Scheme {
	s := &split.Scheme{Scheme: split.CPCV, Folds: in.Integer("n_folds", 2, mostFolds), TestFolds: in.Integer("n_test_folds", 1, mostFolds)}
	if s.TestFolds >= s.Folds {
		in.Refuse(line.InvalidArgument, "n_test_folds", nil, "n_test_folds must be below n_folds")
	}
	return s
}

// schemeError is the refusal of an error of package split.
func schemeError(err error) *line.Error {
	var field *split.FieldError
	if errors.As(err, &field) {
		name := strings.TrimPrefix(field.Pointer, "/")
		return refused(name, "%s %s", name, field.Message)
	}
	return refused("n", "%v", err)
}

func walk(s *split.Scheme, n int) any {
	ranges, err := s.Windows(n, 0)
	if err != nil {
		return schemeError(err)
	}
	out, total := []any{}, 0
	for _, r := range ranges {
		if r.Role != split.RoleWalkForward {
			continue
		}
		if total += r.Train[1] - r.Train[0] + r.Test[1] - r.Test[0]; total > mostIndices {
			return tooMuch("n", "more than %d indices would be listed", mostIndices)
		}
		out = append(out, [][]int{indices(*r.Train), indices(*r.Test)})
	}
	return out
}

func folded(s *split.Scheme, n int) any {
	choices, err := s.Folded(n, 0)
	if err != nil {
		return schemeError(err)
	}
	if len(choices)*n > mostIndices {
		return tooMuch("n", "%d splits of %d candles would be listed: at most %d indices are", len(choices), n, mostIndices)
	}
	out := []any{}
	for _, c := range choices {
		train, test := []int{}, [][]int{}
		for _, r := range c.Train {
			train = append(train, indices(r)...)
		}
		for _, r := range c.Test {
			test = append(test, indices(r))
		}
		out = append(out, []any{train, test})
	}
	return out
}

func indices(r [2]int) []int {
	out := make([]int, 0, r[1]-r[0])
	for i := r[0]; i < r[1]; i++ {
		out = append(out, i)
	}
	return out
}

// paths puts the splits that test a fold, in their order, onto the paths 0, 1, ...
func paths(s *split.Scheme) any {
	// The choice of folds does not depend on the candles: three for each are enough.
	s.Purge, s.Embargo = new(int), new(int)
	choices, err := s.Folded(3*s.Folds, 0)
	if err != nil {
		return schemeError(err)
	}
	recombined, ids := make([][]int, s.Folds), make([][]int, len(choices))
	for i, c := range choices {
		for _, fold := range c.Chosen {
			ids[i] = append(ids[i], len(recombined[fold]))
			recombined[fold] = append(recombined[fold], i)
		}
	}
	return line.Object{
		{Name: "n_splits", Value: len(choices)}, {Name: "n_paths", Value: s.Paths()},
		{Name: "recombined_paths", Value: recombined}, {Name: "path_ids", Value: ids},
	}
}

func counts(rows [][]float64) any {
	out := [][]any{}
	for i, r := range rows {
		n, k := int64(r[0]), int64(r[1])
		splits := new(big.Int).Binomial(n, k)
		if splits.BitLen() > 53 {
			return line.Errorf(line.UnsupportedInput, []any{"inputs", "rows", i}, "the splits do not fit a JSON number")
		}
		// k/n C(n,k) = C(n-1,k-1), a whole number.
		out = append(out, []any{splits.Int64(), new(big.Int).Binomial(n-1, k-1).Int64()})
	}
	return out
}

// floorRule takes fractions for the decimals that they were written as: 0.6 is 6/10, and
// not the float next to it, whose products may fall short of a whole number.
func floorRule(in *line.Inputs) func() any {
	sizes, fractions := in.Integers("n", 0, math.MaxInt), in.Numbers("fractions", line.From(0, 1))
	if len(fractions) != 3 {
		in.Refuse(line.InvalidArgument, "fractions", nil, "fractions are three, of train, validation and test")
	}
	exact, sum := make([]*big.Rat, len(fractions)), 0.0
	for i, f := range fractions {
		exact[i], _ = new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		sum += f
	}
	if math.Abs(sum-1) > 1e-9 {
		in.Refuse(line.InvalidArgument, "fractions", nil, "fractions must add up to 1")
	}
	return func() any {
		out := []any{}
		for _, n := range sizes {
			train := share(exact[0], n)
			validation := min(train+share(exact[1], n), n)
			out = append(out, [][]int{{0, train}, {train, validation}, {validation, n}})
		}
		return out
	}
}

// share is floor(fraction n).
func share(fraction *big.Rat, n int) int {
	num := new(big.Int).Mul(fraction.Num(), big.NewInt(int64(n)))
	return int(num.Quo(num, fraction.Denom()).Int64())
}
