package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/order/oms"
	"github.com/assay-run/assay/host/trade/risk"
)

func tradingOf(t *testing.T, env map[string]string, args ...string) (trading, error) {
	t.Helper()
	cfg, _, err := readConfig(args,
		world{out: &bytes.Buffer{}, err: &bytes.Buffer{}, env: func(name string) (string, bool) {
			v, ok := env[name]
			return v, ok
		}})
	return cfg.trading, err
}

func TestTradingOptions(t *testing.T) {
	got, err := tradingOf(t, nil)
	if err != nil ||
		got.ends != (trade.Ends{OnStop: engine.Leave, OnShutdown: engine.Leave,
			OnLeaseLoss: exchange.CancelEntries, Unprotected: oms.Hold}) ||
		got.risk.For(true).Capped() || got.limits()["max_order_notional"] != nil ||
		got.limits()["mode"] != "enforce" {
		t.Errorf("%+v %v", got, err)
	}
	got, err = tradingOf(t,
		map[string]string{"SERVICE_RISK_MAX_ORDER_NOTIONAL": "50", "SERVICE_ON_STOP": "leave",
			"SERVICE_RISK_BURST": "7"},
		"--risk-max-order-notional", "100", "--on-stop=flatten", "--risk-paper", "enforce",
		"--risk-max-rejects", "2/4")
	l := got.risk.For(true)
	if err != nil || got.ends.OnStop != engine.Flatten || got.risk.Paper != risk.Enforce ||
		l.MaxOrderNotional.String() != "100" || l.Burst != 7 || l.MaxRejects != 4 {
		t.Errorf("%+v %v", got, err)
	}
	if n := got.limits()["max_order_notional"]; n != json.Number("100") {
		t.Error(n)
	}
	for option, value := range map[string]string{"--on-stop": "run", "--on-shutdown": "x",
		"--on-lease-loss": "exits", "--unprotected": "sell", "--risk-burst": "-1", "--risk-max-drawdown": "x",
		"--risk-paper": "maybe", "--risk-stale-candles": "9/3"} {
		if _, err := tradingOf(t, nil, option, value); err == nil || !strings.Contains(err.Error(), option) {
			t.Errorf("%s %s: %v", option, value, err)
		}
	}
	if _, err := tradingOf(t, map[string]string{"SERVICE_RISK_PRICE_COLLAR": "none"}); err == nil ||
		!strings.Contains(err.Error(), "SERVICE_RISK_PRICE_COLLAR") {
		t.Error(err)
	}
}
