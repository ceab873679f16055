package selection

import (
	"github.com/assay-run/assay/lab/stat"
)

// The verdicts of selection_bias.
const (
	Pass         = "pass"
	Warn         = "warn"
	Fail         = "fail"
	Inconclusive = "inconclusive"
)

// The reason codes of a verdict; a pass has none, an inconclusive one has the reason for
// which its number is undefined.
const (
	// ReasonDSRMax and ReasonDSRMaxLow: a search without skill finds a ratio as high more
	// often than in 5 % of cases, or in most.
	ReasonDSRMax    = "dsr_max_below_0.95"
	ReasonDSRMaxLow = "dsr_max_below_0.5"
	// ReasonPBO and ReasonPBOHigh: choosing the best overfits too often, or mostly.
	ReasonPBO     = "pbo_above_0.2"
	ReasonPBOHigh = "pbo_above_0.5"
	// ReasonShort: too few returns for the asymptotic errors.
	ReasonShort = "short_sample"
)

// The policy.
const (
	DSRPass = 0.95
	DSRFail = 0.50
	PBOPass = 0.20
	PBOWarn = 0.50
)

// Verdict is that of selection_bias. Strong marks a pass that the deflated ratio of 2014
// confirms.
type Verdict struct {
	Verdict    string
	Strong     bool
	ReasonCode string
}

// Judge is the verdict over t returns: by dsr_max, then the worse of that and PBO where there
// is one, so that PBO fails a run whose ratio is undefined as well; with fewer than
// stat.ShortSample returns never better than a warning.
func Judge(s *Selection, t int) Verdict {
	if s.DSRMax == nil {
		if pbo := s.PBO.Value; pbo != nil && *pbo > PBOWarn {
			return Verdict{Verdict: Fail, ReasonCode: ReasonPBOHigh}
		}
		return Verdict{Verdict: Inconclusive, ReasonCode: string(s.Undefined["dsr_max"])}
	}
	v := deflated(*s.DSRMax)
	if pbo := s.PBO.Value; pbo != nil {
		switch {
		case *pbo > PBOWarn && v.Verdict != Fail:
			v = Verdict{Verdict: Fail, ReasonCode: ReasonPBOHigh}
		case *pbo > PBOPass && v.Verdict == Pass:
			v = Verdict{Verdict: Warn, ReasonCode: ReasonPBO}
		}
	}
	if t < stat.ShortSample && v.Verdict == Pass {
		v = Verdict{Verdict: Warn, ReasonCode: ReasonShort}
	}
	v.Strong = v.Verdict == Pass && s.DSR2014 != nil && *s.DSR2014 >= DSRPass
	return v
}

func deflated(dsrMax float64) Verdict {
	switch {
	case dsrMax >= DSRPass:
		return Verdict{Verdict: Pass}
	case dsrMax < DSRFail:
		return Verdict{Verdict: Fail, ReasonCode: ReasonDSRMaxLow}
	}
	return Verdict{Verdict: Warn, ReasonCode: ReasonDSRMax}
}
