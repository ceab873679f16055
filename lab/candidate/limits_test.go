package candidate

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/lab/request"
)

func TestDefaultLimits(t *testing.T) {
	for _, c := range []struct {
		cash string
		want bundle.Limits
	}{
		{"10000", bundle.Limits{MaxCapital: "10000", MaxOrderValue: "500", MaxPositionValue: "2500",
			MaxDailyLoss: "300"}},
		{"1234.56", bundle.Limits{MaxCapital: "1234.56", MaxOrderValue: "61.728", MaxPositionValue: "308.64",
			MaxDailyLoss: "37.0368"}},
	} {
		c.want.MaxOrdersPerMinute, c.want.MaxInstruments, c.want.MaxVenues, c.want.MaxDrawdown,
			c.want.QuoteCurrency = 10, 2, 1, "0.25", "USDT"
		got, err := defaultLimits(json.RawMessage(c.cash), []string{"BTC/USDT", "ETH/USDT"})
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", c.cash, got, err)
		}
	}
	if _, err := defaultLimits(json.RawMessage(`"x"`), nil); err == nil {
		t.Error("no number is taken for cash")
	}
}

// Whatever the cash of a run was, its default limits are decimals of the contract.
func TestDefaultLimitsHaveTheContractsForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cash := rapid.StringMatching(`[1-9][0-9]{0,8}(\.[0-9]{1,8})?`).Draw(t, "cash")
		l, err := defaultLimits(json.RawMessage(cash), []string{"A/B"})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []string{l.MaxCapital, l.MaxOrderValue, l.MaxPositionValue, l.MaxDailyLoss,
			l.MaxDrawdown} {
			if !field.IsDecimal(v) {
				t.Fatalf("%s of %s", v, cash)
			}
		}
		if looser(&l, &l) {
			t.Fatal("limits are looser than themselves")
		}
	})
}

func TestLimitsOfAFile(t *testing.T) {
	base := limits()
	got, err := LimitsOver(base, []byte(`{"max_capital":"500","price_collar_bps":50}`))
	if err != nil || got.MaxCapital != "500" || *got.PriceCollarBps != 50 ||
		got.MaxOrderValue != base.MaxOrderValue {
		t.Errorf("%+v, %v", got, err)
	}
	for text, pointer := range map[string]string{
		`{"max_capitol":"1"}`: "", `{"max_capital":1}`: "/max_capital",
		`{"max_instruments":"1"}`: "/max_instruments", `[]`: "", `null`: "", ``: "",
		`{"max_capital":"1","max_capital":"2"}`: "/max_capital", `{"max_capital":"1"} {}`: "",
	} {
		_, err := LimitsOver(base, []byte(text))
		has(t, err, "USAGE", "--limits")
		var own *request.Error
		if errors.As(err, &own); own.Details["flag"] != "--limits" || own.Details["pointer"] != pointer {
			t.Errorf("%s: %v", text, own.Details)
		}
	}
}

func FuzzLimits(f *testing.F) {
	for _, seed := range []string{`{}`, `{"max_capital":"1"}`, `{"max_venues":2}`,
		`{"price_collar_bps":null}`, `{`, `{"a":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := LimitsOver(limits(), text); err != nil {
			has(t, err, "USAGE")
		}
	})
}
