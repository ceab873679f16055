package capsule

import (
	"path"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
)

const caught = `goroutine 24 [running]:
runtime/debug.Stack()
	runtime/debug/stack.go:26 +0x5e
github.com/assay-run/assay/plugin-sdk/internal/drive.(*Author).guard(0xc000196000, 0xc00019f8f8)
	github.com/assay-run/assay/plugin-sdk/internal/drive/author.go:118 +0x5c
panic({0x9b7d60?, 0xc000014f30?})
	runtime/panic.go:783 +0x132
main.level[...](...)
	/home/alice/bots/cross/strategy.go:48
main.(*cross).OnFill.func1(0x1, {0x2, 0x3})
	/home/alice/bots/cross/strategy.go:30 +0x1b
github.com/assay-run/assay/plugin-sdk/internal/drive.(*Author).ask(0xc000196000, {0x0, 0x0, 0x0})
	github.com/assay-run/assay/plugin-sdk/internal/drive/author.go:97 +0x1e2
created by google.golang.org/grpc.(*Server).serveStreams.func2 in goroutine 20
	google.golang.org/grpc@v1.85.0/server.go:1107 +0x4a5`

func TestParseStackOfACaughtPanic(t *testing.T) {
	trace := ParseStack(strings.Split(caught, "\n"))
	want := []Frame{
		{"main.level[...]", "cross/strategy.go", 48},
		{"main.(*cross).OnFill.func1", "cross/strategy.go", 30},
		{"github.com/assay-run/assay/plugin-sdk/internal/drive.(*Author).ask",
			"github.com/assay-run/assay/plugin-sdk/internal/drive/author.go", 97},
		{"google.golang.org/grpc.(*Server).serveStreams.func2", "google.golang.org/grpc@v1.85.0/server.go",
			1107},
	}
	if trace.Cause != "" || !reflect.DeepEqual(trace.Frames, want) {
		t.Errorf("cause %q, frames %+v", trace.Cause, trace.Frames)
	}
	if hook := trace.Hook(); hook != "func1" {
		t.Errorf("hook %q", hook) // a closure says nothing about which method made it
	}
	trace.Frames[1].Func = "main.(*cross).OnFill"
	if hook := trace.Hook(); hook != "OnFill" {
		t.Errorf("hook %q", hook)
	}
}

func TestParseStackOfADyingProcess(t *testing.T) {
	cases := []struct {
		name, text, cause, kind, first string
	}{
		{"a goroutine",
			"loading\npanic: one of mine was recovered\npanic: boom\n\ngoroutine 31 " +
				"[running]:\nmain.f(0x1)\n\tmain.go:41 +0x25\n\ngoroutine 1 [select]:\nmain.g()\n\tmain.go:1",
			"panic: boom", "panic", "main.f"},
		{"an index",
			"panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 " +
				"[running]:\nmain.main()\n\tx.go:3 +0x1d\nexit status 2",
			"panic: runtime error: index out of range [5] with length 3", "runtime.Error", "main.main"},
		{"no stack left",
			"runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack " +
				"overflow\n\nruntime stack:\nruntime.throw({0x1, " +
				"0x2})\n\truntime/panic.go:1101\n\ngoroutine 1 gp=0xc000002380 m=0 mp=0x6 " +
				"[running]:\nmain.deep(0x1)\n\tx.go:9 +0x8 fp=0x1 sp=0x2 pc=0x3",
			"fatal error: stack overflow", "fatal error: stack overflow", ""},
		{"words", "panic: they said\nand went on", "", "", ""},
		{"nothing", "", "", "", ""},
	}
	for _, c := range cases {
		trace := ParseStack(strings.Split(c.text, "\n"))
		first := ""
		if len(trace.Frames) > 0 {
			first = trace.Frames[0].Func
		}
		if trace.Cause != c.cause || first != c.first || (c.cause != "" && trace.Type() != c.kind) {
			t.Errorf("%s: %+v of type %q, first frame %q", c.name, trace, trace.Type(), first)
		}
	}
}

func TestParseStackOfThisRuntime(t *testing.T) {
	func() {
		defer func() {
			_ = recover()
			trace := ParseStack(strings.Split(string(debug.Stack()), "\n"))
			if len(trace.Frames) < 2 ||
				!strings.HasSuffix(trace.Frames[0].Func, "capsule.TestParseStackOfThisRuntime.func1") ||
				!strings.HasSuffix(trace.Frames[0].File, "capsule/stack_test.go") {
				t.Errorf("%+v", trace.Frames)
			}
		}()
		panic("x")
	}()
}

func TestInModule(t *testing.T) {
	for _, c := range []struct {
		function, module string
		want             bool
	}{
		{"main.(*cross).OnCandle", "", true},
		{"main.run.func1", "example.com/bots", true},
		{"example.com/bots/signal.Cross[...]", "example.com/bots", true},
		{"example.com/bots.Cross", "example.com/bots", true},
		{"example.com/bots2.Cross", "example.com/bots", false},
		{"example.com/bots.v2.Cross", "example.com/bots", true},
		{"runtime.gopanic", "example.com/bots", false},
		{"sort.Slice", "", false},
		{SDK + "/sim.Run", "github.com/assay-run/assay", false},
		{"github.com/assay-run/assay/strategies/sma_cross.f", "github.com/assay-run/assay", true},
	} {
		if got := InModule(c.function, c.module); got != c.want {
			t.Errorf("%s in %q: %v", c.function, c.module, got)
		}
	}
}

func FuzzParseStack(f *testing.F) {
	f.Add(caught)
	f.Add("panic: \n\ngoroutine 1 [running]:\npanic(\n\t:1\nf()\n\tx:99999999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		trace := ParseStack(strings.Split(text, "\n"))
		if len(trace.Frames) > MaxFrames {
			t.Errorf("%d frames", len(trace.Frames))
		}
		for _, frame := range trace.Frames {
			if frame.Func == "" || frame.Func == "panic" || path.IsAbs(frame.File) {
				t.Errorf("%+v", frame)
			}
			InModule(frame.Func, "main")
		}
		trace.Hook()
		_ = trace.Type()
	})
}
