package trade

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// policyFunc is a Policy that is a function.
type policyFunc func(deploy.Request) (deploy.Admission, error)

func (f policyFunc) Admit(_ context.Context, r deploy.Request) (deploy.Admission, error) { return f(r) }

// capped returns the options with a cap on one order; none for "".
func capped(amount string) risk.Options {
	o, err := risk.Parse(func(o risk.Option) (string, string) {
		if o.Name == "max-order-notional" {
			return amount, o.Flag()
		}
		return "", ""
	})
	if err != nil {
		panic(err)
	}
	return o
}

func gated(mode, venue string, sandbox bool, p Policy) *Execution {
	x := (&Execution{
		opts:  &Options{Policy: p, Risk: capped("100")},
		setup: setup{req: runner.StartRequest{Mode: mode}, venue: Venue{ID: venue, Pretend: venue == "sim"}},
	}).withParts()
	x.setup.config.Sandbox = sandbox
	x.setup.plan = run.Plan{
		Strategy: &catalog.Strategy{Name: "sma_cross", SHA256: "ab"}, Params: json.RawMessage(`{"fast":10}`),
		Symbols: []market.Symbol{"BTC/USDT"}, Timeframe: market.MustTimeframe("1h"),
	}
	return x
}

// TestWhatIsRealMoney: only a live run at a venue that is neither pretended nor a sandbox.
func TestWhatIsRealMoney(t *testing.T) {
	for _, c := range []struct {
		mode, venue string
		sandbox     bool
		want        bool
	}{{"live", "binance", false, true}, {"live", "binance", true, false}, {"live", "sim", false, false},
		{"paper", "binance", false, false}} {
		var asked deploy.Request
		x := gated(c.mode, c.venue, c.sandbox, policyFunc(func(r deploy.Request) (deploy.Admission, error) {
			asked = r
			return deploy.Admission{
				Notices: []deploy.Notice{{Code: deploy.RegistryUnavailable, Message: "cached"}}}, nil
		}))
		if err := x.permit.askPolicy(t.Context()); err != nil || asked.RealMoney() != c.want ||
			x.Ungated() != "" {
			t.Errorf("%+v: %+v %v", c, asked, err)
		}
		if asked.Strategy != "sma_cross" || asked.PluginSHA256 != "ab" ||
			string(asked.Params) != `{"fast":10}` || asked.Exchange != c.venue || len(asked.Symbols) != 1 {
			t.Errorf("%+v", asked)
		}
		if len(x.notes.warnings) != 1 || x.notes.warnings[0].Code != "REGISTRY_UNAVAILABLE" {
			t.Errorf("%v", x.notes.warnings)
		}
		// Without a policy real money says that it is ungated, nothing else does.
		x = gated(c.mode, c.venue, c.sandbox, nil)
		if err := x.permit.askPolicy(t.Context()); err != nil || (x.Ungated() != "") != c.want ||
			strings.Contains(x.Ungated(), "Ungated") != c.want {
			t.Errorf("%+v: %q %v", c, x.Ungated(), err)
		}
	}
	no := &deploy.Refusal{Code: deploy.DeploymentRevoked}
	err := gated("live", "binance", false,
		policyFunc(func(deploy.Request) (deploy.Admission, error) {
			return deploy.Admission{}, no
		})).permit.askPolicy(t.Context())
	if !errors.Is(err, no) {
		t.Error(err)
	}
}

// TestRealMoneyNeedsACap: without a largest order, or an entry that is enforced, a start is refused.
func TestRealMoneyNeedsACap(t *testing.T) {
	yes := policyFunc(func(deploy.Request) (deploy.Admission, error) { return deploy.Admission{}, nil })
	for _, c := range []struct {
		mode, venue, amount string
		sandbox             bool
		want                bool
	}{
		{"live", "binance", "", false, false}, {"live", "binance", "50", false, true},
		{"live", "binance", "", true, true},
		{"live", "sim", "", false, true}, {"paper", "binance", "", false, true},
	} {
		x := gated(c.mode, c.venue, c.sandbox, yes)
		x.opts.Risk = capped(c.amount)
		err := x.permit.askPolicy(t.Context())
		var refusal *run.RequestError
		switch {
		case c.want && err != nil:
			t.Errorf("%+v: %v", c, err)
		case !c.want &&
			(!errors.As(err, &refusal) || refusal.Code != "MODE_NOT_SUPPORTED" ||
				refusal.Details["reason"] != "risk_limit_required"):
			t.Errorf("%+v: %v", c, err)
		}
		if c.want && (x.permit.risk["max_order_fraction"] == nil || x.permit.risk["mode"] == "") {
			t.Errorf("%+v: %v", c, x.permit.risk)
		}
	}
	ten := capped("1000")
	x := gated("live", "binance", false, policyFunc(func(deploy.Request) (deploy.Admission, error) {
		small := decimal.MustParse("10")
		return deploy.Admission{Limits: deploy.Limits{OrderValue: &small}}, nil
	}))
	x.opts.Risk = ten
	if err := x.permit.askPolicy(t.Context()); err != nil ||
		x.permit.risk["max_order_notional"] != json.Number("10") {
		t.Errorf("the smaller does not win: %v %v", x.permit.risk, err)
	}
}

// TestZeroInAnEntry: a 0 that an entry names restricts as any other number does, what it lacks does not.
func TestZeroInAnEntry(t *testing.T) {
	zero, none := decimal.Zero, int64(0)
	admit := func(l deploy.Limits) map[string]any {
		x := gated("live", "binance", false,
			policyFunc(func(deploy.Request) (deploy.Admission, error) {
				return deploy.Admission{Limits: l}, nil
			}))
		if err := x.permit.askPolicy(t.Context()); err != nil {
			t.Fatal(err)
		}
		return x.permit.risk
	}
	names := []string{"max_drawdown", "orders_per_minute", "price_collar", "max_order_notional",
		"max_position_notional", "max_gross_notional", "max_daily_loss_amount"}
	got := admit(deploy.Limits{
		Drawdown: &zero, OrdersPerMinute: &none, PriceCollar: &zero, OrderValue: &zero, PositionValue: &zero,
		Capital: &zero, DailyLoss: &zero,
	})
	for _, name := range names {
		if got[name] != json.Number("0") {
			t.Errorf("%s of 0 is %v", name, got[name])
		}
	}
	got = admit(deploy.Limits{Drawdown: &zero})
	if got["max_drawdown"] != json.Number("0") || got["orders_per_minute"] != json.Number("60") ||
		got["price_collar"] != json.Number("0.05") || got["max_daily_loss_amount"] != nil {
		t.Errorf("%v", got)
	}
}
