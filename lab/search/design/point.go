package design

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/assay-run/assay/host/base/digest"
)

// A coordinate is what a parameter has at a point: the number itself of an int or a
// float, the index of a choice, 0 or 1 of a bool.

// lattice is the values low, low + step, ... of a parameter that has finitely many;
// count is 0 for one that has not. step is nil where the values are low + i exactly.
type lattice struct {
	count     int
	low, step *big.Rat
}

// lattice is the values of a decoded parameter. Steps of a float are decimal, as
// they were written: 0.1 + 2 x 0.1 is 0.3.
func (p *Parameter) lattice() (lattice, error) {
	switch p.Kind {
	case Bool:
		return lattice{count: 2}, nil
	case Choice:
		return lattice{count: len(p.Values)}, nil
	}
	if p.Step == 0 {
		return lattice{}, nil
	}
	l := lattice{low: decimal(p.Low), step: decimal(p.Step)}
	steps := new(big.Rat).Sub(decimal(p.High), l.low)
	steps.Quo(steps, l.step)
	n := new(big.Int).Quo(steps.Num(), steps.Denom())
	if !n.IsInt64() || n.Int64() >= mostWhole {
		return l, bad("/step", "is too small for the range")
	}
	l.count = int(n.Int64()) + 1
	return l, nil
}

// decimal is the shortest decimal number that reads as x, exactly.
func decimal(x float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64)) // always a number here
	return r
}

func (l *lattice) value(i int) float64 {
	if l.step == nil {
		return float64(i)
	}
	if l.step.IsInt() && l.low.IsInt() && l.low.Num().IsInt64() && l.step.Num().IsInt64() {
		// As much as fits: the sum is an end of the range at most.
		return float64(l.low.Num().Int64() + l.step.Num().Int64()*int64(i))
	}
	x := new(big.Rat).SetInt64(int64(i))
	f, _ := x.Add(x.Mul(x, l.step), l.low).Float64()
	return f
}

// nearest is the index of the lattice whose value is nearest to x, the upper of two.
func (p *Parameter) nearest(x float64) int {
	i := math.Floor((x-p.Low)/p.Step + 0.5)
	return int(min(max(i, 0), float64(p.steps.count-1)))
}

// at is the coordinate of u in [0, 1).
func (p *Parameter) at(u float64) float64 {
	if p.Kind != Float {
		return p.steps.value(min(int(u*float64(p.steps.count)), p.steps.count-1))
	}
	x := float64(u*(p.High-p.Low)) + p.Low
	if p.Log {
		low := math.Log(p.Low)
		x = math.Exp(float64(u*(math.Log(p.High)-low)) + low)
	}
	if p.steps.count > 0 {
		return p.steps.value(p.nearest(x))
	}
	return min(max(Digits6(x), p.Low), p.High)
}

// At is the value of an int or a float at u of [0, 1).
func (p Parameter) At(u float64) float64 { return p.at(u) }

// position is where a coordinate lies in [0, 1): the middle of all that gives a value
// which is one of few.
func (p *Parameter) position(x float64) float64 {
	u := 0.5
	switch {
	case p.Kind == Int:
		u = ((x-p.Low)/p.Step + 0.5) / float64(p.steps.count)
	case p.Kind != Float:
		u = (x + 0.5) / float64(p.steps.count)
	case p.High == p.Low:
	case p.Log:
		u = (math.Log(x) - math.Log(p.Low)) / (math.Log(p.High) - math.Log(p.Low))
	default:
		u = (x - p.Low) / (p.High - p.Low)
	}
	return min(max(u, 0), 1-0x1p-53)
}

// Digits6 is x with 6 significant digits; -0 becomes 0.
func Digits6(x float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 5, 64), 64)
	return r + 0
}

// At is the parameters at a point u of [0, 1)^d, as canonical JSON. It panics unless
// there is a coordinate per parameter.
func (s Space) At(u []float64) (json.RawMessage, error) {
	return s.renderPoint(s.locatePoint(u))
}

func (s Space) locatePoint(u []float64) []float64 {
	if len(u) != len(s.parameters) {
		panic("design: a point has a coordinate per parameter")
	}
	out := make([]float64, len(u))
	for i := range s.parameters {
		out[i] = s.parameters[i].at(u[i])
	}
	return out
}

func (s Space) renderPoint(point []float64) (json.RawMessage, error) {
	object := make(map[string]any, len(point))
	for i, x := range point {
		switch p := &s.parameters[i]; p.Kind {
		case Choice:
			object[p.Name] = p.Values[int(x)]
		case Bool:
			object[p.Name] = x == 1
		default:
			object[p.Name] = x
		}
	}
	return digest.JCS(object)
}

// Position is where parameters lie in the unit cube, a coordinate per parameter of the
// space, so that At gives them again. Parameters that the space does not have are passed
// over; a *FieldError names one that is missing or that no point of the space has.
func (s Space) Position(params json.RawMessage) ([]float64, error) {
	point, err := s.readPoint(params)
	if err != nil {
		return nil, err
	}
	for i := range point {
		point[i] = s.parameters[i].position(point[i])
	}
	return point, nil
}

func (s Space) readPoint(params json.RawMessage) ([]float64, error) {
	text, err := canonical(params)
	if err != nil {
		return nil, err
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(text, &given) != nil || given == nil {
		return nil, bad("", "must be an object of parameters")
	}
	point := make([]float64, len(s.parameters))
	for i := range s.parameters {
		p := &s.parameters[i]
		x, ok := p.coordinate(given[p.Name])
		switch {
		case given[p.Name] == nil:
			return nil, bad("/"+digest.PointerStep(p.Name), "is missing")
		case !ok:
			return nil, bad("/"+digest.PointerStep(p.Name), "is not in the space")
		}
		point[i] = x
	}
	return point, nil
}

// coordinate reads a canonical value; false if the parameter cannot have it.
func (p *Parameter) coordinate(text json.RawMessage) (float64, bool) {
	switch p.Kind {
	case Bool:
		if string(text) == "true" {
			return 1, true
		}
		return 0, string(text) == "false"
	case Choice:
		for i, v := range p.Values {
			if string(v) == string(text) {
				return float64(i), true
			}
		}
		return 0, false
	}
	x, ok := numberOf(text)
	if !ok || x < p.Low || x > p.High {
		return 0, false
	}
	return x, p.steps.count == 0 || p.steps.value(p.nearest(x)) == x
}

// MostPoints is the largest number of points of a design.
const MostPoints = 100_000

// GridSize is the number of points of a grid with so many values along each axis, or
// MostPoints + 1 when there are more than MostPoints.
func GridSize(values []int) int {
	if slices.Contains(values, 0) {
		return 0
	}
	size := 1
	for _, n := range values {
		if n > MostPoints/size {
			return MostPoints + 1
		}
		size *= n
	}
	return size
}

// Grid calls use with every point of a grid, as an index per axis, the last axis
// fastest; use must not keep the slice. A grid without axes has one point.
func Grid(values []int, use func(at []int)) {
	if slices.Contains(values, 0) {
		return
	}
	at := make([]int, len(values))
	for {
		use(at)
		axis := len(at) - 1
		for axis >= 0 {
			if at[axis]++; at[axis] < values[axis] {
				break
			}
			at[axis] = 0
			axis--
		}
		if axis < 0 {
			return
		}
	}
}

// Rung is one round of successive halving: so many trials, each with this budget, in
// walk-forward windows.
type Rung struct{ Trials, Budget int }

// Rungs are the rounds of successive halving: rung j gives every trial least * eta^j,
// at most all, and floor(trials / eta) of them go on; it ends with the rung that has the
// whole budget, or when no trial is left. Source: Jamieson and Talwalkar (2016).
func Rungs(trials, eta, least, all int) ([]Rung, error) {
	switch {
	case trials < 1:
		return nil, fmt.Errorf("at least one trial is needed, not %d", trials)
	case eta < 2:
		return nil, fmt.Errorf("eta is at least 2, not %d", eta)
	case least < 1 || all < least:
		return nil, fmt.Errorf("the budget goes from at least 1 up, not from %d to %d", least, all)
	}
	var out []Rung
	for n, budget := trials, least; n >= 1; n /= eta {
		out = append(out, Rung{n, budget})
		if budget == all {
			break
		}
		if budget > all/eta {
			budget = all // also where budget * eta would overflow
		} else {
			budget *= eta
		}
	}
	return out, nil
}

// Halving are the [Rungs] of a search, the last of which has the whole budget: where no trial
// would be left for it, the best one goes on; one that is alone goes there at once.
func Halving(trials, eta, least, all int) ([]Rung, error) {
	out, err := Rungs(trials, eta, least, all)
	if err != nil {
		return nil, err
	}
	switch last := &out[len(out)-1]; {
	case last.Budget == all:
	case last.Trials == 1:
		last.Budget = all
	default:
		out = append(out, Rung{1, all})
	}
	return out, nil
}
