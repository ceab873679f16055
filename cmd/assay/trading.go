package main

import (
	"errors"
	"fmt"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/host/trade/engine"
	orderdesk "github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/host/trade/risk"
)

// trading is what the operator says about paper and live runs; no request can change it.
type trading struct {
	ends  live.Ends
	given map[string]string // risk options by name
	risk  risk.Options
}

// tradingSettings are its options: how live runs end, and the limits of risk.
func tradingSettings() []setting {
	list := []setting{
		{"on-stop", "SERVICE_ON_STOP", "leave",
			"what a stop of a live run does once entries are cancelled: leave exits at the exchange, cancel them, " +
				"or flatten: sell what is held",
			func(c *config, v string) (err error) {
				c.trading.ends.OnStop, err = engine.ParseOnStop(v)
				return err
			}},
		{"on-shutdown", "SERVICE_ON_SHUTDOWN", "leave",
			"what the end of the service does to a live run: leave, cancel or flatten",
			func(c *config, v string) (err error) {
				c.trading.ends.OnShutdown, err = engine.ParseOnStop(v)
				return err
			}},
		{"on-lease-loss", "SERVICE_ON_LEASE_LOSS", "entries",
			"what a connector cancels that does not hear of the service for 10 s: entries, all or none",
			func(c *config, v string) (err error) {
				c.trading.ends.OnLeaseLoss, err = exchange.ParseLeaseLoss(v)
				return err
			}},
		{"unprotected", "SERVICE_UNPROTECTED", "hold",
			"what becomes of a live position whose exits cannot be placed: hold it and tell, " +
				"or close it within the price collar",
			func(c *config, v string) (err error) {
				c.trading.ends.Unprotected, err = orderdesk.ParseUnprotected(v)
				return err
			}},
	}
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
