package judge

import (
	"fmt"
	"math"
)

// Drift is how a run with a multiple of its warm-up differs from one with all history.
type Drift struct {
	// Multiple of the declared warm-up: 1, 2, 4.
	Multiple int
	Status   Status
	// Decisions is how many the run with all history makes, Differing how many of the two
	// runs' are not the other's, the larger of both counts.
	Decisions, Differing int
	// Series are what the strategy published.
	Series []SeriesDrift
}

// SeriesDrift is the largest relative difference of one published series.
type SeriesDrift struct {
	Name        string
	MaxRelative float64
}

// Relative is the largest difference between two series, in units of what it should be;
// where that is 0, any difference is 1. So is a difference in length or in times.
func Relative(want, got []float64) float64 {
	if len(want) != len(got) {
		return 1
	}
	most := 0.0
	for i, w := range want {
		d := math.Abs(got[i] - w)
		switch {
		case d == 0:
			continue
		case w == 0:
			d = 1
		default:
			d /= math.Abs(w)
		}
		if !(d <= most) {
			most = d
		}
	}
	return most
}

func (d Drift) share() float64 {
	if d.Differing == 0 {
		return 0
	}
	return float64(d.Differing) / float64(max(d.Decisions, d.Differing))
}

func (d Drift) worst() float64 {
	most := 0.0
	for _, s := range d.Series {
		most = max(most, s.MaxRelative)
	}
	return most
}

// Warmup judges whether the declared warm-up suffices. A pass needs it of every multiple;
// a warning allows a share of the decisions to differ with the declared warm-up, the
// smallest multiple, as long as with the largest none does.
func (j *Judge) Warmup(list []Drift) *Test {
	p := j.Policy
	t := j.begin(WarmupRecursive, len(list), map[string]any{
		"warmup_drift": p.WarmupDrift, "warmup_drift_warn": p.WarmupDriftWarn, "warmup_decisions_warn": p.WarmupDecisionsWarn,
	})
	differing, series := 0, 0.0
	var first, last Drift
	for _, d := range list {
		switch d.Status {
		case Broken:
			return t.end(Error, HostError, "a replay could not be made")
		case Failed:
			t.measure("max_relative", nil, "", "<=", &p.WarmupDrift)
			return t.end(Fail, PluginFailed, fmt.Sprintf("the program failed after %d times its warm-up",
				d.Multiple))
		}
		if first.Multiple == 0 || d.Multiple < first.Multiple {
			first = d
		}
		if d.Multiple >= last.Multiple {
			last = d
		}
		differing, series = max(differing, d.Differing), max(series, d.worst())
	}
	if len(list) == 0 {
		return t.end(Error, HostError, "no replay was made")
	}
	t.Params["decisions_differing"] = differing
	t.measure("max_relative", &series, "", "<=", &p.WarmupDrift)
	switch {
	case differing == 0 && series <= p.WarmupDrift:
		return t.end(Pass, "", "")
	case series > p.WarmupDriftWarn:
		return t.end(Fail, SeriesDiffer, fmt.Sprintf("published series differ by up to %.2g", series))
	}
	share := first.share()
	if differing > 0 {
		t.measure("share_differing", &share, "", "<=", number(0))
	}
	if share <= p.WarmupDecisionsWarn && last.Differing == 0 {
		return t.end(Warn, j.driftReason(differing),
			fmt.Sprintf("published series differ by up to %.2g, and decisions by %d", series, differing))
	}
	return t.end(Fail, DecisionsDiffer, fmt.Sprintf("%s of the decisions differ, and %d after %d times the "+
		"warm-up",
		percent(share), last.Differing, last.Multiple))
}

func (j *Judge) driftReason(differing int) string {
	if differing > 0 {
		return DecisionsDiffer
	}
	return SeriesDiffer
}
