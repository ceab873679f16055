package request

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/split"
)

func failed(t *testing.T, kind string) *capsule.Capsule {
	t.Helper()
	c := capsule.Blank(capsule.Context{
		Inputs: capsule.Inputs{RequestHash: strings.Repeat("0", 64), RunID: "run_x", Request: []byte(`{}`)},
		Take:   capsule.Take{SplitID: "train", Params: []byte(`{}`), Execution: []byte(`{}`)},
	}, capsule.PluginPanic)
	c.Where.Phase, c.Error.Type, c.Error.Message = capsule.PhaseCandle, kind, "the key is swordfish-4711"
	if err := c.Name(""); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCapsulesOfARunAreKept(t *testing.T) {
	t.Setenv("EXCHANGE_SECRET", "swordfish-4711")
	root := t.TempDir()
	h := &Host{Artifacts: artifact.NewStore(root), Logger: hclog.NewNullLogger()}
	first := h.capturer().keep("run_x", failed(t, "a"))
	again := h.capturer().keep("run_x", failed(t, "a"))
	if first == nil || again == nil || first.CapsuleID != again.CapsuleID || first.SHA256 == again.SHA256 {
		t.Fatalf("%+v, %+v", first, again)
	}
	text, err := os.ReadFile(filepath.Join(root, "run_x", filepath.FromSlash(again.Path)))
	if err != nil || strings.Contains(string(text), "swordfish") {
		t.Errorf("%v, %s", err, text)
	}
	if c, err := capsule.Decode(text); err != nil || c.Count != 2 || len(c.Integrity.Redactions) != 1 {
		t.Errorf("%v, %+v", err, c)
	}
	for i := range capsule.MaxPerRun - 1 {
		if h.capturer().keep("run_x", failed(t, fmt.Sprint(i))) == nil {
			t.Fatal(i)
		}
	}
	if note := h.capturer().keep("run_x", failed(t, "one too many")); note != nil {
		t.Errorf("%+v", note)
	}
	// Of the locked split a capsule tells the place and not how it went.
	secret := failed(t, "locked")
	secret.Where.SplitID, secret.State = split.RoleTest, &capsule.State{Equity: "123456789"}
	if err := secret.Name(""); err != nil {
		t.Fatal(err)
	}
	note := h.capturer().keep("run_locked", secret)
	if note == nil {
		t.Fatal("no capsule is kept")
	}
	if text, err = os.ReadFile(filepath.Join(root, "run_locked",
		filepath.FromSlash(note.Path))); err != nil || strings.Contains(string(text), "123456789") {
		t.Errorf("%v, %s", err, text)
	}
	// A run does not fail because its capsule cannot be written.
	if err := os.WriteFile(filepath.Join(root, "run_y"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if note := h.capturer().keep("run_y", failed(t, "a")); note != nil {
		t.Errorf("%+v", note)
	}
}

// Whatever the order in which jobs end, the first that fails in their own order is the
// last one that counts, and none before it is stopped.
func TestHaltKeepsWhatComesBeforeTheFirstFailure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "jobs")
		fails := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "fails")
		order := rapid.Permutation(sequence(n)).Draw(t, "order")
		on := rapid.Bool().Draw(t, "on")
		want := n
		for i := n - 1; i >= 0 && on; i-- {
			if fails[i] {
				want = i
			}
		}
		stop := &halt{first: n, on: on}
		ctxs, ends := make([]context.Context, n), make([]func(bool), n)
		for i := range n {
			ctxs[i], ends[i] = stop.begin(t.Context(), i)
		}
		for _, i := range order {
			if stopped := ctxs[i].Err() != nil; stopped && i <= want {
				t.Fatalf("job %d was stopped, the first failure is %d", i, want)
			} else if !stopped {
				ends[i](fails[i])
			} else {
				ends[i](false)
			}
		}
		if stop.first != want {
			t.Fatalf("the first failure is %d, want %d", stop.first, want)
		}
		late, end := stop.begin(t.Context(), n)
		if (late.Err() != nil) != (want < n) {
			t.Fatal("a later job goes on")
		}
		end(false)
	})
}

func sequence(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestFirstCause(t *testing.T) {
	cause := fmt.Errorf("real")
	for _, c := range []struct{ list, want []error }{
		{nil, []error{nil}},
		{[]error{nil, context.Canceled, cause}, []error{cause}},
		{[]error{nil, context.Canceled}, []error{context.Canceled}},
	} {
		if got := FirstCause(c.list); got != c.want[0] {
			t.Errorf("%v: %v", c.list, got)
		}
	}
}
