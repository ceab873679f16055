package playtest

import (
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/sim/simtest"
)

// ScriptedParams name a scenario of package simtest.
type ScriptedParams struct {
	Scenario string `param:"scenario" doc:"Name of the scenario"`
	Mirrored bool   `param:"mirrored" doc:"Upside down"`
}

// Scripted returns the intents of a scenario, step by step, whatever happens to them.
type Scripted struct{ script *simtest.Script }

// NewScripted returns the constructor that the SDK serves.
func NewScripted(p ScriptedParams) (sdk.Strategy, error) {
	all, err := simtest.Scenarios()
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Name == p.Scenario {
			script, err := s.Script(p.Mirrored)
			return &Scripted{script}, err
		}
	}
	return nil, sdk.InvalidParam("scenario", "is not a scenario of simtest")
}

// Warmup implements sdk.Warmer.
func (s *Scripted) Warmup() int { return int(s.script.Config.WarmupSteps) }

// OnCandle implements sdk.Strategy.
func (s *Scripted) OnCandle(v sdk.View) (sdk.Intents, error) {
	return s.script.At(v.Index()), nil
}
