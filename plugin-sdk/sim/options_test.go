package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/govalues/decimal"
)

func TestDefaultsOfEachProfile(t *testing.T) {
	const common = `"intrabar":"stop_first"`
	for profile, want := range map[string]string{
		ProfileBarV1: `{"profile":"bar-v1","fee_maker":0.001,"fee_taker":0.001,"slippage_bps":5,"protect_from":"entry_candle",` + common +
			`,"resting_gap":"limit","limit_touch":"touch","quantity_step":0.00000001,"allow_short":false,"close_at_end":false}`,
		ProfileBacktestingPy: `{"profile":"compat:backtesting.py","fee_maker":0.001,"fee_taker":0.001,"slippage_bps":0,"protect_from":"entry_candle",` + common +
			`,"resting_gap":"open","limit_touch":"touch","quantity_step":0.00000001,"allow_short":false,"close_at_end":false}`,
		ProfileBacktrader: `{"profile":"compat:backtrader","fee_maker":0.001,"fee_taker":0.001,"slippage_bps":0,"protect_from":"next_candle",` + common +
			`,"resting_gap":"open","limit_touch":"touch","quantity_step":0.00000001,"allow_short":false,"close_at_end":false}`,
		ProfileFreqtrade: `{"profile":"compat:freqtrade","fee_maker":0.001,"fee_taker":0.001,"slippage_bps":0,"protect_from":"entry_candle",` + common +
			`,"resting_gap":"limit","limit_touch":"touch","quantity_step":0.00000001,"allow_short":false,"close_at_end":false}`,
	} {
		o, err := ResolveOptions(fmt.Appendf(nil, `{"profile":%q}`, profile), DefaultFees())
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(o)
		if err != nil || string(got) != want {
			t.Errorf("%s (%v)\nwant %s", got, err, want)
		}
		again, err := ResolveOptions(got, Fees{})
		if err != nil || again != o {
			t.Errorf("%s is not read back: %+v, %v", got, again, err)
		}
	}
}

func TestNothingGivenIsTheDefault(t *testing.T) {
	want, err := ResolveOptions([]byte(`{}`), DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "  \n", `{"profile":"bar-v1"}`, `{"slippage_bps":5.0}`,
		`{"quantity_step":1e-8}`} {
		if got, err := ResolveOptions([]byte(text), DefaultFees()); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestFeesOfTheExchange(t *testing.T) {
	venue := Fees{Maker: decimal.MustParse("0.0002"), Taker: decimal.MustParse("0.0005")}
	o, err := ResolveOptions([]byte(`{"fee_taker":0.002}`), venue)
	if err != nil || o.FeeMaker.String() != "0.0002" || o.FeeTaker.String() != "0.002" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestBounds(t *testing.T) {
	for field, b := range map[string]struct{ in, out []string }{
		"fee_maker":     {[]string{"-0.01", "0", "0.1"}, []string{"-0.0100001", "0.1000001", "1"}},
		"fee_taker":     {[]string{"0", "-0", "0.1"}, []string{"-0.0000001", "0.1000001"}},
		"slippage_bps":  {[]string{"0", "1000", "1e3", "0.5"}, []string{"-1", "1000.0001"}},
		"quantity_step": {[]string{"1e-10", "1000000", "0.25"}, []string{"0", "9e-11", "1000000.1", "-1"}},
		"profile": {[]string{`"bar-v1"`, `"compat:backtrader"`, `"compat:backtesting.py"`, `"compat:freqtrade"`},
			[]string{`"bar-v2"`, `""`, "1"}},
		"protect_from": {[]string{`"entry_candle"`, `"next_candle"`}, []string{`"never"`, "true"}},
		"intrabar": {[]string{`"stop_first"`, `"target_first"`, `"ohlc_color"`},
			[]string{`"STOP_FIRST"`, "0"}},
		"resting_gap":  {[]string{`"limit"`, `"open"`}, []string{`"close"`}},
		"limit_touch":  {[]string{`"touch"`, `"through_tick"`}, []string{`"through"`}},
		"allow_short":  {[]string{"true", "false"}, []string{`"true"`, "1", "0"}},
		"close_at_end": {[]string{"true", "false"}, []string{`"no"`, "[]"}},
	} {
		for _, v := range b.in {
			if _, err := ResolveOptions([]byte(`{"`+field+`":`+v+`}`), DefaultFees()); err != nil {
				t.Errorf("%s %s: %v", field, v, err)
			}
		}
		for _, v := range append(b.out, "null", `"abc"`, "{}", `"0.01"`) {
			_, err := ResolveOptions([]byte(`{"`+field+`":`+v+`}`), DefaultFees())
			var bad *OptionError
			if !errors.As(err, &bad) || len(bad.Fields) != 1 || bad.Fields[0].Pointer != "/"+field ||
				bad.Fields[0].Message == "" || bad.Fields[0].Rule == "" {
				t.Errorf("%s %s: %v", field, v, err)
			}
		}
	}
}

func TestAllBadOptionsAtOnce(t *testing.T) {
	_, err := ResolveOptions([]byte(`{"slippage_bps":-1,"delay_candles":2,"a/b~c":1,"profile":"x"}`),
		DefaultFees())
	var bad *OptionError
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	var got []string
	for _, f := range bad.Fields {
		got = append(got, f.Pointer+" "+f.Rule)
	}
	want := "/a~1b~0c additionalProperties, /delay_candles additionalProperties, /profile enum, " +
		"/slippage_bps range"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
	if text := err.Error(); !strings.Contains(text, "/slippage_bps: must be a number from 0 to 1000") ||
		!strings.Contains(text, "compat:backtrader") {
		t.Error(text)
	}
}

func TestNotAnObject(t *testing.T) {
	for _, text := range []string{"null", "[]", "1", `"x"`, "{", `{"profile":}`, "{} {}", "{}x"} {
		var bad *OptionError
		if _, err := ResolveOptions([]byte(text), DefaultFees()); !errors.As(err, &bad) ||
			bad.Fields[0].Pointer != "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzResolveOptions(f *testing.F) {
	f.Add([]byte(`{"profile":"compat:backtrader","slippage_bps":5e0}`))
	f.Add([]byte(`{"quantity_step":1e-310}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := ResolveOptions(text, DefaultFees())
		if err != nil {
			var bad *OptionError
			if !errors.As(err, &bad) {
				t.Fatal(err)
			}
			return
		}
		out, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ResolveOptions(out, Fees{}); err != nil || again != o {
			t.Fatalf("%s: %+v, %v", out, again, err)
		}
	})
}
