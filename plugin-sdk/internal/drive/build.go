package drive

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/params"
	"github.com/assay-run/assay/plugin-sdk/internal/step"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Build makes a strategy from parameters in JSON and asks how far it looks back. The error is a
// *wire.Failure with the code INVALID_STRATEGY_PARAMS that lists every bad parameter.
func Build[P any](construct func(P) (sdk.Strategy, error),
	raw []byte) (s sdk.Strategy, kept Kept, err error) {
	values, err := Values[P](raw)
	if err != nil {
		return nil, Kept{}, err
	}
	return Construct(construct, values)
}

// Values reads parameters from JSON; what is missing takes its default. The error is a
// *wire.Failure.
func Values[P any](raw []byte) (values P, err error) {
	known, err := params.Of[P]()
	if err == nil {
		values, err = known.Decode(raw)
	}
	if err != nil {
		return values, rejected(err, "")
	}
	return values, nil
}

// Construct makes a strategy from parameters that are within their bounds and asks for
// its warm-up. The error is a *wire.Failure.
func Construct[P any](construct func(P) (sdk.Strategy, error),
	values P) (s sdk.Strategy, kept Kept, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, kept = nil, Kept{}
			text := fmt.Sprintf("panic while the strategy was made: %v", p)
			if place := panicPlace(); place != "" {
				text += " at " + place
			}
			failed := rejected(errors.New(text), string(debug.Stack()))
			failed.Type = fmt.Sprintf("%T", p)
			err = failed
		}
	}()
	if s, err = construct(values); err != nil {
		return nil, Kept{}, rejected(err, "")
	}
	if s == nil {
		return nil, Kept{}, rejected(errors.New("the strategy's constructor returned nil"), "")
	}
	if kept, err = KeptBy(s); err != nil {
		return nil, Kept{}, rejected(err, "")
	}
	return s, kept, nil
}

// Kept is what a strategy looks back on: what the host has to deliver before the window, and
// how many candles its View keeps.
type Kept struct {
	market.Warmup
	// Own is how many candles of the run's own timeframe are kept.
	Own int
}

// KeptBy asks a strategy how far it looks back. It refuses a strategy whose OnFill or OnReject
// the SDK would never call.
func KeptBy(s sdk.Strategy) (k Kept, err error) {
	if _, old := s.(interface{ OnFill(sdk.View, sdk.Fill) }); old {
		return k, errors.New(
			"OnFill returns nothing, so the SDK would not call it: write OnFill(sdk.View, sdk.Fill) " +
				"sdk.Intents and return nil")
	}
	if _, deaf := s.(interface{ OnReject(sdk.View, sdk.Rejection) }); deaf {
		return k, errors.New("OnReject returns nothing, so the SDK would not call it: write " +
			"OnReject(sdk.View, sdk.Rejection) sdk.Intents and return nil")
	}
	if w, ok := s.(sdk.Warmer); ok {
		if k.Candles = w.Warmup(); k.Candles < 0 || k.Candles > wire.MaxWarmup {
			return k, outside("Warmup", k.Candles)
		}
	}
	reader, ok := s.(sdk.HistoryReader)
	if !ok {
		return k, nil
	}
	lookback := reader.Lookback()
	for _, name := range slices.Sorted(maps.Keys(lookback)) {
		n := lookback[name]
		if n < 0 || n > wire.MaxWarmup {
			return k, outside(fmt.Sprintf("Lookback of %q", name), n)
		}
		if name == "" {
			k.Own, k.Candles = n, max(k.Candles, n)
			continue
		}
		tf, err := market.ParseTimeframe(name)
		if err != nil {
			return k, fmt.Errorf("the Lookback names no timeframe: %w", err)
		}
		k.Larger = append(k.Larger, market.Larger{Timeframe: tf, Candles: n})
	}
	slices.SortFunc(k.Larger, func(a, b market.Larger) int {
		return cmp.Or(cmp.Compare(a.Timeframe.Approx(), b.Timeframe.Approx()),
			cmp.Compare(a.Timeframe.Unit, b.Timeframe.Unit))
	})
	return k, nil
}

func outside(what string, n int) error {
	return fmt.Errorf("%s is %d, must be 0 to %d", what, n, wire.MaxWarmup)
}

// Within adds the timeframes of a Spec that Lookback leaves out, and refuses one that the Spec
// does not list.
func (k Kept) Within(extra []market.Timeframe) (Kept, error) {
	for _, l := range k.Larger {
		if !slices.Contains(extra, l.Timeframe) {
			return k, rejected(
				fmt.Errorf("the Lookback names %s, which Spec.Extra does not list", l.Timeframe), "")
		}
	}
	return k.With(extra), nil
}

// With adds the timeframes that Lookback leaves out.
func (k Kept) With(extra []market.Timeframe) Kept {
	k.Larger = slices.Clone(k.Larger)
	for _, tf := range extra {
		if !slices.ContainsFunc(k.Larger, func(l market.Larger) bool { return l.Timeframe == tf }) {
			k.Larger = append(k.Larger, market.Larger{Timeframe: tf})
		}
	}
	return k
}

// Check is that of the warm-up, as a *wire.Failure.
func (k Kept) Check(run market.Timeframe) error {
	if err := k.Warmup.Check(run); err != nil {
		return rejected(err, "")
	}
	return nil
}

// prepare makes room for what is kept; false means for nothing.
func (k Kept) prepare(s *step.Step, run market.Timeframe) bool {
	own := k.Own
	s.Timeframe = run
	for _, l := range k.Larger {
		s.Larger = append(s.Larger, l.Timeframe.String())
		if run.Same(l.Timeframe) {
			own = max(own, l.Candles)
			s.Frames = append(s.Frames, nil)
			continue
		}
		frames := make([]step.Frame, len(s.Symbols))
		for i := range frames {
			frames[i] = step.Frame{Base: run, Timeframe: l.Timeframe, Past: step.Past{Keep: l.Candles}}
		}
		s.Frames = append(s.Frames, frames)
	}
	if own > 0 {
		s.Pasts = make([]step.Past, len(s.Symbols))
		for i := range s.Pasts {
			s.Pasts[i].Keep = own
		}
	}
	return len(s.Pasts)+len(s.Frames) > 0
}

func rejected(err error, stack string) *wire.Failure {
	errs := params.Errors(err)
	message := "invalid parameters"
	for i, e := range errs {
		if i == 0 {
			message += ": " + e.Error()
		} else {
			message += "; " + e.Error()
		}
	}
	return &wire.Failure{Code: wire.InvalidStrategyParams, Message: message, Step: -1, Stack: stack,
		Errors: errs}
}
