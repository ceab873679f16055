package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestExamples(t *testing.T) {
	table := New()
	asked := map[string]bool{}
	for _, c := range examples() {
		asked[c.fn] = true
		a := ask(t, table, c.request())
		if reason, undefined := strings.CutPrefix(c.want, "null "); undefined {
			if a.Value != nil || a.Reason != reason || a.Error != nil {
				t.Errorf("%s: %+v", c.request(), a)
			}
			continue
		}
		if code, wrong := strings.CutPrefix(c.want, "error "); wrong {
			if a.Error == nil || a.Error.Code != code {
				t.Errorf("%s: %+v", c.request(), a)
			}
			continue
		}
		if a.Error != nil {
			t.Errorf("%s: %+v", c.request(), *a.Error)
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatalf("%s: %v", c.want, err)
		}
		compare(t, c.fn, a.Value, want, 1e-12)
	}
	for _, f := range All() {
		if !slices.ContainsFunc(append(f.Names, f.also...), func(n string) bool {
			return asked[n]
		}) && f.Names[0] != "cscv_argument_checks" {
			t.Errorf("%s has no example", f.Names[0])
		}
	}
}

// Each input of each example is left out, given a wrong type, and joined by a stranger.
func TestEveryInputIsChecked(t *testing.T) {
	table := New()
	for _, c := range examples() {
		for name := range inputsOf(t, c.request()) {
			req, inputs := requestOf(t, c.request())
			delete(inputs, name)
			a := ask(t, table, req)
			if name == "divide_by" || name == "rho" && req["fn"] == "dsr_2025" {
				if a.Error != nil {
					t.Errorf("%s without it: %+v", name, *a.Error)
				}
			} else if a.Error == nil ||
				(a.Error.Code != "MISSING_INPUT" && a.Error.Code != "UNKNOWN_INPUT") ||
				a.Error.Code == "MISSING_INPUT" && name != "returns" && a.Error.Pointer != "/inputs/"+name {
				t.Errorf("%s without %s: %+v", c.request(), name, a)
			}
			for _, wrong := range []any{map[string]any{"x": 1}, nil, "?", []any{[]any{"?"}}, -1e308} {
				inputs[name] = wrong
				a := ask(t, table, req)
				if free := req["fn"] == "ema with explicit float64() conversions" ||
					name == "generator"; free {
					continue
				}
				if a.Error == nil &&
					(wrong != -1e308 || a.Value != nil && name != "sr" && name != "rf" &&
						name != "gross_pnl" && name != "target" && name != "threshold" &&
						name != "sr_benchmark" && name != "sr0" && name != "sr1" && name != "skew" &&
						name != "sr_annual") {
					t.Errorf("%s with %s = %v: %+v", c.request(), name, wrong, a)
				}
				if a.Error != nil &&
					(a.Error.Code != "INVALID_ARGUMENT" || !strings.HasPrefix(a.Error.Pointer, "/inputs/")) {
					t.Errorf("%s with %s = %v: %+v", c.request(), name, wrong, *a.Error)
				}
			}
		}
		req, inputs := requestOf(t, c.request())
		inputs["stranger"] = 1
		if a := ask(t, table, req); a.Error == nil || a.Error.Code != "UNKNOWN_INPUT" ||
			a.Error.Pointer != "/inputs/stranger" {
			t.Errorf("%s: %+v", c.request(), a)
		}
	}
}

func requestOf(t *testing.T, text string) (req, inputs map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &req); err != nil {
		t.Fatal(err)
	}
	return req, req["inputs"].(map[string]any)
}

func inputsOf(t *testing.T, text string) map[string]any {
	_, inputs := requestOf(t, text)
	return inputs
}

func TestRefusals(t *testing.T) {
	table := New()
	for _, c := range []struct{ fn, inputs, code, pointer string }{
		{"psr_2012", `{"sr":0.1,"sr_benchmark":0,"T":0,"skew":0,"kurt_raw":3}`, "INVALID_ARGUMENT",
			"/inputs/T"},
		{"psr_2012", `{"sr":0.1,"sr_benchmark":0,"T":24,"skew":0,"kurt_raw":0}`, "INVALID_ARGUMENT",
			"/inputs/kurt_raw"},
		{"psr_2012", `{"returns":[1,2],"sr_benchmark":0,"T":24}`, "UNKNOWN_INPUT", "/inputs/T"},
		{"psr_2012", `{"returns":[1,"2"],"sr_benchmark":0}`, "INVALID_ARGUMENT", "/inputs/returns/1"},
		{"psr_2012", `{"returns":[1,2]}`, "MISSING_INPUT", "/inputs/sr_benchmark"},
		{"PSR_2012", `{}`, "UNKNOWN_FUNCTION", "/fn"},
		{"min_trl_2012", `{"sr":1,"sr_benchmark":0,"skew":0,"kurt_raw":3,"confidence":1}`, "INVALID_ARGUMENT",
			"/inputs/confidence"},
		{"min_trl_2012", `{"sr":1,"sr_benchmark":0,"skew":0,"kurt_raw":3,"confidence":0.9,"divide_by":0}`,
			"INVALID_ARGUMENT", "/inputs/divide_by"},
		{"hl_autocorr_corrected_annual_sr", `{"sr_annual":1,"rho":0,"freqs":["M12","H24"]}`,
			"INVALID_ARGUMENT", "/inputs/freqs/1"},
		{"lo_eta_ar1", `{"rows":[[12,0.1],[12,1]]}`, "INVALID_ARGUMENT", "/inputs/rows/1/1"},
		{"expected_max_z_exact", `{"N":[5,0.5]}`, "INVALID_ARGUMENT", "/inputs/N/1"},
		{"expected_max_z_exact", `{"N":[` + strings.Repeat("2,", 1000) + `2]}`, "UNSUPPORTED_INPUT",
			"/inputs/N"},
		{"n_eff_avg_corr", `{"M":[1,2],"rho":[0]}`, "INVALID_ARGUMENT", "/inputs/rho"},
		{"effective_rank", `{"corr":[]}`, "INVALID_ARGUMENT", "/inputs/corr"},
		{"effective_rank", `{"corr":[[1,0],[0]]}`, "INVALID_ARGUMENT", "/inputs/corr/1"},
		{"effective_rank", `{"corr":[[1,0.5],[0.4,1]]}`, "INVALID_ARGUMENT", "/inputs/corr/0/1"},
		{"effective_rank", `{"corr":[[1,0],[0,2]]}`, "INVALID_ARGUMENT", "/inputs/corr/1/1"},
		{"effective_rank", `{"corr":[[1,2],[2,1]]}`, "INVALID_ARGUMENT", "/inputs/corr/0/1"},
		{"effective_rank", identity(513), "UNSUPPORTED_INPUT", "/inputs/corr"},
		{"adjusted_p", `{"p":[0.5,1.1]}`, "INVALID_ARGUMENT", "/inputs/p/1"},
		{"hl_haircut_bonferroni", `{"sr_annual":1,"n_months":120,"rho":0,"n_tests":5,"dist":"normal"}`,
			"INVALID_ARGUMENT", "/inputs/dist"},
		{"cscv_combination_count", `{"S":[4,5]}`, "INVALID_ARGUMENT", "/inputs/S/1"},
		{"cscv_combination_count", `{"S":[68]}`, "UNSUPPORTED_INPUT", "/inputs/S"},
		{"cscv", `{"S":3,"metric":"mean","matrix_T_by_N":[[1,2],[2,3],[1,1],[0,0],[1,0],[0,1]]}`,
			"INVALID_ARGUMENT", "/inputs/S"},
		{"cscv", `{"S":0,"metric":"mean","matrix_T_by_N":[[1,2],[2,3]]}`, "INVALID_ARGUMENT", "/inputs/S"},
		{"cscv", `{"S":2,"metric":"mean","matrix_T_by_N":[[1,2],[2,3],[1,2]]}`, "INVALID_ARGUMENT",
			"/inputs/matrix_T_by_N"},
		{"cscv", `{"S":2,"metric":"mean","matrix_T_by_N":[[1],[2],[1],[4]]}`, "INVALID_ARGUMENT",
			"/inputs/matrix_T_by_N"},
		{"cscv", `{"S":2,"metric":"mean","matrix_T_by_N":[[1,2],[2,null],[1,2],[4,5]]}`, "INVALID_ARGUMENT",
			"/inputs/matrix_T_by_N/1/1"},
		{"cscv", `{"S":2,"metric":"median","matrix_T_by_N":[[1,2],[2,3],[1,2],[4,5]]}`, "INVALID_ARGUMENT",
			"/inputs/metric"},
		{"cscv", `{"S":22,"metric":"mean","matrix_T_by_N":[[1,2]]}`, "UNSUPPORTED_INPUT", "/inputs/S"},
		{"cscv argument checks", `{"cases":["S odd","NaN in matrix"]}`, "INVALID_ARGUMENT",
			"/inputs/cases/0"},
		{"cscv argument checks", `{"cases":["S<2"]}`, "INVALID_ARGUMENT", "/inputs/cases/0"},
		{"cscv argument checks", `{"cases":["T<2S"]}`, "INVALID_ARGUMENT", "/inputs/cases/0"},
		{"cscv argument checks", `{"cases":["N<2"]}`, "INVALID_ARGUMENT", "/inputs/cases/0"},
		{"cscv argument checks", `{"cases":["NaN in matrix"]}`, "INVALID_ARGUMENT", "/inputs/cases/0"},
		{"cscv argument checks", `{"cases":["S odd","else"]}`, "INVALID_ARGUMENT", "/inputs/cases/1"},
		{"cscv argument checks", `{"cases":[]}`, "INVALID_ARGUMENT", "/inputs/cases"},
		{"rolling", `{"n":3,"train":3,"test":1,"step":1,"purge":0}`, "INVALID_ARGUMENT", "/inputs/n"},
		{"rolling", `{"n":9,"train":3,"test":1,"step":0,"purge":0}`, "INVALID_ARGUMENT", "/inputs/step"},
		{"rolling", `{"n":10000000,"train":5000000,"test":1,"step":1000000,"purge":0}`, "UNSUPPORTED_INPUT",
			"/inputs/n"},
		{"purge 1", `{"n":12,"n_folds":3,"n_test_folds":3,"purge":1,"embargo":0}`, "INVALID_ARGUMENT",
			"/inputs/n_test_folds"},
		{"purge 1", `{"n":12,"n_folds":3,"n_test_folds":2,"purge":2,"embargo":1}`, "INVALID_ARGUMENT",
			"/inputs/embargo"},
		{"purge 1", `{"n":1200000,"n_folds":6,"n_test_folds":3,"purge":2,"embargo":1}`, "UNSUPPORTED_INPUT",
			"/inputs/n"},
		{"paths", `{"n_folds":40,"n_test_folds":20}`, "INVALID_ARGUMENT", "/inputs/n_folds"},
		{"counts", `{"rows":[[6,2],[6,6]]}`, "INVALID_ARGUMENT", "/inputs/rows/1/1"},
		{"counts", `{"rows":[[6,2],[1000,500]]}`, "UNSUPPORTED_INPUT", "/inputs/rows/1"},
		{"60/20/20 floor rule", `{"n":[10],"fractions":[0.5,0.5]}`, "INVALID_ARGUMENT", "/inputs/fractions"},
		{"60/20/20 floor rule", `{"n":[10],"fractions":[0.5,0.5,0.5]}`, "INVALID_ARGUMENT",
			"/inputs/fractions"},
		{"60/20/20 floor rule", `{"n":[10,-1],"fractions":[0.6,0.2,0.2]}`, "INVALID_ARGUMENT", "/inputs/n/1"},
		{"index recursion", `{"n":2,"mean_block":2,"uniforms":[0],"random_starts":[0,0]}`, "INVALID_ARGUMENT",
			"/inputs/uniforms"},
		{"index recursion", `{"n":2,"mean_block":2,"uniforms":[0,0],"random_starts":[0,2]}`,
			"INVALID_ARGUMENT", "/inputs/random_starts/1"},
		{"index recursion", `{"n":2,"mean_block":0.5,"uniforms":[0,0],"random_starts":[0,1]}`,
			"INVALID_ARGUMENT", "/inputs/mean_block"},
		{"white_rc", `{"d_T_by_K":[[1],[2]],"bootstrap_indices":[[0,2]]}`, "INVALID_ARGUMENT",
			"/inputs/bootstrap_indices/0/1"},
		{"white_rc", `{"d_T_by_K":[[1],[2]],"bootstrap_indices":[[0,1],[0]]}`, "INVALID_ARGUMENT",
			"/inputs/bootstrap_indices/1"},
		{"white_rc", `{"d_T_by_K":[[1,2],[2]],"bootstrap_indices":[[0,1]]}`, "INVALID_ARGUMENT",
			"/inputs/d_T_by_K/1"},
		{"white_rc", `{"d_T_by_K":[],"bootstrap_indices":[]}`, "INVALID_ARGUMENT", "/inputs/d_T_by_K"},
		{"white_rc", `{"d_T_by_K":[[]],"bootstrap_indices":[[0]]}`, "INVALID_ARGUMENT", "/inputs/d_T_by_K"},
		{"stepm studentised", `{"d_T_by_K":[[1]],"bootstrap_indices":[],"mean_block":1,"alpha":0.1}`,
			"INVALID_ARGUMENT", "/inputs/bootstrap_indices"},
		{"permute_bars", `{"ohlc":[[1,1,1,1],[1,1,1,0]],"perm_gap":[0],"perm_intrabar":[0]}`,
			"INVALID_ARGUMENT", "/inputs/ohlc/1/3"},
		{"permute_bars", `{"ohlc":[[1,1,1,1],[1,1,1,1],[1,1,1,1]],"perm_gap":[0,0],"perm_intrabar":[0,1]}`,
			"INVALID_ARGUMENT", "/inputs/perm_gap/1"},
		{"permute_bars", `{"ohlc":[[1,1,1,1],[1,1,1,1],[1,1,1,1]],"perm_gap":[0,1],"perm_intrabar":[0,2]}`,
			"INVALID_ARGUMENT", "/inputs/perm_intrabar/1"},
		{"permute_bars", `{"ohlc":[[1,1,1,1],[1,1,1,1]],"perm_gap":[],"perm_intrabar":[0]}`,
			"INVALID_ARGUMENT", "/inputs/perm_gap"},
		{"p_value", `{"rows":[[5,4]]}`, "INVALID_ARGUMENT", "/inputs/rows/0/0"},
		{"exact max-drawdown distribution over all orderings",
			`{"trades":[1,1,1,1,1,1,1,1,1,1],"start_equity":10}`, "INVALID_ARGUMENT", "/inputs/trades"},
		{"gambler_ruin", `{"p":[0.5],"units":[]}`, "INVALID_ARGUMENT", "/inputs/units"},
		{"drawdown list (money)", `{"equity":[]}`, "INVALID_ARGUMENT", "/inputs/equity"},
		{"ema20 last value vs startup length", `{"prices":[1,2],"ema_period":20,"startup":[2]}`,
			"INVALID_ARGUMENT", "/inputs/startup/0"},
		{"ema20 last value vs startup length", `{"prices":[],"ema_period":20,"startup":[]}`,
			"INVALID_ARGUMENT", "/inputs/prices"},
		{"first 8 points unscrambled d=3", `{"d":65,"n":1}`, "INVALID_ARGUMENT", "/inputs/d"},
		{"first 8 points unscrambled d=3", `{"d":64,"n":4294967296}`, "UNSUPPORTED_INPUT", "/inputs/n"},
		{"rungs", `{"n":9,"eta":1,"min_budget":1,"max_budget":2}`, "INVALID_ARGUMENT", "/inputs/eta"},
		{"rungs", `{"n":9,"eta":3,"min_budget":3,"max_budget":2}`, "INVALID_ARGUMENT", "/inputs/max_budget"},
		{"cartesian order and count", `{"params":{"a":[1],"b":2}}`, "INVALID_ARGUMENT", "/inputs/params/b"},
		{"cartesian order and count",
			`{"params":{"a":[` + strings.Repeat("1,", 999) + `1],"b":[` + strings.Repeat("1,", 100) + `1]}}`,
			"UNSUPPORTED_INPUT", "/inputs/params"},
		{"cartesian order and count",
			`{"params":{"a":["` + strings.Repeat("x", 1<<20) + `"],"b":[` + strings.Repeat("1,", 99) + `1]}}`,
			"UNSUPPORTED_INPUT", "/inputs/params"},
		{"periods_per_year (24/7 market, 365 d)", `{"timeframes":["1h","h"]}`, "INVALID_ARGUMENT",
			"/inputs/timeframes/1"},
		{"math/rand/v2 PCG", `{"seed1":1,"seed2":18446744073709551616}`, "INVALID_ARGUMENT", "/inputs/seed2"},
		{"math/rand/v2 ChaCha8", `{"seed_ascii":"short"}`, "INVALID_ARGUMENT", "/inputs/seed_ascii"},
		{"canonicalize values", `{"input_utf8":"{\"a\":1,\"a\":2}"}`, "INVALID_ARGUMENT",
			"/inputs/input_utf8"},
		{"number serialisation", `{"ieee_hex":["0000000000000000","0x00000000000000"]}`, "INVALID_ARGUMENT",
			"/inputs/ieee_hex/1"},
		{"one parameter changed", `{"canonical":"{"}`, "INVALID_ARGUMENT", "/inputs/canonical"},
	} {
		a := ask(t, table, fmt.Sprintf(`{"id":"x","fn":%q,"inputs":%s}`, c.fn, c.inputs))
		if a.Error == nil || a.Error.Code != c.code || a.Error.Pointer != c.pointer || a.ID != "x" ||
			a.Value != nil {
			t.Errorf("%s %.100s: %+v %+v", c.fn, c.inputs, a, a.Error)
		}
	}
}

func identity(n int) string {
	var rows []string
	for i := range n {
		row := make([]string, n)
		for k := range row {
			row[k] = "0"
		}
		row[i] = "1"
		rows = append(rows, "["+strings.Join(row, ",")+"]")
	}
	return `{"corr":[` + strings.Join(rows, ",") + `]}`
}

func TestRun(t *testing.T) {
	const count = `{"fn":"cscv_combination_count","inputs":{"S":[2]}}`
	var out bytes.Buffer
	answer := func(text []byte) { out.Write(append(text, '\n')) }
	in := "{\"id\":1,\"fn\":\"omega\",\"inputs\":{\"returns\":[1,-1],\"threshold\":0}}\r\n\n" +
		strings.Repeat(" ", MaxBytes+1) + "\n" +
		strings.Repeat(" ", MaxBytes-len(count)) + count + "\r\n" +
		"{\"id\":3,\"fn\":\"nothing\",\"inputs\":{}}"
	lines, failed, err := New().Run(context.Background(), strings.NewReader(in), answer, func() error {
		return nil
	})
	if lines != 5 || failed != 3 || err != nil {
		t.Errorf("%d lines, %d failed, %v", lines, failed, err)
	}
	want := `{"id":1,"value":1}
{"error":{"code":"INVALID_JSON","message":"the line is empty","pointer":""}}
{"error":{"code":"UNSUPPORTED_INPUT","message":"a line has at most 16777216 bytes","pointer":""}}
{"value":[2]}
{"id":3,"error":{"code":"UNKNOWN_FUNCTION","message":"there is no function \"nothing\": lab stats list shows all","pointer":"/fn"}}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if lines, failed, err := New().Run(context.Background(), strings.NewReader(""), answer, func() error {
		return nil
	}); lines+failed != 0 || err != nil {
		t.Error(lines, failed, err)
	}
}

// An answer is there before the next line is asked for, and whoever reads no more ends it.
func TestRunStreams(t *testing.T) {
	in, send := io.Pipe()
	answers, flushed := make(chan string, 1), make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, _, err := New().Run(ctx, in, func(text []byte) {
			answers <- string(text)
		}, func() error { flushed <- struct{}{}; return nil })
		done <- err
	}()
	for range 3 {
		if _, err := send.Write(
			[]byte(`{"fn":"omega","inputs":{"returns":[1,-1],"threshold":0}}` + "\n")); err != nil {
			t.Fatal(err)
		}
		if a := <-answers; a != `{"value":1}` {
			t.Error(a)
		}
		<-flushed
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still running")
	}
	_ = send.Close()
}

func TestRunReportsWhatBreaks(t *testing.T) {
	broken := errors.New("broken")
	if _, _, err := New().Run(context.Background(),
		io.MultiReader(strings.NewReader("{}\n"), failing{broken}), func([]byte) {}, func() error {
			return nil
		}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, _, err := New().Run(context.Background(), strings.NewReader("{}\n"), func([]byte) {}, func() error {
		return broken
	}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
