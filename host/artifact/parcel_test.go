package artifact

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"
)

// What is no run of this name leaves nothing in its place.
func TestReceiveRefuses(t *testing.T) {
	for name, files := range map[string]map[string][]byte{
		"no metadata":  {"report.json": []byte("{}")},
		"bad metadata": {"metadata.json": []byte("{}")},
		"a path":       {"../report.json": []byte("{}")},
		"an absolute":  {"/report.json": []byte("{}")},
		"not clean":    {"a//b": nil},
		"nothing":      {},
	} {
		s := NewStore(t.TempDir())
		_, err := s.Receive("run_gxzvvha2szhitenn", files)
		if bad := (*MismatchError)(nil); !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(s.Root()); err != nil || len(left) > 0 {
			t.Errorf("%s: %v %v", name, left, err)
		}
	}
	if _, err := NewStore(t.TempDir()).Receive("../run", nil); err == nil {
		t.Error("a path as a run")
	}
}

// Files are unpacked as they are received, whatever is wrong with them.
func TestUnpack(t *testing.T) {
	s := NewStore(t.TempDir())
	w, err := s.Write(fixtureRun(t, 50))
	if err != nil {
		t.Fatal(err)
	}
	id := w.Metadata.RunID
	files, err := s.Parcel(id)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unpack(id, files)
	if err != nil || got.Report.ResultHash != w.Report.ResultHash || !bytes.Equal(got.Payload, w.Payload) {
		t.Fatalf("%+v, %v", got, err)
	}
	r, err := NewStore(t.TempDir()).Rehearse(fixtureRun(t, 50))
	if err != nil || len(r.JSON) != len(got.JSON) {
		t.Errorf("%d files, %d of a rehearsal, %v", len(got.JSON), len(r.JSON), err)
	}
	for name, change := range map[string]func(map[string][]byte){
		"no metadata": func(f map[string][]byte) { delete(f, "metadata.json") },
		"a missing":   func(f map[string][]byte) { delete(f, "report.json") },
		"a changed":   func(f map[string][]byte) { f["request.json"] = []byte("{}") },
		"one more":    func(f map[string][]byte) { f["other.csv"] = nil },
	} {
		bad := maps.Clone(files)
		change(bad)
		if _, err := Unpack(id, bad); !errors.As(err, new(*MismatchError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Unpack("run_other", files); !errors.As(err, new(*MismatchError)) {
		t.Errorf("of another run: %v", err)
	}
}

// A folder is made again byte for byte, or not at all.
func TestRestore(t *testing.T) {
	s := NewStore(t.TempDir())
	w, err := s.Write(fixtureRun(t, 50))
	if err != nil {
		t.Fatal(err)
	}
	id := w.Metadata.RunID
	before, err := s.Parcel(id)
	if err == nil {
		err = os.RemoveAll(s.Dir(id))
	}
	if err != nil {
		t.Fatal(err)
	}
	later := fixtureRun(t, 50)
	later.CompletedAt = later.CompletedAt.Add(1e9)
	changed := *w.Metadata
	changed.Artifacts = slices.Clone(changed.Artifacts)
	changed.Artifacts[2].SHA256 = "00"
	if err := s.Restore(later, &changed, w.Payload); !errors.As(err, new(*ResultError)) || s.Has(id) {
		t.Errorf("%v", err)
	}
	if err := s.Restore(later, w.Metadata, w.Payload); err != nil {
		t.Fatal(err)
	}
	after, err := s.Parcel(id)
	if err != nil || !maps.EqualFunc(before, after, bytes.Equal) {
		t.Errorf("other files: %v", err)
	}
}
