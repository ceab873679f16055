package compare

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
)

// TestGolden: the whole answer in every format. -update writes it anew.
func TestGolden(t *testing.T) {
	c := three(t).compare(Options{})
	for name, write := range map[string]func(io.Writer) error{
		"three.json": c.WriteJSON, "three.md": c.WriteMarkdown, "three.csv": c.WriteCSV,
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; go test ./lab/compare -update and look at the change. Got:\n%s", name, got)
	}
}

func TestWhichRuns(t *testing.T) {
	w := newWorld(t)
	for i := range 12 {
		s := spec{id: fmt.Sprintf("run_%c", 'n'-i), params: fmt.Sprintf(`{"fast":%d}`, i), noise: uint64(i)}
		if i < 2 {
			plan := "plan_" + string(rune('a'+i))
			s.change = func(r *artifact.Run) { r.Evaluation.PlanID = &plan }
		}
		w.add(s)
	}
	trial := func(r *artifact.Run) { r.Manifest.Request.Kind = artifact.KindTrial }
	failed := func(r *artifact.Run) { r.Status = artifact.StatusFailed }
	w.add(spec{id: "run_trial", params: "{}", change: trial},
		spec{id: "run_failed", params: `{"fast":99}`, change: failed},
		spec{id: "run_other", slug: "other", params: "{}"})

	c := w.compare(Options{})
	if got := strings.Join(ids(c),
		" "); got != "run_c run_d run_e run_f run_g run_h run_i run_j run_k run_l" || c.Baseline != "run_l" {
		t.Errorf("by default %s, baseline %s", got, c.Baseline)
	}
	w.plan("plan_a", "2026-11-20T13:00:00.000Z")
	if c := w.compare(Options{}); len(c.Runs) != 11 || c.Baseline != "run_n" ||
		*c.must(t, "run_n").Selection.PlanID != "plan_a" {
		t.Errorf("with a plan %v, baseline %s", ids(c), c.Baseline)
	}
	w.plan("plan_b", "2026-11-20T14:00:00.000Z")
	if c := w.compare(Options{}); len(c.Runs) != 11 || c.Baseline != "run_m" {
		t.Errorf("with a newer plan %v, baseline %s", ids(c), c.Baseline)
	}
	c = w.compare(Options{Runs: []string{"run_trial", "run_k", "run_d", "run_k"}})
	if got := strings.Join(ids(c), " "); got != "run_d run_k run_trial" || c.Baseline != "run_k" {
		t.Errorf("named %s, baseline %s", got, c.Baseline)
	}
	c = w.compare(Options{Runs: []string{"run_k"}, Baseline: "run_d"})
	if got := strings.Join(ids(c), " "); got != "run_d run_k" || c.Baseline != "run_d" || len(c.Pairs) != 1 ||
		c.Pairs[0].RunID != "run_k" {
		t.Errorf("with a baseline %s, %s, %+v", got, c.Baseline, c.Pairs)
	}
	if c = w.compare(Options{Runs: []string{"run_failed", "run_k"}}); c.must(t,
		"run_failed").Status != "failed" {
		t.Errorf("%+v", c.Runs)
	}
}

// plan registers a plan of which only the name is there.
func (w *world) plan(id, at string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.store.Root(), registry.FileName))
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = db.Exec(`INSERT INTO plans (plan_hash, plan_id, slug, family_id, author, registered_at, payload)
		VALUES (?, ?, 'sma_cross', 'sma-cross', 'eve', ?, x'7b7d')`, id, id, at)
	if err := errors.Join(err, db.Close()); err != nil {
		w.t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	w := three(t)
	w.add(spec{id: "run_other", slug: "other", params: "{}"})
	for _, c := range []struct {
		o          Options
		code, text string
	}{
		{Options{Slug: "nobody"}, "RUN_NOT_FOUND", "no completed run of nobody"},
		{Options{Runs: []string{"run_nothing"}}, "RUN_NOT_FOUND", `no run "run_nothing"`},
		{Options{Runs: []string{"run_other"}}, "RUN_NOT_FOUND", "run_other is of other, not of sma_cross"},
		{Options{Baseline: "run_nothing"}, "RUN_NOT_FOUND", `no run "run_nothing"`},
		{Options{Sort: "luck"}, "USAGE", `"luck" is no metric`},
		{Options{Top: -1}, "USAGE", "at least 1"},
		{Options{Split: "wf-07"}, "USAGE", `no`},
	} {
		_, err := w.try(c.o)
		var refused *request.Error
		if !errors.As(err, &refused) || refused.Code != c.code || !strings.Contains(refused.Message, c.text) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

func TestOneRunIsShownAlone(t *testing.T) {
	w := newWorld(t)
	w.add(spec{id: "run_only", params: `{"fast":10}`, noise: 1})
	c := w.compare(Options{OnlyChanged: true})
	if len(c.Runs) != 1 || c.Baseline != "run_only" || len(c.Pairs) != 0 || len(c.Differs) != 0 ||
		!c.Comparability.Comparable || string(c.Runs[0].Params) != `{"fast":10}` {
		t.Errorf("%+v", c)
	}
	for _, s := range c.Sections() {
		if s.Title == "what differs" || s.Title == "is it real" || s.Title == "comparability" {
			t.Errorf("the section %s says nothing about one run", s.Title)
		}
	}
	if x, _ := c.Runs[0].Delta.Get("total_return"); x != 0 {
		t.Errorf("differs from itself by %v", x)
	}
}

func TestARunWithoutReport(t *testing.T) {
	w := three(t)
	if err := os.RemoveAll(w.store.Dir("run_loser")); err != nil {
		t.Fatal(err)
	}
	c := w.compare(Options{})
	r := c.must(t, "run_loser")
	if r.Comparable || r.Undefined["sharpe_ratio"] != "not_applicable" || len(r.Splits) != 0 {
		t.Errorf("%+v", r)
	}
	if !slices.ContainsFunc(c.Warnings, func(w Warning) bool {
		return w.Code == "NO_REPORT" && strings.Contains(w.Message, "run_loser")
	}) {
		t.Errorf("%v", c.Warnings)
	}
	path := filepath.Join(w.store.Dir("run_better"), "report.json")
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var refused *request.Error
	if _, err := w.try(Options{}); !errors.As(err, &refused) || refused.Code != "ARTIFACT_MISMATCH" {
		t.Errorf("got %v", err)
	}
}

// TestTheTestStaysLocked: no format says a number of the locked test, and no peek is
// noted; revealed, all do and every run that was looked at is.
func TestTheTestStaysLocked(t *testing.T) {
	w := three(t)
	test, err := artifact.ReadLocked(w.store.Dir("run_better"), "test")
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := test.Metrics.Get("total_return")
	number := strconv.FormatFloat(secret, 'f', -1, 64)
	all := func(c *Comparison) string {
		var b bytes.Buffer
		if err := errors.Join(c.WriteJSON(&b), c.WriteMarkdown(&b), c.WriteCSV(&b)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	closed := w.compare(Options{Split: "test"})
	if strings.Contains(all(closed), number) {
		t.Error("the locked test is shown")
	}
	for _, p := range closed.Pairs {
		if p.MeanDifference != nil || p.PSharpeBetter != nil || p.Undefined["mean_difference"] != "locked" ||
			p.Days != 0 {
			t.Errorf("%+v", p)
		}
	}
	if r := closed.must(t, "run_better"); r.Undefined["total_return"] != "locked" ||
		r.Selection.TestPeeks != 0 {
		t.Errorf("%+v", r)
	}
	if len(closed.Warnings) != 1 || closed.Warnings[0].Code != "TEST_LOCKED" {
		t.Errorf("%v", closed.Warnings)
	}
	open := w.compare(Options{Split: "test", RevealTest: true, Author: "eve"})
	if !strings.Contains(all(open), number) {
		t.Error("the revealed test is not shown")
	}
	if p := open.Pairs[0]; p.MeanDifference == nil || p.Days != 59 {
		t.Errorf("%+v", p)
	}
	peeks, err := w.reg.Peeks(t.Context(), "sma-cross")
	if err != nil || len(peeks) != 3 || peeks[0].RunID != "run_base" || peeks[0].Command != "compare" ||
		peeks[0].Author != "eve" {
		t.Errorf("%+v, %v", peeks, err)
	}
	if open.must(t, "run_better").Selection.TestPeeks != 3 {
		t.Errorf("%+v", open.Runs)
	}
	if again := w.compare(Options{Split: "test"}); again.must(t,
		"run_base").Undefined["total_return"] != "locked" {
		t.Error("what was shown once stays open")
	}
}
