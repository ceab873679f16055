package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVerify(t *testing.T) {
	cases := map[string]struct {
		spoil func(t *testing.T, dir string) error
		want  string // empty: nothing is wrong
	}{
		"untouched": {func(*testing.T, string) error { return nil }, ""},
		"capsules are not counted": {func(_ *testing.T, dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "capsules"), 0o700),
				os.WriteFile(filepath.Join(dir, "capsules", "c.json"), nil, 0o600))
		}, ""},
		"one byte": {func(_ *testing.T, dir string) error {
			return flipByte(filepath.Join(dir, "splits", "full", "trades.csv"))
		}, "trades.csv has other content"},
		"longer": {func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "request.json"), []byte("{}"), 0o600)
		}, "request.json has other content"},
		"missing": {func(_ *testing.T, dir string) error {
			return os.Remove(filepath.Join(dir, "report.json"))
		}, "report.json is missing"},
		"extra": {func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "splits", "notes.txt"), nil, 0o600)
		}, "splits/notes.txt is not listed"},
		"link": {func(_ *testing.T, dir string) error {
			path := filepath.Join(dir, "report.json")
			return errors.Join(os.Rename(path, filepath.Join(dir, "..", "elsewhere")),
				os.Symlink("../elsewhere", path))
		}, "report.json: is not a plain file"},
		"listed outside": {func(_ *testing.T, dir string) error {
			return replaceIn(filepath.Join(dir, "metadata.json"), `"report.json"`, `"../report.json"`)
		}, "is not a path inside"},
		"metadata cut short": {func(_ *testing.T, dir string) error {
			return os.Truncate(filepath.Join(dir, "metadata.json"), 100)
		}, "metadata.json is damaged"},
		"metadata empty": {func(_ *testing.T, dir string) error {
			return os.Truncate(filepath.Join(dir, "metadata.json"), 0)
		}, "metadata.json is damaged"},
		"metadata of another kind": {func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "metadata.json"), []byte(`{"schema":"report/v1"}`), 0o600)
		}, "metadata.json is damaged"},
		"metadata is a folder": {func(_ *testing.T, dir string) error {
			path := filepath.Join(dir, "metadata.json")
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		}, "metadata.json is not a plain file"},
		"other request": {func(_ *testing.T, dir string) error {
			m, _, err := Verify(dir)
			if err != nil {
				return err
			}
			return replaceIn(filepath.Join(dir, "metadata.json"), `"request_hash": "`+m.RequestHash,
				`"request_hash": "`+strings.Repeat("0", 64))
		}, "not the request of request_hash"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			store := NewStore(t.TempDir())
			run := fixtureRun(t, 5)
			if _, err := store.Write(run); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(t, store.Dir(run.ID)); err != nil {
				t.Fatal(err)
			}
			m, payload, err := Verify(store.Dir(run.ID))
			var bad *MismatchError
			switch {
			case c.want == "":
				if err != nil || m.RunID != run.ID || len(payload) == 0 {
					t.Errorf("%+v, %v", m, err)
				}
			case !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) || bad.RunID != run.ID:
				t.Errorf("got %v", err)
			}
		})
	}
}

func flipByte(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 1
	return os.WriteFile(path, b, 0o600)
}

func replaceIn(path, old, replacement string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := strings.Replace(string(b), old, replacement, 1)
	if text == string(b) {
		return errors.New(old + " is not in " + path)
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

func TestDecodeMetadataRefuses(t *testing.T) {
	for _, text := range []string{``, `{}`, `null`, `[]`, `{"schema":"run-metadata/v1"}`,
		`{"schema":"run-metadata/v2","run_id":"a","request_hash":"b"}`,
		`{"schema":"run-metadata/v1","run_id":"a","run_id":"b","request_hash":"c"}`,
		`{"schema":"run-metadata/v1","run_id":1,"request_hash":"c"}`} {
		if m, err := DecodeMetadata([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, m)
		}
	}
}

// FuzzDecodeMetadata: what is accepted can be written and read again unchanged.
func FuzzDecodeMetadata(f *testing.F) {
	m, err := Begun(fixtureRun(f, 5))
	if err != nil {
		f.Fatal(err)
	}
	text, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(
		`{"schema":"run-metadata/v1","run_id":"a","request_hash":"b","params":{"x":1e3},"failure":{"code":"X"}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := DecodeMetadata(in)
		if err != nil {
			return
		}
		once, err := m.Encode()
		if err != nil {
			t.Skip() // times beyond year 9999 have no text
		}
		again, err := DecodeMetadata(once)
		if err != nil {
			t.Fatalf("%q becomes %q: %v", in, once, err)
		}
		twice, err := again.Encode()
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%q becomes %q: %v", once, twice, err)
		}
	})
}

// The numbers that gates judge stand in report.json, which replays compare, and in the row.
func TestAFalsificationCountsItsGates(t *testing.T) {
	gates := int64(2)
	for _, c := range []struct {
		kind, verdict string
		gates         *int64
	}{{KindFalsification, "fail", &gates}, {KindFalsification, "inconclusive", nil}, {KindRun, "", nil}} {
		run := &Run{ID: "run_x", Status: StatusCompleted,
			Evaluation: &Evaluation{Verdict: c.verdict, GatesFailed: c.gates}}
		run.Manifest.Request.Kind = c.kind
		rep := &Report{Kind: c.kind}
		run.Evaluation.Stress = []Stress{{Verdict: "fail"}, {Verdict: "pass"}}
		rep.evaluate(run.Evaluation)
		m, err := newMetadata(run, rep, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rep.GatesFailed != c.gates || (rep.StressFailed != nil) != (c.kind == KindRun) ||
			rep.StressFailed != nil && *rep.StressFailed != 1 {
			t.Errorf("%+v: report gates %v, stress %v", c, rep.GatesFailed, rep.StressFailed)
		}
		if (m.Verdict != nil) != (c.verdict != "") || m.Verdict != nil && *m.Verdict != c.verdict ||
			m.Summary.GatesFailed != c.gates {
			t.Errorf("%+v: verdict %v, gates %v", c, m.Verdict, m.Summary.GatesFailed)
		}
		if (m.Summary.StressFailed != nil) != (c.kind == KindRun) {
			t.Errorf("%+v: stress_failed %v", c, m.Summary.StressFailed)
		}
	}
}
