package capsule

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestEventsAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.Int64Range(0, 400).Draw(t, "steps")
		s := &run.Snapshot{Step: steps - 1}
		var all []string // as they came
		for step := range steps {
			c := run.SnapshotCandle{Step: step, Symbol: "A/B"}
			s.Candles, s.CandlesTotal = append(s.Candles, c), s.CandlesTotal+1
			all = append(all, fmt.Sprintf("candle %d", step))
			for range rapid.IntRange(0, 3).Draw(t, "lines") {
				s.Lines = append(s.Lines,
					fmt.Appendf(nil, `{"candle":%d,"kind":"intent","seq":%d}`, step, s.LinesTotal))
				all = append(all, fmt.Sprintf("seq %d", s.LinesTotal))
				s.LinesTotal++
			}
		}
		s.Candles = s.Candles[max(0, len(s.Candles)-MaxEvents):]
		s.Lines = s.Lines[max(0, len(s.Lines)-MaxEvents):]
		list, before, err := events(s, "train")
		if err != nil || len(list) != min(len(all), MaxEvents) || before != int64(len(all)-len(list)) {
			t.Fatalf("%d of %d, %d before, %v", len(list), len(all), before, err)
		}
		for i, text := range list {
			var e struct {
				Kind        string
				Candle, Seq int64
			}
			if err := json.Unmarshal(text, &e); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("seq %d", e.Seq)
			if e.Kind == "candle" {
				got = fmt.Sprintf("candle %d", e.Candle)
			}
			if got != all[len(all)-len(list)+i] {
				t.Fatalf("event %d is %s, want %s", i, got, all[len(all)-len(list)+i])
			}
		}
	})
}

func TestWhere(t *testing.T) {
	stack := func(hook string) string {
		return "goroutine 1 [running]:\npanic(0x1)\n\tpanic.go:1\nmain.(*s)." + hook + "(0x1)\n\tx.go:2\n" +
			SDK + "/internal/drive.(*Author).ask(0x1)\n\ta.go:3"
	}
	at := func(step int64, change func(*run.Snapshot)) *run.Snapshot {
		s := &run.Snapshot{Step: step, Window: 50, Warmup: 60, Time: 7, LinesTotal: 9}
		if change != nil {
			change(s)
		}
		return s
	}
	index := func(i int64) *int64 { return &i }
	for _, c := range []struct {
		name     string
		data     map[string]any
		snapshot *run.Snapshot
		phase    Phase
		index    *int64
	}{
		{"not started", nil, nil, PhaseInit, nil},
		{"before the first", nil, at(-1, nil), PhaseInit, nil},
		{"OnStart", map[string]any{"stack": stack("OnStart")}, at(0, nil), PhaseInit, index(-50)},
		{"warm-up", nil, at(0, nil), PhaseWarmup, index(-50)},
		{"short warm-up", nil, at(59, nil), PhaseWarmup, index(9)},
		{"candle", map[string]any{"stack": stack("OnCandle")}, at(60, nil), PhaseCandle, index(10)},
		{"fill", map[string]any{"stack": stack("OnFill")}, at(61, nil), PhaseFill, index(11)},
		{"rejection", map[string]any{"stack": stack("OnReject")}, at(61, nil), PhaseFill, index(11)},
		{"overflow", map[string]any{"reason": "ledger_overflow"}, at(61, nil), PhaseFill, index(11)},
		{"the end", nil, at(99, func(s *run.Snapshot) { s.Over = true }), PhaseFinalize, index(49)},
	} {
		f := &artifact.Failure{Code: "STRATEGY_ERROR", Message: "panic: boom\nsecond line", Data: c.data}
		out, err := (&Stage{}).draft(about(), Played{Failure: f, Snapshot: c.snapshot})
		if err != nil {
			t.Fatal(err)
		}
		w := out.Where
		if w.Phase != c.phase || (w.CandleIndex == nil) != (c.index == nil) || w.CandleIndex != nil &&
			*w.CandleIndex != *c.index {
			t.Errorf("%s: %+v", c.name, w)
		}
		if !strings.HasPrefix(out.Claim, "Expected an answer a") ||
			!strings.Contains(out.Claim, "panic: boom.") || strings.Contains(out.Claim, "second") {
			t.Errorf("%s: %s", c.name, out.Claim)
		}
	}
}

func about() Context {
	return Context{Take: Take{SplitID: "train"},
		Inputs: Inputs{RequestHash: strings.Repeat("0", 64), RunID: "run_x",
			Data: []artifact.Dataset{{Symbol: "A/B"}}}}
}

func TestFault(t *testing.T) {
	exit := 3
	f := &artifact.Failure{Code: "PLUGIN_CRASHED", Message: "gone", PluginExitCode: &exit,
		LogTail: []string{strings.Repeat("x", 100_000), "é", "end"}}
	out := faultOf(f, traceOf(f))
	if *out.ExitCode != 3 || out.Signal != nil || len(out.StderrTail) != MaxStderrBytes ||
		!strings.HasSuffix(out.StderrTail, "\né\nend") {
		t.Errorf("%+v", out)
	}
	exit = 137
	if out := faultOf(f, traceOf(f)); out.ExitCode != nil || *out.Signal != "SIGKILL" {
		t.Errorf("%+v", out)
	}
	f.LogTail = []string{"panic: boom", "", "goroutine 9 [running]:", "main.f()", "\tx.go:7 +0x1"}
	if out := faultOf(f, traceOf(f)); out.Message != "panic: boom: gone" || out.Stack[0].Func != "main.f" {
		t.Errorf("%+v", out)
	}
}

func TestDiverge(t *testing.T) {
	line := func(step, seq int, kind string) string {
		return fmt.Sprintf(`{"candle":%d,"kind":%q,"seq":%d,"time":"2024-01-01T%02d:00:00.000Z"}`+"\n", step,
			kind, seq, step)
	}
	same := line(1, 0, "intent") + line(2, 1, "order")
	for _, c := range []struct {
		name, a, b string
		line, step int64
	}{
		{"equal", same, same, -1, 0},
		{"nothing", "", "", -1, 0},
		{"another line", same + line(5, 2, "intent"), same + line(4, 2, "intent"), 2, 4},
		{"the other way round", same + line(4, 2, "intent"), same + line(5, 2, "intent"), 2, 4},
		{"one ends", same, same + line(7, 2, "fill"), 2, 7},
		{"the first", line(3, 0, "intent"), "", 0, 3},
		{"without a newline at the end", strings.TrimSuffix(same, "\n"), same, -1, 0},
	} {
		d := Diverge([]byte(c.a), []byte(c.b))
		if d == nil {
			if c.line != -1 {
				t.Errorf("%s: equal", c.name)
			}
			continue
		}
		if d.Line != c.line || d.Step != c.step || d.Time != market.Time(1704067200000+c.step*3600_000) {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	got := wanted([]byte(same+line(3, 2, "reject")+line(4, 3, "intent")), 3)
	if string(got) != line(1, 0, "intent")+line(3, 2, "reject") {
		t.Errorf("wanted up to 3:\n%s", got)
	}
}
