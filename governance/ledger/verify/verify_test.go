package verify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/digest"
)

func (s *sample) file(names ...string) []File {
	var files []File
	for _, name := range names {
		files = append(files, File{Name: name, Data: s.files[name]})
	}
	return files
}

// TestWithoutTrustedKeys: what is in the files proves nothing by itself.
func TestWithoutTrustedKeys(t *testing.T) {
	s := newSample(t)
	report := Verify(s.file(handed...), Options{})
	for _, want := range []string{"signature ingest_receipt.json", "leaf recomputed ingest_receipt.json",
		"checkpoint ingest_receipt.json",
		"inclusion ingest_receipt.json", "tlog-proof agrees ingest_receipt.json",
		"attestation candidate_bundle.dsse.json"} {
		if !slices.Contains(report.Failed(), want) {
			t.Errorf("%s did not fail\n%s", want, lines(report))
		}
	}
	if report.OK() {
		t.Error("the report is ok")
	}
}

func TestKeysThatNothingIsCheckedWith(t *testing.T) {
	s := newSample(t)
	bare := s.file("candidate_bundle.json")
	if report := Verify(bare, Options{}); !report.OK() ||
		!slices.ContainsFunc(report.NotChecked, func(s string) bool {
			return strings.Contains(s, "no seal")
		}) {
		t.Errorf("a bundle alone:\n%s", lines(report))
	}
	if report := Verify(bare, s.trusted()); report.OK() {
		t.Errorf("keys without a seal:\n%s", lines(report))
	}
	if report := Verify(nil, Options{}); report.OK() {
		t.Error("no file at all is ok")
	}
	for _, opts := range []Options{{Key: []byte("x")}, {TrustedRoot: []byte("{}")},
		{Trust: []byte(`{"schema":"trust/v1"}`)}} {
		if report := Verify(s.file(handed...), opts); !strings.HasPrefix(report.Failed()[0], "read --") {
			t.Errorf("%+v:\n%s", opts, lines(report))
		}
	}
}

func TestLines(t *testing.T) {
	s := newSample(t)
	report := Verify(s.file("candidate_bundle.json"), Options{})
	text := lines(report)
	for _, want := range []string{" 1 ok   strict parse candidate_bundle.json\n", " 2 ok   canonical bytes",
		" 3 ok   candidate_revision_id", " 4 ok   params_sha256",
		"not checked: that others see the same log", "not checked: that the runs are true"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	step := Step{Number: 12, Name: "id", Expected: "a", Found: "b"}
	if got := step.String(); got != "12 FAIL id: expected a, found b" {
		t.Errorf("got %q", got)
	}
}

func TestArtifacts(t *testing.T) {
	s := newSample(t)
	const name = "runs/run-0001/report.json"
	cases := map[string]func(root, path string) error{
		"missing": func(_, path string) error { return os.Remove(path) },
		"other bytes": func(_, path string) error {
			return os.WriteFile(path, []byte(strings.Replace(s.artifacts[name], "412", "413", 1)), 0o600)
		},
		"longer": func(_, path string) error {
			return os.WriteFile(path, []byte(s.artifacts[name]+" "), 0o600)
		},
		"shorter": func(_, path string) error { return os.WriteFile(path, nil, 0o600) },
		"folder":  func(_, path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"link out": func(root, path string) error {
			outside := filepath.Join(t.TempDir(), "report.json")
			return errors.Join(os.WriteFile(outside, []byte(s.artifacts[name]), 0o600), os.Remove(path),
				os.Symlink(outside, path))
		},
	}
	for what, spoil := range cases {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range s.artifacts {
				path := filepath.Join(root, file)
				check(t, os.MkdirAll(filepath.Dir(path), 0o700))
				check(t, os.WriteFile(path, []byte(text), 0o600))
			}
			opts := s.trusted()
			opts.Artifacts = folder(t, root)
			if report := Verify(s.file(handed...), opts); !report.OK() {
				t.Fatal(lines(report))
			}
			check(t, spoil(root, filepath.Join(root, name)))
			report := Verify(s.file(handed...), opts)
			if !slices.Equal(report.Failed(), []string{"artifact " + name}) ||
				!strings.Contains(lines(report), "artifacts: 1 of 2") {
				t.Error(lines(report))
			}
		})
	}
	opts := s.trusted()
	opts.Artifacts = folder(t, t.TempDir())
	if Verify(s.file(handed...), opts).OK() {
		t.Error("a root without the files is ok")
	}
}

// folder is the files below a folder, from which no link leads out.
func folder(t *testing.T, path string) fs.FS {
	root, err := os.OpenRoot(path)
	check(t, err)
	t.Cleanup(func() { check(t, root.Close()) })
	return root.FS()
}

// TestOptionalArtifact: one that is not required may be missing, and that is said.
func TestOptionalArtifact(t *testing.T) {
	s := newSample(t)
	text := edit(t, s.files["candidate_bundle.json"], func(b object) {
		for _, a := range b["artifacts"].([]any) {
			a.(object)["required"] = false
		}
		identify(t, b)
	})
	report := Verify([]File{{Name: "candidate_bundle.json", Data: text}}, Options{Artifacts: folder(t, t.TempDir())})
	if !report.OK() || !strings.Contains(lines(report), "2 artifacts: not required and not there") {
		t.Error(lines(report))
	}
}

// TestKinds: a file is what it is, whatever it is called, unless its name promises
// something.
func TestKinds(t *testing.T) {
	s := newSample(t)
	want := map[string]kind{"candidate_bundle.json": bundleFile, "candidate_bundle.dsse.json": envelopeFile,
		"ingest_receipt.json":            receiptFile,
		"candidate_bundle.sigstore.json": sigstoreFile, "candidate_bundle.tlog-proof": proofFile,
		"seal.json": sealFile, "log.json": artifactFile}
	for name, kind := range want {
		if got := kindOf(File{Name: "x", Data: s.files[name]}); got != kind {
			t.Errorf("%s by content: %d", name, got)
		}
		if got := kindOf(File{Name: `a\b/` + name, Data: s.files[name]}); got != kind {
			t.Errorf("%s by name: %d", name, got)
		}
	}
	if kindOf(File{Name: "candidate_bundle.json", Data: []byte("{")}) != bundleFile {
		t.Error("a spoilt bundle is no bundle")
	}
}

// TestSealInParts: a later part of a seal names only artifacts.
func TestSealInParts(t *testing.T) {
	s := newSample(t)
	predicate := s.seal
	predicate["part"], predicate["parts"] = 2, 2
	name := "runs/run-0001/trades.csv"
	for what, c := range map[string]struct {
		subjects []object
		ok       bool
	}{
		"listed":     {subject(name, digest.SHA256Hex([]byte(s.artifacts[name]))), true},
		"other hash": {subject(name, digest.SHA256Hex(nil)), false},
		"unlisted":   {subject("runs/run-0001/x", digest.SHA256Hex(nil)), false},
	} {
		e := s.sign(bundle.TypeSeal, c.subjects, predicate)
		s.append(e)
		seal, err := s.log.View().Seal(int64(len(s.entries)-1), e)
		check(t, err)
		report := Verify(append(s.file("candidate_bundle.json"),
			File{Name: "part.json", Data: canonical(t, seal)}), s.trusted())
		if report.OK() != c.ok {
			t.Errorf("%s:\n%s", what, lines(report))
		}
	}
}

// TestSelfApproval: who packed a candidate may not approve it, even when the signature
// that shows it is in another file.
func TestSelfApproval(t *testing.T) {
	m := makeVectors(t)
	files := m.file("candidate_bundle.json", "candidate_bundle.dsse.json")
	for _, v := range m.vectors {
		if v.Name == "valid-approval" {
			files = append(files,
				File{Name: "approval.dsse.json", Data: m.out[v.Files["candidate_bundle.dsse.json"]]})
		}
	}
	if report := Verify(files, Options{Trust: m.files["trust.json"]}); !report.OK() {
		t.Fatal(lines(report))
	}
	one := []byte(strings.ReplaceAll(string(m.files["trust.json"]), "bob@example.com", "dave@example.com"))
	one = []byte(strings.ReplaceAll(string(one), "alice@example.com", "dave@example.com"))
	report := Verify(files, Options{Trust: one})
	if !slices.Equal(report.Failed(), []string{"attestation approval.dsse.json"}) {
		t.Error(lines(report))
	}
}

func TestMismatchNamesWhatDiffers(t *testing.T) {
	r := &Report{}
	r.step("a", &ledger.Mismatch{What: "root", Expected: "x", Found: "y"})
	r.step("b", errors.New("broken"))
	if got := lines(
		r); got != " 1 FAIL a: expected root x, found y\n 2 FAIL b: expected no error, found broken\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzVerify(f *testing.F) {
	s := newSample(f)
	for _, name := range append(handed, "seal.json") {
		f.Add(name, s.files[name])
		f.Add("x", s.files[name])
	}
	sealed := digest.SHA256Hex(s.files["candidate_bundle.json"])
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		report := Verify([]File{{Name: name, Data: data}}, s.trusted())
		for i, step := range report.Steps {
			if step.Number != i+1 || !step.OK && step.Expected == "" {
				t.Fatalf("%+v", step)
			}
		}
		// With a key given, only a seal that this plane signed passes.
		if report.OK() && !strings.Contains(string(data), "sigstore") && digest.SHA256Hex(data) != sealed {
			t.Fatalf("%q passes:\n%s", data, lines(report))
		}
	})
}
