package capsule

import (
	"testing"

	"github.com/assay-run/assay/host/artifact"
)

func number(n int) *int { return &n }

func TestClassify(t *testing.T) {
	type data = map[string]any
	cases := []struct {
		name     string
		failure  artifact.Failure
		trace    Trace
		kind     Kind
		typ      string
		severity Severity
	}{
		{"panic", artifact.Failure{Code: "STRATEGY_ERROR",
			Data: data{"type": "runtime.boundsError", "stack": "x"}}, Trace{}, PluginPanic,
			"runtime.boundsError", SeverityError},
		{"returned error",
			artifact.Failure{Code: "STRATEGY_ERROR", Data: data{"type": "*errors.errorString"}}, Trace{},
			PluginPanic, "*errors.errorString", SeverityError},
		{"an older SDK", artifact.Failure{Code: "STRATEGY_ERROR"}, Trace{}, PluginPanic, "", SeverityError},
		{"too many intents", artifact.Failure{Code: "STRATEGY_ERROR", Data: data{"type": "limit"}}, Trace{},
			InvalidOutput, "limit", SeverityViolation},
		{"no size", artifact.Failure{Code: "STRATEGY_ERROR", Data: data{"type": "intent"}}, Trace{},
			InvalidOutput, "intent", SeverityViolation},
		{"exit", artifact.Failure{Code: "PLUGIN_CRASHED", PluginExitCode: number(3)}, Trace{}, PluginExit,
			"exit status 3", SeverityError},
		{"signal", artifact.Failure{Code: "PLUGIN_CRASHED", PluginExitCode: number(139)}, Trace{}, PluginExit,
			"signal SIGSEGV", SeverityError},
		{"odd signal", artifact.Failure{Code: "PLUGIN_CRASHED", PluginExitCode: number(128 + 40)}, Trace{},
			PluginExit, "signal SIG40", SeverityError},
		{"processor time", artifact.Failure{Code: "PLUGIN_CRASHED", PluginExitCode: number(128 + 24)},
			Trace{}, ResourceLimit, "signal SIGXCPU", SeverityError},
		{"memory", artifact.Failure{Code: "PLUGIN_CRASHED", PluginExitCode: number(2)},
			Trace{Cause: "fatal error: runtime: out of memory"}, ResourceLimit,
			"fatal error: runtime: out of memory", SeverityError},
		{"goroutine", artifact.Failure{Code: "PLUGIN_CRASHED", PluginExitCode: number(2)},
			Trace{Cause: "panic: x"}, PluginPanic, "panic", SeverityError},
		{"timeout", artifact.Failure{Code: "PLUGIN_TIMEOUT"}, Trace{}, PluginTimeout, "deadline",
			SeverityError},
		{"digest", artifact.Failure{Code: "PLUGIN_DIVERGED"}, Trace{}, PluginDiverged, "ledger_digest",
			SeverityViolation},
		{"NaN", artifact.Failure{Code: "PLUGIN_PROTOCOL_ERROR",
			Data: data{"field_path": "intents[0].quantity"}}, Trace{}, InvalidOutput, "protocol",
			SeverityViolation},
		{"watermark", artifact.Failure{Code: "PLUGIN_PROTOCOL_ERROR", Data: data{"field_path": "watermark"}},
			Trace{}, PluginProtocol, "protocol", SeverityViolation},
		{"data", artifact.Failure{Code: "DATA_ERROR", Data: data{"reason": "ledger_overflow"}}, Trace{},
			DataError, "ledger_overflow", SeverityError},
		{"host", artifact.Failure{Code: "INTERNAL_ERROR"}, Trace{}, HostInvariant, "host", SeverityViolation},
	}
	for _, c := range cases {
		kind := Classify(&c.failure, c.trace)
		if typ := TypeOf(&c.failure, c.trace); kind != c.kind || typ != c.typ ||
			kind.Severity() != c.severity || !kind.OfPlugin() {
			t.Errorf("%s: %s of type %q, severity %q", c.name, kind, typ, kind.Severity())
		}
	}
	for k := range severities {
		if k.OfPlugin() == (k == Nondeterminism || k == Lookahead || k == ArtifactMismatch ||
			k == Cancelled) {
			t.Errorf("%s: of the plugin is %v", k, k.OfPlugin())
		}
	}
}

func TestFingerprintForgetsLinesAndForeignFrames(t *testing.T) {
	base := Fault{Code: "STRATEGY_ERROR", Type: "string", Message: "at candle 7", Stack: []Frame{
		{"sort.Slice", "sort.go", 1}, {"main.a", "a.go", 10},
		{SDK + "/internal/drive.(*Author).Decide", "author.go", 67},
	}}
	print := func(k Kind, change func(*Fault)) string {
		f := base
		f.Stack = append([]Frame{}, base.Stack...)
		change(&f)
		sum, err := Fingerprint(k, &f, "example.com/x")
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	same := print(PluginPanic, func(*Fault) {})
	for name, change := range map[string]func(*Fault){
		"message": func(f *Fault) { f.Message = "at candle 8" },
		"line":    func(f *Fault) { f.Stack[1].Line, f.Stack[1].File = 99, "b.go" },
		"mode":    func(f *Fault) { f.Stack[2].Func = SDK + "/internal/drive.(*Author).DecideStep" },
		"foreign": func(f *Fault) { f.Stack[0].Func = "slices.Sort" },
		"sixth": func(f *Fault) {
			f.Stack = nil
			for range 5 {
				f.Stack = append(f.Stack, Frame{Func: "main.a"})
			}
			f.Stack = append(f.Stack, Frame{Func: "main.b"})
		},
	} {
		want := same
		if name == "sixth" {
			want = print(PluginPanic, func(f *Fault) { change(f); f.Stack[5].Func = "main.c" })
		}
		if got := print(PluginPanic, change); got != want {
			t.Errorf("%s changes it", name)
		}
	}
	for name, other := range map[string]string{
		"kind": print(PluginExit, func(*Fault) {}),
		"type": print(PluginPanic, func(f *Fault) { f.Type = "error" }),
		"code": print(PluginPanic, func(f *Fault) { f.Code = "X" }),
		"func": print(PluginPanic, func(f *Fault) { f.Stack[1].Func = "main.b" }),
	} {
		if other == same {
			t.Errorf("%s does not change it", name)
		}
	}
}
