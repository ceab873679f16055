package python

import (
	"context"
	_ "embed"
)

//go:embed adopt_common.py
var adoptCommon string

//go:embed adopt_backtesting.py
var adoptBacktesting string

//go:embed adopt_freqtrade.py
var adoptFreqtrade string

// Engine is one whose strategies run here as they are.
type Engine string

// The engines.
const (
	BacktestingPy Engine = "backtesting.py"
	Freqtrade     Engine = "freqtrade"
)

// Module is the part of the SDK that stands for the engine.
func (e Engine) Module() string {
	if e == Freqtrade {
		return "freqtrade"
	}
	return "backtesting"
}

func (e Engine) script() string {
	if e == Freqtrade {
		return adoptCommon + adoptFreqtrade
	}
	return adoptCommon + adoptBacktesting
}

// Adoption is what the file of a strategy for another engine says about itself.
type Adoption struct {
	Class      string   `json:"class"`
	Refused    []string `json:"refused"` // what cannot be carried over, with its line
	Left       []string `json:"left"`    // what lab.json has instead
	Differs    []string `json:"differs"` // what is carried over and not the same
	Parameters []string `json:"parameters"`
	Timeframe  string   `json:"timeframe"` // "": the strategy does not say
	Short      bool     `json:"short"`
	Exclusive  bool     `json:"exclusive"`
	Cash       *float64 `json:"cash"`
	Fee        *float64 `json:"fee"`
	CloseAtEnd bool     `json:"close_at_end"`
	Requires   []string `json:"requires"` // distributions
	Beside     []string `json:"beside"`   // modules beside the file that it imports
}

// Inspect reads the file of a strategy for another engine without running it. class may be "" where
// the file has one.
func Inspect(ctx context.Context, dir string, engine Engine, file, class string) (*Adoption, error) {
	interpreter, err := find(Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error string `json:"error"`
		Adoption
	}
	request := map[string]any{"file": file, "class": class}
	if err := ask(ctx, interpreter, dir, engine.script(), request, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, failf("%s", answer.Error)
	}
	return &answer.Adoption, nil
}
