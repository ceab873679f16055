package eval

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/split"
)

// The largest splits and designs that are spelled out.
const (
	mostCandles     = 10_000_000
	mostIndices     = 5_000_000
	mostFolds       = 1000
	mostCoordinates = 1_000_000
	mostGridBytes   = 64 << 20
)

// folds are those of a combinatorial cross-validation.
type folds struct {
	Folds     int `in:"n_folds" is:"2..folds"`
	TestFolds int `in:"n_test_folds" is:"1..folds"`
}

func splitFunctions() []Function {
	return []Function{
		define("rolling", "[[train[], test[]]]", "Walk-forward windows, as indices of candles.",
			func(in struct {
				N     int `in:"n" is:"1..candles"`
				Train int `in:"train" is:"1..candles"`
				Test  int `in:"test" is:"1..candles"`
				Step  int `in:"step" is:"1..candles"`
				Purge int `in:"purge" is:"0..candles"`
			}) any {
				s := split.Scheme{Scheme: split.WalkForward, Train: in.Train, Test: in.Test, Step: in.Step,
					Purge: &in.Purge}
				return walk(&s, in.N)
			}).named("rolling purged"),
		define("rolling_partial", "[[train[], test[]]]",
			"Walk-forward windows that step by their test, with a shorter last one if asked for.",
			func(in struct {
				N        int  `in:"n" is:"1..candles"`
				Train    int  `in:"train" is:"1..candles"`
				Test     int  `in:"test" is:"1..candles"`
				Anchored bool `in:"anchored"`
				Partial  bool `in:"keep_partial"`
			}) any {
				return walk(&split.Scheme{
					Scheme: split.WalkForward, Train: in.Train, Test: in.Test,
					Anchored: in.Anchored, KeepPartial: in.Partial, Purge: new(int),
				}, in.N)
			}).named("anchored + partial last test", "rolling + partial last test"),
		define("cpcv", "[[train[], [test fold[]]]]",
			"Combinatorial purged cross-validation, as indices of candles.",
			func(in struct {
				N int `in:"n" is:"1..candles"`
				folds
				Purge   int `in:"purge" is:"0..candles"`
				Embargo int `in:"embargo" is:"0..candles"`
			}) any {
				return in.choose(in.N, in.Purge, in.Embargo,
					func(_ *split.Scheme, choices []split.Folds) any {
						return folded(choices, in.N)
					})
			}).named("purge 1", "embargo 1"),
		define("paths", "n_splits, n_paths, recombined_paths[[]], path_ids[[]]",
			"Which splits test each fold, and which path each test fold of a split belongs to.",
			// The choice of folds does not depend on the candles: three for each are enough.
			func(in folds) any { return in.choose(3*in.Folds, 0, 0, paths) }),
		define("counts", "[[splits, paths]]", "Number of splits and of paths.", func(in struct {
			Rows [][2]int `in:"rows[[n_folds, n_test_folds]]" is:"2..folds; 1..folds"`
		}) any {
			for i, r := range in.Rows {
				if r[1] >= r[0] {
					return refused(at("rows", i, 1), "n_test_folds must be below n_folds")
				}
			}
			return counts(in.Rows)
		}),
		define("holdout", "[[[a,b],[a,b],[a,b]]]",
			"Train, validation and test as half-open ranges of candles, rounded down but for the last.",
			func(in struct {
				N         []int     `in:"n[]" is:"0..max"`
				Fractions []float64 `in:"fractions[]" is:"0..1"`
			}) any {
				return floorRule(in.N, in.Fractions)
			}).named("60/20/20 floor rule"),
	}
}

// schemeError is the refusal of an error of package split.
func schemeError(err error) *Error {
	var field *split.FieldError
	if errors.As(err, &field) {
		name := strings.TrimPrefix(field.Pointer, "/")
		return refused(at(name), "%s %s", name, field.Message)
	}
	return refused(at("n"), "%v", err)
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

// choose lists the choices of test folds among n candles.
func (f folds) choose(n, purge, embargo int, show func(*split.Scheme, []split.Folds) any) any {
	if f.TestFolds >= f.Folds {
		return refused(at("n_test_folds"), "n_test_folds must be below n_folds")
	}
	s := &split.Scheme{Scheme: split.CPCV, Folds: f.Folds, TestFolds: f.TestFolds, Purge: &purge,
		Embargo: &embargo}
	choices, err := s.Folded(n, 0)
	if err != nil {
		return schemeError(err)
	}
	return show(s, choices)
}

func folded(choices []split.Folds, n int) any {
	if len(choices)*n > mostIndices {
		return tooMuch("n", "%d splits of %d candles would be listed: at most %d indices are",
			len(choices), n, mostIndices)
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
func paths(s *split.Scheme, choices []split.Folds) any {
	recombined, ids := make([][]int, s.Folds), make([][]int, len(choices))
	for i, c := range choices {
		for _, fold := range c.Chosen {
			ids[i] = append(ids[i], len(recombined[fold]))
			recombined[fold] = append(recombined[fold], i)
		}
	}
	return fields("n_splits", len(choices), "n_paths", s.Paths(), "recombined_paths", recombined, "path_ids",
		ids)
}

func counts(rows [][2]int) any {
	out := [][]int64{}
	for i, r := range rows {
		n, k := int64(r[0]), int64(r[1])
		splits := new(big.Int).Binomial(n, k)
		if splits.BitLen() > 53 {
			return Errorf(UnsupportedInput, at("inputs", "rows", i), "the splits do not fit a JSON number")
		}
		// k/n C(n,k) = C(n-1,k-1), a whole number.
		out = append(out, []int64{splits.Int64(), new(big.Int).Binomial(n-1, k-1).Int64()})
	}
	return out
}

// floorRule takes fractions for the decimals that they were written as: 0.6 is 6/10, and
// not the float next to it, whose products may fall short of a whole number.
func floorRule(sizes []int, fractions []float64) any {
	if len(fractions) != 3 {
		return refused(at("fractions"), "fractions are three, of train, validation and test")
	}
	exact, sum := make([]*big.Rat, len(fractions)), 0.0
	for i, f := range fractions {
		exact[i], _ = new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		sum += f
	}
	if math.Abs(sum-1) > 1e-9 {
		return refused(at("fractions"), "fractions must add up to 1")
	}
	return each(sizes, func(n int) any {
		train := share(exact[0], n)
		validation := min(train+share(exact[1], n), n)
		return [][]int{{0, train}, {train, validation}, {validation, n}}
	})
}

// share is floor(fraction n).
func share(fraction *big.Rat, n int) int {
	num := new(big.Int).Mul(fraction.Num(), big.NewInt(int64(n)))
	return int(num.Quo(num, fraction.Denom()).Int64())
}

func designFunctions() []Function {
	return []Function{
		define("sobol", "[[]]", "First n points of the Sobol sequence in d dimensions, the origin included.",
			func(in struct {
				D int `in:"d" is:"1..dimensions"`
				N int `in:"n" is:"0..4294967296"`
			}) any {
				if in.N*in.D > mostCoordinates {
					return tooMuch("n", "%d points of %d dimensions are too many to list", in.N, in.D)
				}
				s, err := design.NewSobol(in.D)
				if err != nil {
					return refused(at("d"), "%v", err)
				}
				out := make([][]float64, in.N)
				for i := range out {
					out[i] = design.Unit(s.Next(), nil)
				}
				return out
			}).named("first 8 points unscrambled d=3"),
		define("rungs", "[[n, budget]]",
			"Rounds of successive halving: how many trials run with which budget.",
			func(in struct {
				N     int `in:"n" is:"1..max"`
				Eta   int `in:"eta" is:"2..max"`
				Least int `in:"min_budget" is:"1..max"`
				Most  int `in:"max_budget" is:"1..max"`
			}) any {
				if in.Most < in.Least {
					return refused(at("max_budget"), "max_budget is below min_budget")
				}
				rungs, err := design.Rungs(in.N, in.Eta, in.Least, in.Most)
				if err != nil {
					return refused(at("n"), "%v", err)
				}
				out := [][]int{}
				for _, r := range rungs {
					out = append(out, []int{r.Trials, r.Budget})
				}
				return out
			}),
		define("grid", "count, order[{}]",
			"Every combination of values, names sorted, the last name fastest.",
			func(in struct {
				Params lists `in:"params{name: []}"`
			}) any {
				return cartesian(in.Params.names, in.Params.values)
			}).named("cartesian order and count"),
	}
}

func cartesian(params []string, values [][]jsontext.Value) any {
	order := make([]int, len(params))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(params[i], params[j]) })
	sizes, longest := make([]int, len(order)), 0
	for axis, i := range order {
		sizes[axis] = len(values[i])
		longest += len(params[i]) + 4
		if len(values[i]) > 0 {
			longest += len(slices.MaxFunc(values[i],
				func(a, b jsontext.Value) int { return len(a) - len(b) }))
		}
	}
	count := design.GridSize(sizes)
	if count > design.MostPoints || count*longest > mostGridBytes {
		return tooMuch("params", "the grid is too large to list: it may have %d points and %d bytes",
			design.MostPoints, mostGridBytes)
	}
	points := []Object{}
	design.Grid(sizes, func(at []int) {
		point := Object{}
		for axis, i := range order {
			point = append(point, Field{params[i], values[i][at[axis]]})
		}
		points = append(points, point)
	})
	return fields("count", count, "order", points)
}
