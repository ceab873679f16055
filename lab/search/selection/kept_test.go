package selection

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// keptTrial is a trial with everything that one may have, or may lack.
func keptTrial(index int) *Kept {
	random := rand.New(rand.NewPCG(uint64(index), 1))
	sum := func(of string) string { return digest.SHA256Hex(fmt.Appendf(nil, "%s %d", of, index)) }
	k := &Kept{Index: index, RunID: fmt.Sprintf("run_%06d", index), ResultHash: sum("result"),
		DecisionHash: sum("decisions")}
	for w := range 1 + index%3 {
		for _, role := range []string{"train", "walk_forward"} {
			s := artifact.SplitReport{ID: fmt.Sprintf("wf-%02d-%s", w, role), Role: role, Status: "ok",
				DecisionHash: sum(fmt.Sprint(w, role))}
			s.Meta.Undefined = map[string]metric.Reason{}
			v := metric.Value{Key: "sharpe_ratio", Number: random.NormFloat64()}
			if index%4 == 1 {
				v = metric.Value{Key: "sharpe_ratio", Reason: metric.Insufficient}
				s.Meta.Undefined["sharpe_ratio"] = metric.Insufficient
			}
			s.Metrics = metric.Values{v}
			k.Splits = append(k.Splits, s)
		}
	}
	if index%5 == 4 {
		return k
	}
	k.WalkForward = &artifact.WalkForward{Windows: 1 + index%3, Days: 20,
		Metrics: metric.Values{{Key: "total_return", Number: random.NormFloat64()},
			{Key: "sharpe_ratio", Reason: metric.ZeroVariance}},
		Meta: metric.Meta{Semantics: "metrics-v1", Sample: "day", Calendar: metric.Calendar24x7, NReturns: 20,
			PeriodsPerYear: 365, CandlePeriodsPerYear: 8760, DDOF: 1,
			Undefined: map[string]metric.Reason{"sharpe_ratio": metric.ZeroVariance}}}
	slices.SortFunc(k.WalkForward.Metrics, func(a, b metric.Value) int { return place(a.Key) - place(b.Key) })
	k.Daily = &Series{NetExposure: random.Float64()}
	for day := range 20 + index%2 {
		at := market.Time(1_600_000_000_000 + int64(day)*86_400_000)
		k.Daily.Date, k.Daily.From = append(k.Daily.Date, at), append(k.Daily.From, at)
		k.Daily.To = append(k.Daily.To, at+86_400_000)
		k.Daily.Return = append(k.Daily.Return, float64(random.IntN(2))*(0.01+random.NormFloat64()*1e-10))
	}
	return k
}

func place(key string) int {
	return slices.IndexFunc(metric.All(), func(m metric.Metric) bool { return m.Key == key })
}

// asJSON shows a trial by its content.
func asJSON(t testing.TB, k *Kept) string {
	t.Helper()
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func open(t testing.TB, dir string) *KeptFile {
	t.Helper()
	f, err := OpenKept(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func add(t testing.TB, f *KeptFile, indices ...int) {
	t.Helper()
	for _, i := range indices {
		if err := f.Add(keptTrial(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func content(t testing.TB, f *KeptFile) []byte {
	t.Helper()
	text, err := os.ReadFile(f.path())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// holds checks that a file has exactly these trials, as they were added.
func holds(t *testing.T, f *KeptFile, indices ...int) {
	t.Helper()
	list := f.sorted()
	if len(list) != len(indices) {
		t.Fatalf("%d trials, not %d", len(list), len(indices))
	}
	for i, k := range list {
		want := keptTrial(indices[i])
		if asJSON(t, k) != asJSON(t, want) || !reflect.DeepEqual(k.Daily, want.Daily) {
			t.Errorf("trial %d is\n%s, not\n%s", indices[i], asJSON(t, k), asJSON(t, want))
		}
	}
}

// What is left at the end depends on the trials alone, not on the order of their ends, nor on how often a
// search was interrupted, nor on how many processes shared it.
func TestKeptFileHasOneForm(t *testing.T) {
	ring.Slow(t, "each of 800 trials is synced")
	const n = keptRows + 20
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	one := open(t, t.TempDir())
	add(t, one, order...)
	if err := one.Finish(); err != nil {
		t.Fatal(err)
	}
	holds(t, open(t, one.dir), order...)
	want := content(t, one)

	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	for i, k := range order {
		switch f := []*KeptFile{a, b}[i%2]; {
		case i == n/2: // it goes on behind what is in order already
			if err := f.Finish(); err != nil {
				t.Fatal(err)
			}
			fallthrough
		default:
			add(t, f, k)
		}
	}
	add(t, a, order[0]) // once more, as after a crash between file and registry
	for _, f := range []*KeptFile{a, b, open(t, dir)} {
		if k, err := f.Find(fmt.Sprintf("run_%06d", order[n-1])); err != nil || k == nil {
			t.Errorf("the last one is not found: %v", err)
		}
		if err := f.Finish(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(content(t, f), want) {
			t.Error("other bytes")
		}
	}
}

// A process that is killed at any byte loses the trial that it was writing and nothing else.
func TestKeptFileIsCutAtAnyByte(t *testing.T) {
	ring.Slow(t, "a file for each of 3,000 bytes")
	whole := open(t, t.TempDir())
	var ends []int
	for i := range 3 {
		add(t, whole, i)
		ends = append(ends, len(content(t, whole)))
	}
	text := content(t, whole)
	for cut := range len(text) {
		f := &KeptFile{dir: t.TempDir()}
		if err := os.WriteFile(f.path(), text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		f = open(t, f.dir)
		done := 0
		for done < len(ends) && ends[done] <= cut {
			done++
		}
		if len(f.rows) != done {
			t.Fatalf("cut at %d: %d trials, not %d", cut, len(f.rows), done)
		}
		if cut%97 > 0 {
			continue
		}
		for i := done; i < 3; i++ {
			add(t, f, i)
		}
		holds(t, open(t, f.dir), 0, 1, 2)
		if !bytes.Equal(content(t, f), text) {
			t.Fatalf("cut at %d: other bytes", cut)
		}
	}
	text[len(text)-1] ^= 1
	if _, _, err := new(Decoder).block(text[ends[1]:]); err == nil {
		t.Error("a changed byte is not noticed")
	}
}

// A file of another version is left as it is.
func TestKeptFileOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, KeptName)
	if err := os.WriteFile(path, []byte("ASSAYTC2..."), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKept(dir); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "ASSAYTC2..." {
		t.Errorf("%q, %v", text, err)
	}
}

// What this version has written is read by those after it.
func TestKeptGolden(t *testing.T) {
	path := filepath.Join("testdata", KeptName)
	var list []*Kept
	for i := range 7 {
		list = append(list, keptTrial(i))
	}
	if *update {
		var text bytes.Buffer
		if err := WriteKept(&text, list); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, open(t, "testdata"), 0, 1, 2, 3, 4, 5, 6)
}

func TestKeptOfRefuses(t *testing.T) {
	index := int64(3)
	for name, w := range map[string]*artifact.Written{
		"no trial":  {Metadata: &artifact.Metadata{}},
		"no report": {Metadata: &artifact.Metadata{TrialIndex: &index}},
		"no curve": {Metadata: &artifact.Metadata{TrialIndex: &index, Timeframe: "1h",
			Splits: []artifact.SplitSummary{{ID: "wf-00", Kind: "walk_forward"}}},
			JSON: map[string][]byte{"report.json": []byte("{}")}},
	} {
		if k, err := KeptOf(w, "sharpe_ratio"); err == nil {
			t.Errorf("%s: %+v", name, k)
		}
	}
}

func FuzzKept(f *testing.F) {
	for _, n := range []int{0, 1, 7} {
		var list []*Kept
		for i := range n {
			list = append(list, keptTrial(i))
		}
		text, err := encodeKept(list)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		plain := inflate(f, text)
		f.Add(plain)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _, _ = new(Decoder).block(text)
		list, err := new(Decoder).rows(text)
		if err != nil || len(list) == 0 {
			return
		}
		again, err := encodeKept(list)
		if err != nil {
			t.Fatal(err)
		}
		back, _, err := new(Decoder).block(again)
		if err != nil || len(back) != len(list) {
			t.Fatalf("%d trials became %d: %v", len(list), len(back), err)
		}
	})
}

func BenchmarkKept(b *testing.B) {
	k := keptTrial(0)
	for b.Loop() {
		if _, err := encodeKept([]*Kept{k}); err != nil {
			b.Fatal(err)
		}
	}
}

// inflate is the body of a block.
func inflate(f *testing.F, text []byte) []byte {
	f.Helper()
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(text[blockHead:])))
	if err != nil {
		f.Fatal(err)
	}
	return plain
}

// A trial tells why a number is undefined alike, whether it was kept just now or is read back.
func TestKeptTrialKnowsWhy(t *testing.T) {
	index, sum := int64(0), digest.SHA256Hex(nil)
	w := &artifact.Written{Metadata: &artifact.Metadata{RunID: "run_1", TrialIndex: &index},
		JSON: map[string][]byte{"report.json": fmt.Appendf(nil, `{"run_id": "run_1", "decision_hash": %q,
			"result_hash": %[1]q, "splits": [{"split_id": "wf-00", "role": "walk_forward", "decision_hash": %[1]q,
			"metrics": {"sharpe_ratio": null, "total_return": 1},
			"metrics_meta": {"undefined": {"sharpe_ratio": "insufficient"}}}]}`, sum)}}
	now, err := KeptOf(w, "sharpe_ratio")
	if err != nil {
		t.Fatal(err)
	}
	if why := now.Report().Splits[0].Meta.Undefined["sharpe_ratio"]; why != metric.Insufficient {
		t.Errorf("the reason is %q", why)
	}
	f := open(t, t.TempDir())
	if err := f.Add(now); err != nil {
		t.Fatal(err)
	}
	then, err := open(t, f.dir).Find("run_1")
	if err != nil || asJSON(t, then) != asJSON(t, now) {
		t.Errorf("%v\n%s, not\n%s", err, asJSON(t, then), asJSON(t, now))
	}
}
