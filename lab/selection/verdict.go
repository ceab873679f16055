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
	// ReasonDSR2025: the deflated ratio of 2025 is below 0.95.
	ReasonDSR2025 = "dsr_2025_below_0.95"
	// ReasonSidak: the p-value over the effective number of trials is above 0.05.
	ReasonSidak = "p_sidak_above_0.05"
	// ReasonDSR2014: it is more likely than not that the search alone explains the ratio.
	ReasonDSR2014 = "dsr_2014_below_0.5"
	// ReasonPBO and ReasonPBOHigh: choosing the best overfits too often, or mostly.
	ReasonPBO     = "pbo_above_0.2"
	ReasonPBOHigh = "pbo_above_0.5"
	// ReasonShort: too few returns for the asymptotic errors.
	ReasonShort = "short_sample"
)

// The policy of section 6 of lab-stats/1.
const (
	DSRPass   = 0.95
	DSRFail   = 0.50
	SidakPass = 0.05
	PBOPass   = 0.20
	PBOWarn   = 0.50
)

// Verdict is that of selection_bias. Strong marks a pass that the deflated ratio of 2014
// confirms.
type Verdict struct {
	Verdict    string
	Strong     bool
	ReasonCode string
}

// Judge is the verdict over t returns: by the deflated ratios and Sidak's p, then the
// worse of that and PBO where there is one, so that PBO fails a run whose ratios are
// undefined as well; with fewer than stat.ShortSample returns never better than a
// warning. The ratio of 2025 and Sidak's p come first: where they pass, which takes many
// trials that are nearly one, the ratio of 2014 can no longer fail.
func Judge(s *Selection, t int) Verdict {
	for _, x := range []struct {
		name  string
		value *float64
	}{{"dsr_2025", s.DSR2025}, {"p_sidak", s.PSidak}, {"dsr_2014", s.DSR2014}} {
		if x.value == nil {
			if pbo := s.PBO.Value; pbo != nil && *pbo > PBOWarn {
				return Verdict{Verdict: Fail, ReasonCode: ReasonPBOHigh}
			}
			return Verdict{Verdict: Inconclusive, ReasonCode: string(s.Undefined[x.name])}
		}
	}
	v := deflated(*s.DSR2025, *s.DSR2014, *s.PSidak)
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
	return v
}

func deflated(dsr2025, dsr2014, sidak float64) Verdict {
	switch {
	case dsr2025 >= DSRPass && sidak <= SidakPass:
		return Verdict{Verdict: Pass, Strong: dsr2014 >= DSRPass}
	case dsr2014 < DSRFail:
		return Verdict{Verdict: Fail, ReasonCode: ReasonDSR2014}
	case dsr2025 < DSRPass:
		return Verdict{Verdict: Warn, ReasonCode: ReasonDSR2025}
	}
	return Verdict{Verdict: Warn, ReasonCode: ReasonSidak}
}
