package live

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/play"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// policyFunc is a Policy that is a function.
type policyFunc func(deploy.Request) (deploy.Admission, error)

func (f policyFunc) Admit(_ context.Context, r deploy.Request) (deploy.Admission, error) { return f(r) }

func gated(mode, venue string, sandbox bool, p Policy) *Execution {
	x := &Execution{opts: &Options{Policy: p}, req: runner.StartRequest{Mode: mode}, venue: Venue{ID: venue}}
	x.config.Sandbox = sandbox
	x.plan = play.Plan{
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
	}{{"live", "binance", false, true}, {"live", "binance", true, false}, {"live", "sim", false, false}, {"paper", "binance", false, false}} {
		var asked deploy.Request
		x := gated(c.mode, c.venue, c.sandbox, policyFunc(func(r deploy.Request) (deploy.Admission, error) {
			asked = r
			return deploy.Admission{Notices: []deploy.Notice{{Code: deploy.RegistryUnavailable, Message: "cached"}}}, nil
		}))
		if err := x.admit(t.Context()); err != nil || asked.RealMoney() != c.want || x.Ungated() != "" {
			t.Errorf("%+v: %+v %v", c, asked, err)
		}
		if asked.Strategy != "sma_cross" || asked.PluginSHA256 != "ab" || string(asked.Params) != `{"fast":10}` || asked.Exchange != c.venue || len(asked.Symbols) != 1 {
			t.Errorf("%+v", asked)
		}
		if len(x.warnings) != 1 || x.warnings[0].Code != "REGISTRY_UNAVAILABLE" {
			t.Errorf("%v", x.warnings)
		}
		// Without a policy real money says that it is ungated, nothing else does.
		x = gated(c.mode, c.venue, c.sandbox, nil)
		if err := x.admit(t.Context()); err != nil || (x.Ungated() != "") != c.want || strings.Contains(x.Ungated(), "Ungated") != c.want {
			t.Errorf("%+v: %q %v", c, x.Ungated(), err)
		}
	}
	no := &deploy.Refusal{Code: deploy.DeploymentRevoked}
	err := gated("live", "binance", false, policyFunc(func(deploy.Request) (deploy.Admission, error) { return deploy.Admission{}, no })).admit(t.Context())
	if !errors.Is(err, no) {
		t.Error(err)
	}
}
