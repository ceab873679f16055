package drive

import (
	"errors"
	"fmt"
	"runtime/debug"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Build makes a strategy from parameters in JSON and asks for its warm-up. The
// error is a *wire.Failure with the code INVALID_STRATEGY_PARAMS that lists every
// bad parameter.
func Build[P any](construct func(P) (sdk.Strategy, error), raw []byte) (s sdk.Strategy, warmup int64, err error) {
	params, err := sdk.ParamsOf[P]()
	if err != nil {
		return nil, 0, rejected(err, "")
	}
	values, err := params.Decode(raw)
	if err != nil {
		return nil, 0, rejected(err, "")
	}
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

// Warmup is how many candles before the window the strategy wants.
func Warmup(s sdk.Strategy) (int64, error) {
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
	errs := sdk.ParamErrors(err)
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
