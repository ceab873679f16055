package family

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const day = 86_400_000

func seriesOf(first int, returns ...float64) *selection.Series {
	x := &selection.Series{Return: returns}
	for i := range returns {
		x.Date = append(x.Date, market.Time(first+i)*day)
	}
	return x
}

// TestReturnsTable: a row per day of any trial, a column per trial, windows that overlap
// have their days twice, numbers of 12 digits.
func TestReturnsTable(t *testing.T) {
	overlapping := seriesOf(1, 0.01, 0.02)
	overlapping.Date = append(overlapping.Date, 2*day, 3*day)
	overlapping.Return = append(overlapping.Return, 0.03, 1.0/3)
	of := map[int]*selection.Series{0: overlapping, 2: seriesOf(1, 0.5, -0.25), 3: seriesOf(1, -1e-13, 0)}
	var b bytes.Buffer
	if err := writeReturns(&b, []*Trial{{Index: 0}, {Index: 1}, {Index: 2}, {Index: 3}}, of); err != nil {
		t.Fatal(err)
	}
	want := `date,t0,t1,t2,t3
1970-01-02,0.01,,0.5,-0.0000000000001
1970-01-03,0.02,,-0.25,0
1970-01-03,0.03,,,
1970-01-04,0.333333333333,,,
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestTrialsTable(t *testing.T) {
	space, err := design.DecodeSpace(
		[]byte(`{"b":{"type":"choice","values":["x,\"y\"",2]},"a":{"type":"bool"}}`))
	if err != nil {
		t.Fatal(err)
	}
	f := project.DefaultFamily()
	f.Space = space
	s := &Search{PlanFile: &PlanFile{Plan: &Plan{Family: f}}}
	good := &Trial{
		Index: 0, Params: json.RawMessage(`{"a":true,"b":"x,\"y\""}`), RunID: "run_a", Status: Completed,
		Rank: 1, Objective: number(-0.5), Windows: make([]Window, 5),
		Metrics: metric.Values{{Key: "sharpe_ratio", Number: -0.5}, {Key: "total_trades", Number: 40},
			{Key: "win_rate", Reason: metric.NoTrades}}, Plateau: number(1e-7),
	}
	bad := &Trial{Index: 1, Params: json.RawMessage(`{"a":false,"b":2}`), Status: Failed,
		FailureCode: "PARAMS_INVALID"}
	var b bytes.Buffer
	if err := s.writeTrials(&b, []*Trial{good, bad}); err != nil {
		t.Fatal(err)
	}
	want := `trial_index,run_id,status,rank,objective,windows_done,param:a,param:b,sharpe_ratio,total_return,max_drawdown,total_trades,win_rate,plateau_score,failure_code
0,run_a,completed,1,-0.5,5,true,"x,""y""",-0.5,,,40,,0.0000001,
1,,failed,,,0,false,2,,,,,,,PARAMS_INVALID
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

// TestResultIsReadAsItWasWritten, and a changed one is not.
func TestResultIsReadAsItWasWritten(t *testing.T) {
	s := &Search{Dir: t.TempDir()}
	if _, err := ReadResult(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	r := &Result{
		Schema: ResultSchema, PlanHash: "ab", Status: StatusCompleted, StepM: StepM{Rejected: []int{}},
		Undefined: map[string]stat.Reason{"selected": ReasonNoTrial},
		Optimised: &Optimised{
			Windows: []Choice{{SplitID: "wf-00", ChosenTrial: new(int), TrainObjective: number(1),
				Undefined: map[string]stat.Reason{}}},
			Metrics: &metric.Values{{Key: "sharpe_ratio", Number: 1.5},
				{Key: "psr", Reason: metric.NoTrades}}, Undefined: map[string]stat.Reason{},
		},
	}
	if err := r.seal(); err != nil {
		t.Fatal(err)
	}
	s.PlanFile = &PlanFile{Plan: &Plan{}}
	if err := s.writeFiles(&Outcome{Searched: &Searched{}, Result: r}, nil); err != nil {
		t.Fatal(err)
	}
	got, err := ReadResult(s.Dir)
	if err != nil || got.ResultHash != r.ResultHash || got.Selected != nil ||
		*got.Optimised.Windows[0].ChosenTrial != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	path := filepath.Join(s.Dir, ResultFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte("1.5"), []byte("2.5"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	var refused *request.Error
	if _, err := ReadResult(s.Dir); !errors.As(err, &refused) || refused.Code != "ARTIFACT_MISMATCH" {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(s.Dir, ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestPutLeavesWhatWasThere(t *testing.T) {
	s := &Search{Dir: t.TempDir()}
	if err := s.Put("a", func(w io.Writer) error {
		_, err := io.WriteString(w, "first")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	if err := s.Put("a", func(w io.Writer) error {
		_, _ = io.WriteString(w, "sec")
		return full
	}); !errors.Is(err, full) {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, "a"))
	if err != nil || string(text) != "first" {
		t.Errorf("%q, %v", text, err)
	}
	if files, _ := os.ReadDir(s.Dir); len(files) != 1 {
		t.Error(files)
	}
}

// TestJournal: what was known before is one line, however much it is.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	j.began, j.now = begin, func() time.Time { return begin.Add(10 * time.Second) }
	for i := range 5 {
		if err := j.note(State{Done: i + 1, Total: 10, Known: i + 1}, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.note(State{Done: 7, Total: 10, Known: 4, Running: 1, Failed: 1, Best: number(0.5)},
		true); err != nil {
		t.Fatal(err)
	}
	if err := j.note(State{Done: 8, Total: 10, Known: 6, Pruned: 1}, false); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ProgressFile))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"at":"2024-01-01T00:00:10.000Z","done":7,"total":10,"running":1,"failed":1,"pruned":0,"best":0.5,"eta_seconds":10}
{"at":"2024-01-01T00:00:10.000Z","done":8,"total":10,"running":0,"failed":0,"pruned":1,"best":null,"eta_seconds":null}
`
	if string(text) != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	p, err := ReadProgress(dir)
	if want := (Progress{begin.Add(10 * time.Second), 8, 10, 0, -1}); err != nil || p != want {
		t.Errorf("%+v, want %+v: %v", p, want, err)
	}
	if _, err := ReadProgress(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("before the begin:", err)
	}
}

// What is left goes down with the clock, and is not known of a search that stands.
func TestTimeLeft(t *testing.T) {
	line := []byte(`ut off"}
{"at":"2024-01-01T00:00:10.000Z","done":4,"total":10,"running":1,"failed":1,"pruned":0,"best":0.5,"eta_seconds":60}
{"at":"2024-01`)
	p, err := decodeProgress(line)
	if err != nil || p.Done != 4 || p.Total != 10 || p.Failed != 1 || p.Left != time.Minute {
		t.Fatalf("%+v: %v", p, err)
	}
	for gone, want := range map[time.Duration]time.Duration{
		0: time.Minute, 15 * time.Second: 45 * time.Second, 90 * time.Second: 0, 101 * time.Second: -1,
		-time.Second: -1,
	} {
		if got := p.LeftAt(p.At.Add(gone)); got != want {
			t.Errorf("after %s: %s, want %s", gone, got, want)
		}
	}
	p.Done = 10
	if got := p.LeftAt(p.At); got != -1 {
		t.Error("at the end:", got)
	}
}

func FuzzProgress(f *testing.F) {
	f.Add([]byte(`{"at":"2024-01-01T00:00:10.000Z","done":4,"total":10,"failed":1,"eta_seconds":60}` + "\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decodeProgress(text)
		if err != nil {
			return
		}
		if left := p.LeftAt(p.At.Add(time.Second)); left > p.Left {
			t.Errorf("%q: %s are left of %s", text, left, p.Left)
		}
	})
}

func TestChanges(t *testing.T) {
	c := &changes{}
	f := &PlanFile{Plan: &Plan{Slug: "x"}, ID: "plan_a", Hash: "ab"}
	c.note("plugin", "same", "same")
	if err := c.err(f); err != nil {
		t.Error(err)
	}
	old := strings.Repeat("ab", 32)
	c.note("plugin", old, strings.Repeat("cd", 32))
	c.note("data", []int{1}, []int{2})
	var refused *request.Error
	err := c.err(f)
	if !errors.As(err, &refused) || refused.Code != "PLAN_INPUTS_CHANGED" ||
		!strings.Contains(err.Error(), "plugin was abababababab…, is cdcdcdcdcdcd…; data was [1], is [2]") {
		t.Error(err)
	}
	if list, _ := refused.Details["changes"].([]map[string]string); len(list) != 2 || list[0]["old"] != old {
		t.Errorf("%+v", refused.Details)
	}
}

func TestSamePlan(t *testing.T) {
	a := []byte(`{"a":1,"prior_trials":3}`)
	for text, want := range map[string]bool{`{"a":1,"prior_trials":4}`: true,
		`{"a":2,"prior_trials":3}`: false, `{"a":1,"b":1,"prior_trials":3}`: false, `{`: false} {
		if samePlan(a, []byte(text)) != want {
			t.Errorf("%s is the same: %v", text, !want)
		}
	}
}

// TestEfficiencySaysWhy: nothing chosen and nothing to judge by are two reasons.
func TestEfficiencySaysWhy(t *testing.T) {
	one := 1
	for _, c := range []struct {
		windows []Choice
		want    stat.Reason
	}{
		{[]Choice{{}, {}}, ReasonNoTrial},
		{[]Choice{{}, {ChosenTrial: &one, TrainObjective: number(1)}}, stat.Insufficient},
		{[]Choice{{ChosenTrial: &one, TrainObjective: number(-1), TestObjective: number(1)}},
			stat.NotApplicable},
	} {
		o := &Optimised{Windows: c.windows, Undefined: map[string]stat.Reason{}}
		if o.efficiency(); o.Undefined["efficiency"] != c.want || o.Efficiency != nil {
			t.Errorf("%+v: %v", c.windows, o.Undefined)
		}
	}
}

// TestExplain: what luck explains is one sentence, and what it would take another; what is not known is not
// said.
func TestExplain(t *testing.T) {
	dsr, years := 0.76, 3.25
	both := (&Result{Selection: &selection.Selection{DSRMax: &dsr, MinBTLYears: &years}}).Explain()
	one := (&Result{Selection: &selection.Selection{DSRMax: &dsr}}).Explain()
	none := (&Result{Selection: &selection.Selection{MinBTLYears: &years}}).Explain()
	if !strings.Contains(both, "in 24.0 %") || !strings.Contains(both, "3.2 years") ||
		strings.Contains(one, "years") || !strings.Contains(none, "not known") ||
		(&Result{}).Explain() != none {
		t.Errorf("%s\n%s\n%s", both, one, none)
	}
}
