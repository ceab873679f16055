package drive

import (
	"errors"
	"fmt"
	"runtime/debug"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/params"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Build makes a strategy from parameters in JSON and asks for its warm-up. The
// error is a *wire.Failure with the code INVALID_STRATEGY_PARAMS that lists every
// bad parameter.
func Build[P any](construct func(P) (sdk.Strategy, error), raw []byte) (s sdk.Strategy, warmup int64, err error) {
	values, err := Values[P](raw)
	if err != nil {
		return nil, 0, err
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
func Construct[P any](construct func(P) (sdk.Strategy, error), values P) (s sdk.Strategy, warmup int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, warmup = nil, 0
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
		return nil, 0, rejected(err, "")
	}
	if s == nil {
		return nil, 0, rejected(errors.New("the strategy's constructor returned nil"), "")
	}
	if warmup, err = Warmup(s); err != nil {
		return nil, 0, rejected(err, "")
	}
	return s, warmup, nil
}

// Warmup is how many candles before the window the strategy asks for. It refuses a
// strategy whose OnFill the SDK would never call.
func Warmup(s sdk.Strategy) (int64, error) {
	if _, old := s.(interface{ OnFill(sdk.View, sdk.Fill) }); old {
		return 0, errors.New("OnFill returns nothing, so the SDK would not call it: write OnFill(sdk.View, sdk.Fill) sdk.Intents and return nil")
	}
	w, ok := s.(sdk.Warmer)
	if !ok {
		return 0, nil
	}
	n := w.Warmup()
	if n < 0 || n > wire.MaxWarmup {
		return 0, fmt.Errorf("Warmup is %d, must be 0 to %d", n, wire.MaxWarmup)
	}
	return int64(n), nil
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
	return &wire.Failure{Code: wire.InvalidStrategyParams, Message: message, Step: -1, Stack: stack, Errors: errs}
}
