package stage

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Stage plays one plugin for one question.
type Stage struct {
	// Launcher starts plays in a mode, with a limit for one answer of the plugin.
	Launcher func(run.Mode, time.Duration) *run.Launcher
	// RunID is what the plugin is told.
	RunID string
	// Base has the names and the cash of the question; a take has the rest.
	Base runner.StartRequest
	// Pins are the datasets by symbol.
	Pins map[market.Symbol]string
	// Module is the import path of the plugin's main module, "" if it is not known.
	Module string
}

// Request is what a take asks of package run.
func Request(base runner.StartRequest, t capsule.Take) runner.StartRequest {
	base.StartDate, base.EndDate = t.Start, t.End
	base.StrategyParams, base.Execution = t.Params, t.Execution
	return base
}

// Split is the rest of what it asks. The error is about the seed.
func Split(t capsule.Take, pins map[market.Symbol]string) (run.Split, error) {
	seed, err := strconv.ParseUint(t.Seed, 10, 64)
	return run.Split{ID: t.SplitID, Seed: seed, Pins: pins, DelayCandles: t.DelayCandles, WorstPrice: t.WorstPrice}, err
}

// Played is how a play went.
type Played struct {
	// Failure is nil if it came to the end.
	Failure *artifact.Failure
	// Scene is nil if it failed before the first candle.
	Scene *run.Scene
}

// Play plays a take. The error is a refusal or the end of ctx; a plugin that fails is
// none.
func (s *Stage) Play(ctx context.Context, t capsule.Take, mode run.Mode, limit time.Duration) (Played, error) {
	return s.play(ctx, t, mode, limit, nil)
}

func (s *Stage) play(ctx context.Context, t capsule.Take, mode run.Mode, limit time.Duration, lines io.Writer) (_ Played, err error) {
	split, err := Split(t, s.Pins)
	if err != nil {
		return Played{}, err
	}
	x, err := s.Launcher(mode, limit).LaunchSplit(ctx, s.RunID, Request(s.Base, t), split)
	if ctx.Err() != nil {
		return Played{}, errors.Join(context.Cause(ctx), closeIf(x))
	}
	if f := StartFailure(err); f != nil {
		return Played{Failure: f}, nil
	}
	if err != nil {
		return Played{}, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	outcome := x.Run(ctx)
	if ctx.Err() != nil {
		return Played{}, context.Cause(ctx)
	}
	out := Played{Failure: outcome.Failure}
	scene, err := x.Scene(capsule.MaxEvents)
	if err != nil {
		return out, err
	}
	out.Scene = &scene
	if lines != nil {
		err = x.WriteDecisions(lines)
	}
	return out, err
}

func closeIf(x *run.Execution) error {
	if x == nil {
		return nil
	}
	return x.Close()
}

// StartFailure is the failure of a plugin that did not come to its first candle; nil
// if the error is none of the plugin's.
func StartFailure(err error) *artifact.Failure {
	var failed *run.StartError
	if !errors.As(err, &failed) {
		return nil
	}
	return &failed.Failure
}
