package sim

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func TestSession(t *testing.T) {
	ctx := t.Context()
	c := New(nil)
	if _, err := c.Markets(ctx); err == nil {
		t.Error("markets before open")
	}
	got, err := c.Open(ctx, request(false, "", "BTC/USDT", "X/USDT"))
	if err != nil || got.AccountID != "svc_1" {
		t.Fatal(got, err)
	}
	var refusal *exchange.Error
	if _, err := c.Open(ctx, request(false, "")); !errors.As(err, &refusal) ||
		refusal.Result.VenueCode != "ALREADY_OPEN" {
		t.Error(err)
	}
	list, err := c.Markets(ctx)
	if err != nil || len(list) != 2 || list[0].PriceTick.String() != "0.01" ||
		list[0].QuantityStep.String() != "0.00000001" || list[0].MinNotional.String() != "5" ||
		!list[0].Trading {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := c.Candles(ctx, exchange.CandleQuery{Symbol: "NO/USDT"}); err == nil {
		t.Error("candles of an unknown symbol")
	}
	if _, err := c.Balances(ctx); err == nil {
		t.Error("a paper session has no account")
	}
	if err := c.StreamAccount(ctx, func(exchange.AccountEvent) {}); err == nil {
		t.Error("a paper session streams an account")
	}
	if r, _ := c.Submit(ctx, exchange.OrderRequest{}); r.Outcome != exchange.NotSent {
		t.Error(r)
	}
	if err := c.ArmDeadMan(ctx, time.Minute); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	for range 2 {
		if left, err := c.Close(ctx, true); err != nil || len(left) != 0 {
			t.Error(left, err)
		}
	}
	if _, err := c.Candles(ctx, exchange.CandleQuery{Symbol: "BTC/USDT"}); err == nil {
		t.Error("candles after the end")
	}
	if err := c.StreamCandles(ctx, func(exchange.CandleEvent) {}); err == nil {
		t.Error("a stream after the end")
	}
}

// Everything that the schema lets through opens a session, and what it does not is
// refused without a word of it.
func TestSettings(t *testing.T) {
	for _, s := range []struct {
		text string
		good bool
	}{
		{``, true},
		{`{}`, true},
		{`{"apiKey":"k","secret":"s","password":"p","sandbox":true,"rateLimit":50.5,"enableRateLimit":false}`,
			true},
		{`{"market":"synthetic","seed":"x","candles_per_second":0.001,"start":"2020-01-01T00:00:00Z","cash":0.01,"source":"sample"}`, true},
		{`{"candles_per_second":200,"start":"2020-02-29"}`, true},
		{`{"candles_per_second":200.1}`, false},
		{`{"candles_per_second":0}`, false},
		{`{"candles_per_second":"1"}`, false},
		{`{"market":"canary"}`, false},
		{`{"seed":1}`, false},
		{`{"seed":""}`, false},
		{`{"start":"2021-02-30T00:00:00Z"}`, false},
		{`{"start":"canary"}`, false},
		{`{"cash":0}`, false},
		{`{"cash":1e13}`, false},
		{`{"source":"../canary"}`, false},
		{`{"canary":1}`, false},
		{`{"urls":{"api":"canary"}}`, false},
		{`{"rateLimit":-1}`, false},
		{`{"rateLimit":"50"}`, false},
		{`{"apiKey":5}`, false},
		{`{"apiKey":null}`, false},
		{`{"sandbox":"true"}`, false},
		{`[]`, false},
		{`null`, false},
	} {
		conf, err := exchange.DecodeConfig(Describe().ConfigSchema, []byte(s.text))
		if (err == nil) != s.good {
			t.Errorf("%s: %v", s.text, err)
			continue
		}
		if err != nil {
			if contains(err.Error(), "canary") {
				t.Error(err)
			}
			continue
		}
		req := request(true, "")
		req.Config = conf
		if _, err := New(nil).Open(t.Context(), req); err != nil {
			t.Errorf("%s: %v", s.text, err)
		}
	}
}

func TestDescriptions(t *testing.T) {
	d := Describe()
	if d.ID != "sim" || d.Kind != "sim" || d.DeadMan != "none" || d.RequiresCredentials || d.Symbols != nil ||
		len(d.Timeframes) != 14 {
		t.Errorf("%+v", d)
	}
	stored := DescribeStore(candle.Exchange{ID: "sample", Symbols: []market.Symbol{"BTC/USDT"},
		Timeframes: []market.Timeframe{hour}})
	if stored.Kind != "store" || len(stored.Modes) != 1 || stored.Modes[0] != "paper" ||
		len(stored.Symbols) != 1 {
		t.Errorf("%+v", stored)
	}
	for text, good := range map[string]bool{`{"market":"replay","source":"sample"}`: true,
		`{"source":"other"}`: false, `{"market":"synthetic"}`: false, `{"cash":1}`: false,
		`{"start":"2019-01-01"}`: true} {
		if _, err := exchange.DecodeConfig(stored.ConfigSchema, []byte(text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
	c := NewStore(nil, candle.Exchange{ID: "sample"})
	if _, err := c.Open(t.Context(), request(true, "")); err == nil {
		t.Error("a stored exchange trades live")
	}
}
