package python

import (
	"context"
	_ "embed"
)

//go:embed adopt.py
var adoptScript string

// Adoption is what the file of a strategy for another engine says about itself.
type Adoption struct {
	Class      string   `json:"class"`
	Refused    []string `json:"refused"` // what cannot be carried over, with its line
	Left       []string `json:"left"`    // what lab.json has instead
	Parameters []string `json:"parameters"`
	Short      bool     `json:"short"`
	Exclusive  bool     `json:"exclusive"`
	Cash       *float64 `json:"cash"`
	Fee        *float64 `json:"fee"`
	CloseAtEnd bool     `json:"close_at_end"`
	Requires   []string `json:"requires"` // distributions
	Beside     []string `json:"beside"`   // modules beside the file that it imports
}

// Inspect reads the file of a strategy for backtesting.py without running it. class may be "" where
// the file has one.
func Inspect(ctx context.Context, dir, file, class string) (*Adoption, error) {
	interpreter, err := find(Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error string `json:"error"`
		Adoption
	}
	request := map[string]any{"file": file, "class": class}
	if err := ask(ctx, interpreter, dir, adoptScript, request, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, failf("%s", answer.Error)
	}
	return &answer.Adoption, nil
}
