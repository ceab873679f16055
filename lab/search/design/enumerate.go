package design

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/stat/random"
)

// Method is how the points of a search are picked.
type Method string

// The methods. SHA takes the points of Sobol and evaluates them in rungs.
const (
	GridMethod   Method = "grid"
	RandomMethod Method = "random"
	SobolMethod  Method = "sobol"
	LHSMethod    Method = "lhs"
	SHAMethod    Method = "sha"
)

// Methods lists the methods.
func Methods() []Method {
	return []Method{GridMethod, RandomMethod, SobolMethod, LHSMethod, SHAMethod}
}

// ParseMethod is the method of a name; the error is a *FieldError without a pointer.
func ParseMethod(name string) (Method, error) {
	if m := Method(name); slices.Contains(Methods(), m) {
		return m, nil
	}
	return "", bad("", "must be one of grid, random, sobol, lhs, sha")
}

// drawsPerTrial bounds the search for points that are allowed and new.
const drawsPerTrial = 100

// Design is a search before it begins.
type Design struct {
	Space       Space
	Constraints []Constraint
	// Fixed is a JSON object of the parameters that a constraint may name besides; those
	// of the space go first.
	Fixed  json.RawMessage
	Method Method
	Seed   uint64
	// Max is how many points to pick, at least 1.
	Max int
}

// Points are what a design has picked.
type Points struct {
	// Params are the points in order, canonical JSON of the parameters of the space.
	Params []json.RawMessage
	// Left is how many points of a grid were left out because there were Max already.
	Left int
}

// TightError is a space with too few points that are allowed.
type TightError struct{ Wanted, Found, Draws int }

// Error ends with what to do.
func (e *TightError) Error() string {
	if e.Found == 0 {
		return fmt.Sprintf(
			"%d draws gave no point that the constraints allow: loosen them, or widen the space", e.Draws)
	}
	return fmt.Sprintf(
		"%d draws gave %d different points that the constraints allow, not %d: ask for fewer trials, "+
			"widen the space, or take the method grid",
		e.Draws, e.Found, e.Wanted)
}

// LargeError is a design of more than MostPoints points. Pointer is the place below the design.
type LargeError struct{ Pointer, What string }

// Error names what is too large.
func (e *LargeError) Error() string {
	return fmt.Sprintf("%s has more than %d points", e.What, MostPoints)
}

// Enumerate picks all the points, each of them allowed and different from the others. The
// error is *FieldErrors, a *TightError or a *LargeError.
func (d Design) Enumerate() (*Points, error) {
	rules, err := d.check()
	if err != nil {
		return nil, err
	}
	c := &collector{design: &d, rules: rules, seen: map[string]bool{},
		out: &Points{Params: []json.RawMessage{}}}
	if d.Method == GridMethod {
		return c.grid()
	}
	if d.Max > MostPoints {
		return nil, &LargeError{"/max_trials", "the search"}
	}
	next := d.drawer()
	for draws := range drawsPerTrial * d.Max {
		if len(c.out.Params) == d.Max {
			break
		}
		if err := c.add(d.Space.locatePoint(next(draws))); err != nil {
			return nil, err
		}
	}
	if n := len(c.out.Params); n < d.Max {
		return nil, &TightError{Wanted: d.Max, Found: n, Draws: drawsPerTrial * d.Max}
	}
	return c.out, nil
}

// check is everything that can be wrong with a design but its size.
func (d *Design) check() ([]rule, error) {
	if _, err := ParseMethod(string(d.Method)); err != nil {
		return nil, Below("/method", err)
	}
	var faults faultList
	if d.Max < 1 {
		faults.add("/max_trials", "must be at least 1")
	}
	if d.Space.Len() == 0 {
		faults.add("/space", "must have a parameter at least")
	}
	if n := d.Space.Len(); n > MostDimensions && (d.Method == SobolMethod || d.Method == SHAMethod) {
		faults.add("/space", "has %d parameters: the method %s takes %d at most", n, d.Method, MostDimensions)
	}
	for i := range d.Space.parameters {
		if p := &d.Space.parameters[i]; d.Method == GridMethod && p.steps.count == 0 {
			faults.add("/space/"+digest.PointerStep(p.Name)+"/step", "is missing: a grid needs it")
		}
	}
	fixed := map[string]json.RawMessage{}
	if len(d.Fixed) > 0 {
		text, err := canonical(d.Fixed)
		if err != nil {
			return nil, fmt.Errorf("the fixed parameters: %v", err)
		}
		if err := json.Unmarshal(text, &fixed); err != nil {
			return nil, fmt.Errorf("the fixed parameters: %w", err)
		}
	}
	rules, err := d.Space.resolveRules(d.Constraints, fixed)
	if err != nil {
		faults.errs = append(faults.errs, err)
	}
	return rules, faults.err()
}

// collector keeps the points that are allowed and new.
type collector struct {
	design *Design
	rules  []rule
	seen   map[string]bool
	out    *Points
	key    []byte
}

func (c *collector) add(point []float64) error {
	for i := range c.rules {
		if !c.rules[i].holds(point) {
			return nil
		}
	}
	c.key = c.key[:0]
	for _, x := range point {
		c.key = binary.BigEndian.AppendUint64(c.key, math.Float64bits(x+0)) // -0 is 0
	}
	if c.seen[string(c.key)] {
		return nil
	}
	if len(c.out.Params) == c.design.Max {
		c.out.Left++
		return nil
	}
	c.seen[string(c.key)] = true
	params, err := c.design.Space.renderPoint(point)
	c.out.Params = append(c.out.Params, params)
	return err
}

func (c *collector) grid() (*Points, error) {
	list := c.design.Space.parameters
	sizes := make([]int, len(list))
	for i := range list {
		sizes[i] = list[i].steps.count
	}
	size := GridSize(sizes)
	if size > MostPoints {
		return nil, &LargeError{"/space", "the grid"}
	}
	point := make([]float64, len(list))
	var err error
	Grid(sizes, func(at []int) {
		for i := range list {
			point[i] = list[i].steps.value(at[i])
		}
		if err == nil {
			err = c.add(point)
		}
	})
	if err == nil && len(c.out.Params) == 0 {
		err = &TightError{Wanted: 1, Draws: size}
	}
	if err != nil {
		return nil, err
	}
	return c.out, nil
}

// drawer gives the points of a method that draws, in order.
func (d *Design) drawer() func(draw int) []float64 {
	n := d.Space.Len()
	switch d.Method {
	case RandomMethod:
		stream := random.New(d.Seed, random.Random, 0)
		return func(int) []float64 {
			u := make([]float64, n)
			for i := range u {
				u[i] = stream.Float64()
			}
			return u
		}
	case LHSMethod:
		var batch [][]float64
		return func(draw int) []float64 {
			if draw%d.Max == 0 {
				// The first batch has every stratum once. Others only stand in for what of it
				// is not allowed.
				batch = Latin(random.New(d.Seed, random.LHS, uint64(draw/d.Max)), d.Max, n)
			}
			return batch[draw%d.Max]
		}
	}
	sobol, _ := NewSobol(n) // check has looked at the number of dimensions
	shift := Shift(random.New(d.Seed, random.SobolShift, 0), n)
	return func(int) []float64 { return Unit(sobol.Next(), shift) }
}

// Shift is 32 bits per dimension: the upper ones of a draw each.
func Shift(stream *random.Stream, dimensions int) []uint32 {
	out := make([]uint32, dimensions)
	for i := range out {
		out[i] = uint32(stream.Uint64() >> 32)
	}
	return out
}

// Latin is n points of a Latin hypercube in [0, 1)^d: along every dimension each of n
// equal strata has one. Source: McKay, Beckman and Conover (1979).
func Latin(stream *random.Stream, n, dimensions int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, dimensions)
	}
	for k := range dimensions {
		for i, stratum := range stream.Perm(n) {
			// Near the upper end of the stratum the sum may round up to the next one.
			u := (float64(stratum) + stream.Float64()) / float64(n)
			out[i][k] = min(u, math.Nextafter(float64(stratum+1)/float64(n), 0))
		}
	}
	return out
}
