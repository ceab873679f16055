package judge

import (
	"fmt"
	"math"
	"slices"
)

// Comparison is the decisions of one replay beside those of the base, as hashes: of the
// whole split, or up to a cut.
type Comparison struct {
	Variant   string
	Replica   int
	Want, Got string
	// Status of the replay. A failure behind the cut leaves the decisions before it
	// comparable: with Got set, they are compared.
	Status Status
}

func (c Comparison) differs() bool { return c.Got != c.Want || c.Got == "" }

// Equal judges the tests whose claim is that decisions do not change: determinism,
// lockstep_replay, lookahead_prefix and data_end_probe. One difference refutes.
func (j *Judge) Equal(id string, list []Comparison) *Test {
	t := j.begin(id, len(list), nil)
	differing, failures := 0, 0
	first := -1
	for i, c := range list {
		if c.Status == Broken {
			return t.end(Error, HostError, "a replay could not be made")
		}
		if !c.differs() {
			continue
		}
		if first < 0 {
			first = i
		}
		differing++
		if c.Got == "" && c.Status == Failed {
			failures++
		}
	}
	t.measure("differing_replays", number(float64(differing)), "", "<=", number(0))
	switch {
	case len(list) == 0:
		return t.end(Error, HostError, "no replay was made")
	case differing == 0:
		return t.end(Pass, "", "")
	case failures == differing:
		return t.end(Fail, PluginFailed, fmt.Sprintf("the program failed in %d of %d replays", failures,
			len(list)))
	}
	return t.end(Fail, DecisionsDiffer, fmt.Sprintf("%d of %d replays decide otherwise, the first of them "+
		"%s %d",
		differing, len(list), list[first].Variant, list[first].Replica))
}

// Transformed is the returns of the base and of the same strategy on the same market seen
// otherwise, on the main sample.
type Transformed struct {
	Variant   string
	Want, Got []float64
	Status    Status
}

// distance is the largest difference between returns; +Inf when they are not as many.
func (x Transformed) distance() float64 {
	if len(x.Want) != len(x.Got) {
		return math.Inf(1)
	}
	most := 0.0
	for i, w := range x.Want {
		d := math.Abs(x.Got[i] - w)
		if !(d <= most) {
			most = d
		}
	}
	return most
}

// seen is how the market was changed, in words.
func (x Transformed) seen() string {
	switch x.Variant {
	case "scaled":
		return "with prices times 1000"
	case "shifted":
		return "with all times moved by 364 days"
	case "renamed":
		return "under other names"
	}
	return "in the view " + x.Variant
}

// Metamorphic judges whether unit, date and name of the market matter.
func (j *Judge) Metamorphic(list []Transformed) *Test {
	t := j.begin(Metamorphic, len(list), map[string]any{"same_return": j.Policy.SameReturn})
	variants := []string{}
	for _, x := range list {
		variants = append(variants, x.Variant)
	}
	t.Params["variants"] = variants
	if len(list) == 0 || slices.ContainsFunc(list, func(x Transformed) bool { return x.Status == Broken }) {
		return t.end(Error, HostError, "a replay could not be made")
	}
	at := Breaking(list)
	x := list[at]
	worst := x.distance()
	switch {
	case x.Status == Failed:
		t.measure("max_return_difference", nil, "", "<=", &j.Policy.SameReturn)
		return t.end(Fail, PluginFailed, "the program failed "+x.seen())
	case math.IsInf(worst, 1) || math.IsNaN(worst):
		t.measure("max_return_difference", nil, "", "<=", &j.Policy.SameReturn)
		return t.end(Fail, ReturnsDiffer, x.seen()+" the returns are others")
	}
	t.measure("max_return_difference", &worst, "", "<=", &j.Policy.SameReturn)
	if worst <= j.Policy.SameReturn {
		return t.end(Pass, "", "")
	}
	return t.end(Fail, ReturnsDiffer, fmt.Sprintf("%s the returns differ by up to %.2g", x.seen(), worst))
}

// Breaking is the view that the verdict of Metamorphic rests on: the first whose plugin
// failed, else the one whose returns are furthest from the base's. There is at least one.
func Breaking(list []Transformed) int {
	worst, at := -1.0, 0
	for i, x := range list {
		if x.Status == Failed {
			return i
		}
		if d := x.distance(); !(d <= worst) {
			worst, at = d, i
		}
	}
	return at
}
