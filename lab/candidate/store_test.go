package candidate

//ring:no-detector what is tested runs in other processes

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/file"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLoadBelievesNothing(t *testing.T) {
	p := packing(t, Options{})
	out := settle(t, p, composed(t))
	path := filepath.Join(out.Dir, bundle.FileName)
	id := out.Bundle.CandidateRevisionID
	for name, text := range map[string][]byte{
		"one byte": flip(out.Canonical, len(out.Canonical)/2),
		"spaces":   append(bytes.Clone(out.Canonical), '\n'),
		"nothing":  {},
		"too much": bytes.Repeat([]byte("x"), maxBundle+1),
		"another stage": bytes.Replace(out.Canonical, []byte(`"requested_stage":"paper"`),
			[]byte(`"requested_stage":"Paper"`), 1),
		"a secret": bytes.Replace(out.Canonical, []byte(`"fast"`), []byte(`"token"`), 1),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := p.candidates.Load(id)
		if has(t, err, "ARTIFACT_MISMATCH"); len(err.Error()) > 2000 {
			t.Errorf("%s: %d characters", name, len(err.Error()))
		}
		// Nobody packs beside a revision that has changed: its parents would be guessed.
		if name == "one byte" {
			_, err := p.settle(composed(t))
			has(t, err, "ARTIFACT_MISMATCH")
		}
	}
	if err := os.WriteFile(path, out.Canonical, 0o600); err != nil {
		t.Fatal(err)
	}
	other := "cr-" + strings.Repeat("0", 64)
	if err := os.Rename(out.Dir, p.candidates.Dir(other)); err != nil {
		t.Fatal(err)
	}
	_, err := p.candidates.Load(other)
	has(t, err, "ARTIFACT_MISMATCH", id)
	if _, err := p.candidates.Load(id); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func flip(text []byte, i int) []byte {
	out := bytes.Clone(text)
	out[i] ^= 1
	return out
}

// What a crash leaves is nothing that counts, and goes with the next pack.
func TestACrashLeavesNothing(t *testing.T) {
	s := NewStore(t.TempDir())
	lock, err := s.lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(s.dir, file.TempPrefix+"123")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(s.dir, "cr-"+strings.Repeat("1", 64))
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(half, bundle.FileName),
		filepath.Join(inside, file.TempPrefix+"9")} {
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.ofCandidate("x"); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	if lock, err = s.lock(); err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "*", "*"))
	if _, gone := os.Stat(half); !errors.Is(gone, fs.ErrNotExist) || err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A folder that cannot be written leaves the old bundle as it was.
func TestAFailedWriteChangesNothing(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("run by root, for whom every folder can be written: a file is put in the way instead")
	}
	p := packing(t, Options{})
	doc, _, err := p.seal(func() bundle.Bundle {
		b := composed(t)
		b.SealRequest = p.request()
		return b
	}(), nil)
	if err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := &Store{inTheWay}
	if err := broken.keep(doc, nil); err == nil {
		t.Error("kept below a file")
	}
	if err := put(inTheWay, "x", nil); err == nil {
		t.Error("put below a file")
	}
}

// Whoever reads while others pack sees a bundle whole, and never a signature over other
// bytes.
func TestReadersSeeAWholeCandidate(t *testing.T) {
	p := packing(t, Options{Key: key("packer")})
	out := settle(t, p, composed(t))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for path := filepath.Join(out.Dir, EnvelopeName); ; {
			select {
			case <-done:
				return
			default:
			}
			before, errBefore := os.ReadFile(path)
			doc, err := p.candidates.Load(out.Bundle.CandidateRevisionID)
			if err != nil {
				t.Error(err)
				return
			}
			after, errAfter := os.ReadFile(path)
			if errBefore != nil || errAfter != nil || !bytes.Equal(before, after) {
				continue // it was replaced meanwhile
			}
			signed, refused := bundle.DecodeEnvelope(before)
			if refused != nil {
				t.Error(refused)
				return
			}
			if said, refused := bundle.ReadStatement(signed.Payload); refused != nil ||
				!said.Names(doc.FileSHA256) {
				t.Errorf("a signature over other bytes: %v", refused)
				return
			}
		}
	})
	for i := range 60 {
		p.Stage = []bundle.Stage{bundle.Paper, bundle.Canary}[i%2]
		settle(t, p, composed(t))
	}
	close(done)
	wg.Wait()
}

func TestTheTipDecides(t *testing.T) {
	doc := func(id, parent string, at time.Time) *bundle.Document {
		d := &bundle.Document{}
		d.Bundle.CandidateRevisionID, d.Bundle.SealRequest.RequestedAt = id, bundle.FormatTime(at)
		if parent != "" {
			d.Bundle.Candidate.Lineage.ParentRevisionID = &parent
		}
		return d
	}
	if last(nil) != nil {
		t.Error("something is last of nothing")
	}
	a, b, c := doc("a", "", now.Add(time.Hour)), doc("b", "a", now), doc("c", "b", now.Add(-time.Hour))
	// Another request for an old revision does not make it the last.
	if got := last([]*bundle.Document{a, b, c}); got != c {
		t.Error(got.Bundle.CandidateRevisionID)
	}
	if got := last([]*bundle.Document{a, c}); got != a { // b was taken away
		t.Error(got.Bundle.CandidateRevisionID)
	}
}
