package main

import (
	"errors"
	"fmt"

	"github.com/assay-run/assay/host/live"
	"github.com/assay-run/assay/host/live/engine"
	"github.com/assay-run/assay/host/live/risk"
)

// trading is what the operator says about paper and live runs; no request can change it.
type trading struct {
	onStop engine.OnStop
	given  map[string]string // risk options by name
	risk   risk.Options
}

// tradingSettings are its options: what a stop does, and the limits of risk.
func tradingSettings() []setting {
	list := []setting{{"on-stop", "SERVICE_ON_STOP", "cancel", "what a stop does to live positions once orders are cancelled: cancel, flatten or leave", func(c *config, v string) (err error) {
		c.trading.onStop, err = engine.ParseOnStop(v)
		return err
	}}}
	options := append(risk.List(), risk.Option{Name: "paper", Default: string(risk.Shadow), Help: "what the limits do in paper: shadow or enforce"})
	for _, o := range options {
		help := fmt.Sprintf("%s (default %s)", o.Help, o.Default)
		list = append(list, setting{o.Flag()[len("--"):], o.Env(), "", help, func(c *config, v string) error { return c.trading.take(o.Name, v) }})
	}
	return list
}

// take keeps one limit; all that were given so far are read, so that the error names the one at fault.
func (t *trading) take(name, value string) (err error) {
	if value == "" {
		return nil
	}
	if t.given == nil {
		t.given = map[string]string{}
	}
	t.given[name] = value
	t.risk, err = risk.Parse(func(o risk.Option) (string, string) { return t.given[o.Name], o.Flag() })
	if bad, ok := errors.AsType[*risk.OptionError](err); ok {
		return fmt.Errorf("%q: %s", bad.Value, bad.Want)
	}
	return err
}

// limits are what the stream's hello tells of live runs with real money.
func (t *trading) limits() map[string]any { return live.ShowLimits(t.risk.For(true), risk.Enforce) }
