package main

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/hosttest/cheats"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests/metamorphic"
	"github.com/assay-run/assay/lab/request"
)

func TestTheFullSizeIsThatOfThePage(t *testing.T) {
	var noise, edges, refuted []int
	sample, numbered, rows := 0, 0, map[string]int{}
	for _, s := range settings(fullSize()) {
		switch {
		case s.Sample:
			sample += s.Cases
		case s.Row != "":
			rows[s.Row] += s.Cases
		case s.Strategy == numberedName:
			numbered += s.Cases
		case s.isCheat():
			refuted = append(refuted, s.Cases)
		case s.isNoise():
			noise = append(noise, s.Trials)
			if s.Cases != 200 {
				t.Errorf("%s has %d cases", s.Name, s.Cases)
			}
		default:
			edges = append(edges, int(s.Sharpe))
			if s.Trials != 10 || s.Free {
				t.Errorf("%s: %+v", s.Name, s)
			}
		}
	}
	if !slices.Equal(noise, []int{1, 10, 100, 1, 10, 100}) || !slices.Equal(edges, []int{1, 2, 3}) ||
		!slices.Equal(refuted, []int{20, 20, 20, 20}) || sample != 20 || numbered != 40 {
		t.Errorf("noise %v, edges %v, cheats %v, sample %d, numbered %d", noise, edges, refuted, sample,
			numbered)
	}
	for _, r := range cheats.Battery() {
		if r.Play != nil && rows[r.ID] != 20 {
			t.Errorf("row %s has %d cases", r.ID, rows[r.ID])
		}
	}
	if left := settings(sizes{Seeds: 1}); len(left) != 4 {
		t.Errorf("%d settings have cases", len(left))
	}
}

func TestATestThatIsNotThereWasSkipped(t *testing.T) {
	v := &verdict{Tests: []*judge.Test{judge.CostStress.Broke("x")}}
	if v.of(judge.CostStress.ID).Verdict != judge.Error || v.of(metamorphic.ID).Verdict != judge.Skipped {
		t.Errorf("%+v", v)
	}
}

func TestTheFirstCauseIsNoCancellation(t *testing.T) {
	broken := errors.New("broken")
	if err := request.FirstCause([]error{nil, context.Canceled, broken}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := request.FirstCause([]error{nil, context.Canceled}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := request.FirstCause([]error{nil, nil}); err != nil {
		t.Error(err)
	}
}
