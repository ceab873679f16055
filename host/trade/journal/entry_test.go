package journal

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/digest"
)

func TestBodyIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &body{
			At: rapid.Int64Range(0, 1<<50).Draw(t, "at"), N: rapid.Int64Range(1, 1<<50).Draw(t, "n"),
			RunID: rapid.StringMatching(`[A-Za-z0-9_.-]{1,30}`).Draw(t, "run"),
			V:     rapid.SampledFrom([]int{0, Version}).Draw(t, "v"),
		}
		if rapid.Bool().Draw(t, "rows") {
			b.Kind, b.SHA, b.Rows = kindRows, strings.Repeat("0f", 32), map[string]int{}
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(sortedTables), 1, 5,
				rapid.ID[string]).Draw(t, "tables") {
				b.Rows[name] = rapid.IntRange(1, 1000).Draw(t, "count")
			}
			b.Run = rapid.SampledFrom([]string{"", strings.Repeat("a1", 32)}).Draw(t, "runs")
		} else {
			b.Kind = rapid.StringMatching(`[A-Za-z][A-Za-z0-9_.-]{0,20}x`).Draw(t, "kind")
			var err error
			if b.Data, err = canonical(rapid.MapOf(rapid.String(), rapid.Float64Range(-1e9, 1e9)).Draw(t,
				"data")); err != nil {
				t.Fatal(err)
			}
		}
		want, err := digest.JCS(b)
		if err != nil {
			t.Fatal(err)
		}
		got := b.encode()
		if got != string(want) {
			t.Fatalf("%s\nwant\n%s", got, want)
		}
		back, err := decodeBody(got)
		if err != nil || back.encode() != got {
			t.Fatalf("%+v %v", back, err)
		}
	})
}

func TestTablesAreSorted(t *testing.T) {
	names := map[string]int{}
	for _, table := range digested {
		names[table.name] = 1
	}
	text, err := json.Marshal(names) // sorts
	if err != nil {
		t.Fatal(err)
	}
	if got := (&body{Kind: kindRows, N: 1, RunID: "r", Rows: names}).encode(); !strings.Contains(got,
		`"rows":`+string(text)) {
		t.Error(got)
	}
}

func TestBadBodies(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `null`, `[]`, `{"at":1,"data":1,"kind":"a","n":1,"run_id":"r"} `,
		`{"at":1,"data":1,"kind":"a","n":1,"n":1,"run_id":"r"}`,
		`{"at":1,"kind":"a","n":1,"run_id":"r"}`, `{"at":1,"data":1,"kind":"rows","n":1,"run_id":"r"}`,
		`{"at":1,"data":1,"kind":"a","n":0,"run_id":"r"}`,
		`{"at":1,"data":1.0,"kind":"a","n":1,"run_id":"r"}`,
		`{"at":1,"data":{"b":1,"a":1},"kind":"a","n":1,"run_id":"r"}`,
		`{"at":1,"data":1,"kind":"a","n":1,"run_id":"r/"}`,
		`{"at":1,"data":1,"extra":2,"kind":"a","n":1,"run_id":"r"}`,
		`{"at":1,"data":1,"kind":"a","n":1,"run_id":"r","sha256":"0"}`,
		`{"at":1,"kind":"rows","n":1,"rows":{},"run_id":"r"}`,
		`{"at":1,"kind":"rows","n":1,"rows":{"log":1},"run_id":"r"}`,
		`{"at":1,"kind":"rows","n":1,"rows":{"fills":-1},"run_id":"r"}`,
		`{"At":1,"data":1,"kind":"a","n":1,"run_id":"r"}`,
		`{"at":1,"data":1,"kind":"a","n":1,"run_id":"r","v":1}`,
		`{"at":1,"data":1,"kind":"a","n":1,"run_id":"r","v":3}`,
		`{"at":1,"data":1,"kind":"a","n":1,"run_id":"r","v":-1}`,
	} {
		if b, err := decodeBody(text); err == nil {
			t.Errorf("%s was read as %+v", text, b)
		}
	}
}

// FuzzBody: a text has at most one reading, and it writes that text again.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `{"at":1,"data":{"code":"LATE_FILL"},"kind":"alarm","n":7,"run_id":"svc_1"}`,
		`{"at":1,"data":null,"kind":"a","n":1,"run_id":"r"}`,
		`{"at":1,"kind":"rows","n":2,"rows":{"candles":1,"equity":1},"run":"ab","run_id":"r","sha256":"cd"}`,
		`{"at":1e3,"data":1,"kind":"a","n":1,"run_id":"r"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := decodeBody(text)
		if err != nil {
			return
		}
		if again := b.encode(); again != text {
			t.Errorf("%q is written again as %q", text, again)
		}
	})
}

func TestDigestTellsRowsApart(t *testing.T) {
	seen := map[string]int{}
	for i, rows := range [][][]any{
		{{"a", "b"}}, {{"ab", ""}}, {{"", "ab"}}, {{"a"}, {"b"}}, {{"a", nil, "b"}}, {{int64(1)}}, {{1.0}},
		{{"1"}}, {{nil}}, {{}}, {{}, {}}, {{[]byte("1")}}, {{0.1}}, {{int64(-1)}},
	} {
		d := newRowDigest()
		for _, r := range rows {
			d.add("t", r)
		}
		if j, ok := seen[d.hex()]; ok {
			t.Errorf("rows %d and %d have one digest", i, j)
		}
		seen[d.hex()] = i
	}
}
