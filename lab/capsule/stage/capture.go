package stage

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Limits of time for what is found out after a failure, unless somebody is patient. They
// bound how long a failed run goes on; a capsule without a minimal play is complete all
// the same.
const (
	exactLimit   = 30 * time.Second
	minimalLimit = 30 * time.Second
	// hangingLimit is that of plays each of which may end in waiting.
	hangingLimit = 6 * time.Second
	// patience is how long a plugin that has failed to answer in time is waited for again.
	patience = 2 * time.Second
)

// Captured is a failed play and what is known around it.
type Captured struct {
	Context
	Played
	// Lockstep says that the play was driven step by step: then it stands where it failed.
	Lockstep bool
	// Brief leaves the minimal play out, which takes up to 30 others.
	Brief bool
	// Patient sets no limit of time: what comes out must not depend on the machine.
	Patient bool
	// Defaults are the strategy's parameters, complete.
	Defaults json.RawMessage
	// Exchange is where the candles are from, Candles the store.
	Exchange string
	Candles  *candle.Store
	// Window is the part of a take's window from one candle to before another; ok is false
	// outside.
	Window func(from, to int64) (start, end *string, ok bool)
	// StartTime is the open time of a candle of the take.
	StartTime func(index int64) market.Time
}

// Capture makes a capsule of a failed play. Only what the failure itself tells can make
// it fail: candles that cannot be read and plays that cannot be repeated are left out.
func (s *Stage) Capture(ctx context.Context, in Captured) (*capsule.Capsule, error) {
	c, err := s.draft(in.Context, in.Played)
	if err != nil {
		return nil, err
	}
	if !in.Lockstep && lagging(c) {
		if closer, ok := s.exact(ctx, in, c); ok {
			closer.Error.StderrTail = c.Error.StderrTail // of the run itself
			c = closer
		}
	}
	if in.Scene != nil && c.Where.CandleIndex != nil {
		at := spot{index: *c.Where.CandleIndex, warmup: in.Scene.Warmup, at: c.Where.CandleTime}
		if slice, err := cut(ctx, in.Candles, in.Exchange, in.Inputs.Data, at); err == nil {
			c.DataSlice = slice
		}
		if !in.Brief {
			c.Minimal = s.minimal(ctx, in, c)
		}
	}
	Finish(c)
	return c, nil
}

// lagging says that the plugin may have been ahead of the host's books: in
// co-simulation a process that dies or hangs takes its last decisions with it.
func lagging(c *capsule.Capsule) bool {
	return (c.Error.Code == "PLUGIN_CRASHED" || c.Error.Code == "PLUGIN_TIMEOUT") && c.Where.Phase != capsule.PhaseFinalize
}

// exact plays the take step by step. ok is false if it does not fail in the same way.
func (s *Stage) exact(ctx context.Context, in Captured, c *capsule.Capsule) (*capsule.Capsule, bool) {
	ctx, cancel := in.limited(ctx, exactLimit)
	defer cancel()
	p, err := s.Play(ctx, in.Take, run.ModeLockstep, limitOf(c))
	if err != nil || p.Failure == nil || p.Scene == nil {
		return nil, false
	}
	again, err := s.draft(in.Context, p)
	if err != nil || again.Fingerprint != c.Fingerprint {
		return nil, false
	}
	return again, true
}

// limited is the context of plays after the failure.
func (in *Captured) limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if in.Patient {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// limitOf is how long a plugin has for an answer in a play after the failure.
func limitOf(c *capsule.Capsule) time.Duration {
	limit := time.Duration(c.Replay.Take.StepLimitMS) * time.Millisecond
	if c.Kind == capsule.PluginTimeout {
		return min(limit, patience)
	}
	return limit
}

// errNoWindow ends a search at a candle that the question does not have.
var errNoWindow = errors.New("there is no such window")

// minimal looks for the smallest play that fails in the same way; nil if there is none,
// as when the failure needs candles behind it.
func (s *Stage) minimal(ctx context.Context, in Captured, c *capsule.Capsule) *capsule.Minimal {
	index := *c.Where.CandleIndex
	if index < 0 || c.Where.Phase == capsule.PhaseFinalize {
		return nil // there is no later start, or the end belongs to it
	}
	limit := minimalLimit
	if c.Kind == capsule.PluginTimeout {
		limit = hangingLimit
	}
	ctx, cancel := in.limited(ctx, limit)
	defer cancel()
	try := func(start int64, params json.RawMessage) (bool, error) {
		t := in.Take
		var ok bool
		if t.Start, t.End, ok = in.Window(start, index+1); !ok {
			return false, errNoWindow
		}
		t.Params = params
		p, err := s.Play(ctx, t, run.ModeAuto, limitOf(c))
		var refused *run.RequestError
		switch {
		case errors.As(err, &refused):
			return false, nil // parameters that do not go together
		case err != nil:
			return false, err
		case p.Failure == nil:
			return false, nil
		}
		again, err := s.draft(in.Context, p)
		return err == nil && again.Fingerprint == c.Fingerprint, err
	}
	f, ok, _ := search(index, in.Take.Params, in.Defaults, try)
	if !ok {
		return nil
	}
	params, err := with(json.RawMessage("{}"), f.params)
	if err != nil {
		return nil
	}
	return &capsule.Minimal{StartIndex: f.start, StartTime: in.StartTime(f.start), Params: params, Replays: f.replays, Complete: f.complete}
}
