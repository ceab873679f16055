package request_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/request"
)

// run answers the request of a bench.
func (b bench) run(t *testing.T, p *request.Prepared, o request.Options) *request.Result {
	t.Helper()
	answer, err := b.Run(t.Context(), p, o)
	if err != nil || answer.Failure != nil {
		t.Fatalf("%+v, %v", answer, err)
	}
	return answer
}

// capsules are those of a run, decoded.
func (b bench) capsules(t *testing.T, runID string) []*capsule.Capsule {
	t.Helper()
	files, err := b.Artifacts.Capsules(runID)
	if err != nil {
		t.Fatal(err)
	}
	var list []*capsule.Capsule
	for _, text := range files {
		c, err := capsule.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// settled wants the row to be what is in the folder, and nobody to hold it.
func (b bench) settled(t *testing.T, p *request.Prepared) *artifact.Metadata {
	t.Helper()
	m, payload, err := artifact.Verify(b.Artifacts.Dir(p.RunID))
	if err != nil {
		t.Fatal(err)
	}
	row, err := b.Registry.Get(t.Context(), p.RunID)
	if err != nil || !bytes.Equal(row.Payload, payload) || row.Status != artifact.StatusCompleted {
		t.Errorf("the row is not metadata.json: %s, %v", row.Status, err)
	}
	if q, err := b.Registry.GetRequest(t.Context(), p.RequestHash); err != nil || q.Owner != "" ||
		q.LeaseUntil != "" || q.Status != artifact.StatusCompleted {
		t.Errorf("%+v, %v", q, err)
	}
	return m
}

// robbed are options whose lease is taken by somebody else after the first split, who
// answers the request meanwhile; wait for him in the end.
func (b bench) robbed(t *testing.T, o request.Options) (_ request.Options, wait func()) {
	t.Helper()
	other := b.prepare(t)
	var once sync.Once
	var wg sync.WaitGroup
	o.Progress = func(int64, int64) {
		once.Do(func() {
			if err := b.Registry.Reopen(t.Context(), other.RunID); err != nil {
				t.Error(err)
			}
			taken := make(chan struct{})
			wg.Go(func() {
				var began sync.Once
				told := request.Options{Progress: func(int64, int64) { began.Do(func() { close(taken) }) }}
				if answer, err := b.Run(t.Context(), other, told); err != nil || answer.Reused {
					t.Errorf("the other one: %+v, %v", answer, err)
				}
				began.Do(func() { close(taken) })
			})
			<-taken
		})
	}
	return o.Renewing(5 * time.Millisecond), wg.Wait
}

// TestLostLease: whoever loses the lease uses the answer of the one who has it. Nobody has
// interrupted anything, and there is no capsule that says so.
func TestLostLease(t *testing.T) {
	for name, force := range map[string]bool{"execution": false, "audit": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			p := b.prepare(t)
			want := 2
			if force {
				b.run(t, p, request.Options{})
			}
			o, wait := b.robbed(t, request.Options{Force: force})
			answer := b.run(t, p, o)
			wait()
			if m := b.settled(t, p); !answer.Reused || answer.Metadata.Attempt != want || m.Attempt != want {
				t.Errorf("reused %v, attempt %d, stored %d", answer.Reused, answer.Metadata.Attempt,
					m.Attempt)
			}
			if list := b.capsules(t, p.RunID); len(list) != 0 {
				t.Errorf("capsule %s: %s", list[0].Kind, list[0].Claim)
			}
		})
	}
}

// TestInterruption: it is the caller who has ended it. What was answered stays answered.
func TestInterruption(t *testing.T) {
	b := newBench(t)
	p := b.prepare(t)
	stopped := func(o request.Options) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o.Progress = func(int64, int64) { cancel() }
		if answer, err := b.Run(ctx, p, o); !errors.Is(err, context.Canceled) ||
			errors.Is(err, registry.ErrLeaseLost) {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
	stopped(request.Options{})
	if _, err := b.Registry.Get(t.Context(), p.RunID); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("its row is left: %v", err)
	}
	b.run(t, p, request.Options{})
	stopped(request.Options{Force: true})
	b.settled(t, p)
	for _, c := range b.capsules(t, p.RunID) {
		if c.Kind != capsule.Cancelled {
			t.Errorf("%s: %s", c.Kind, c.Claim)
		}
	}
}

// TestForceHoldsTheRun: nobody else writes to it meanwhile, and whoever only wants the
// answer does not wait.
func TestForceHoldsTheRun(t *testing.T) {
	b := newBench(t)
	p, other := b.prepare(t), b.prepare(t)
	first := b.run(t, p, request.Options{})
	var once sync.Once
	o := request.Options{Force: true, Progress: func(int64, int64) {
		once.Do(func() {
			if c, err := b.Registry.Hold(t.Context(), p.RequestHash, "somebody"); err != nil ||
				c.Standing != registry.Busy {
				t.Errorf("%+v, %v", c, err)
			}
			if answer, err := b.Run(t.Context(), other, request.Options{}); err != nil || !answer.Reused {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}}
	var wg sync.WaitGroup
	for prepared, options := range map[*request.Prepared]request.Options{p: o, b.prepare(t): {Force: true}} {
		wg.Go(func() {
			if answer, err := b.Run(t.Context(), prepared, options); err != nil || answer.Reused {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
	wg.Wait()
	if m := b.settled(t, p); m.Attempt != 1 || *m.ResultHash != first.Report.ResultHash ||
		m.Volatile.CompletedAt <= first.Metadata.Volatile.CompletedAt {
		t.Errorf("%+v", m)
	}
}

// TestSandboxLevel: what is recorded is what the processes had, not what was asked for.
func TestSandboxLevel(t *testing.T) {
	b := newBench(t)
	level := b.run(t, b.prepare(t), request.Options{NoReuse: true}).Metadata.Volatile.Environment.Sandbox
	if level != "full" && level != "off" && !strings.HasPrefix(level, "partial:") {
		t.Errorf("auto is recorded as %q", level)
	}
	b.Sandbox = "off"
	if level := b.run(t, b.prepare(t),
		request.Options{}).Metadata.Volatile.Environment.Sandbox; level != "off" {
		t.Errorf("off is recorded as %q", level)
	}
}

// forge changes a file of a run so that metadata.json and row agree with it.
func (b bench) forge(t *testing.T, p *request.Prepared, name string) {
	t.Helper()
	dir := b.Artifacts.Dir(p.RunID)
	path := filepath.Join(dir, filepath.FromSlash(name))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	m, _, err := artifact.Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range m.Artifacts {
		if f.Name == name {
			m.Artifacts[i].SHA256, m.Artifacts[i].Size = digest.SHA256Hex(text), int64(len(text))
		}
	}
	payload, err := m.Encode()
	err = errors.Join(err, os.WriteFile(path, text, 0o600),
		os.WriteFile(filepath.Join(dir, "metadata.json"), payload, 0o600),
		b.Registry.Complete(t.Context(), m, payload))
	if err != nil {
		t.Fatal(err)
	}
}

// TestEqualDecisionsOtherFiles: the capsule names the file where no decision differs.
func TestEqualDecisionsOtherFiles(t *testing.T) {
	b := newBench(t)
	p := b.prepare(t)
	b.run(t, p, request.Options{})
	b.forge(t, p, "splits/train/trades.csv")
	answer, err := b.Run(t.Context(), p, request.Options{Force: true})
	var differs *request.MismatchError
	if !errors.As(err, &differs) || differs.File != "splits/train/trades.csv" || differs.Capsule == nil {
		t.Fatalf("%+v, %+v", answer, err)
	}
	list := b.capsules(t, p.RunID)
	if len(list) != 1 {
		t.Fatalf("%d capsules", len(list))
	}
	c := list[0]
	if c.Kind != capsule.Nondeterminism || c.Where.SplitID != "train" ||
		c.Where.Phase != capsule.PhaseFinalize || c.Replay.Take == nil ||
		!strings.Contains(c.Claim, differs.File) || !strings.Contains(c.Error.Message, differs.Before) ||
		!strings.Contains(c.Error.Message, differs.Now) {
		t.Errorf("%+v", c)
	}
	b.settled(t, p)
}

// TestForceAfterAChange executes what has changed again and compares it with the row.
func TestForceAfterAChange(t *testing.T) {
	b := newBench(t)
	p := b.prepare(t)
	first := b.run(t, p, request.Options{})
	report := filepath.Join(b.Artifacts.Dir(p.RunID), "report.json")
	if err := os.Truncate(report, 10); err != nil {
		t.Fatal(err)
	}
	again := b.run(t, p, request.Options{Force: true})
	if again.Reused || again.Report.ResultHash != first.Report.ResultHash || b.settled(t, p).Attempt != 2 {
		t.Errorf("%+v", again)
	}
	row, err := b.Registry.Get(t.Context(), p.RunID)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.ReplaceAll(row.Payload, []byte(first.Report.ResultHash), bytes.Repeat([]byte("0"), 64))
	m := &artifact.Metadata{}
	if err := errors.Join(json.Unmarshal(other, m), b.Registry.Complete(t.Context(), m, other)); err != nil {
		t.Fatal(err)
	}
	_, err = b.Run(t.Context(), p, request.Options{Force: true})
	var differs *request.MismatchError
	if !errors.As(err, &differs) || differs.Before != strings.Repeat("0", 64) ||
		differs.Now != first.Report.ResultHash || differs.Capsule == nil {
		t.Fatalf("%+v", err)
	}
	kinds := map[capsule.Kind]int{}
	for _, c := range b.capsules(t, p.RunID) {
		kinds[c.Kind] += c.Count
		if c.Environment.Sandbox == "" || c.Environment.Sandbox == "auto" {
			t.Errorf("%s: sandbox %q", c.Kind, c.Environment.Sandbox)
		}
	}
	if kinds[capsule.ArtifactMismatch] != 2 || kinds[capsule.Nondeterminism] != 1 {
		t.Errorf("%v", kinds)
	}
	// It is stored as it came out this time.
	if m := b.settled(t, p); *m.ResultHash != first.Report.ResultHash {
		t.Errorf("stored %s", *m.ResultHash)
	}
	if _, err := b.Run(t.Context(), p, request.Options{}); err != nil {
		t.Error(err)
	}
}
