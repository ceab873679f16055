package verify

import (
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/base/translog"
)

// extension is the answer of the sample's log to a holder of a checkpoint.
func (s *sample) extension(t *testing.T, old int64) File {
	t.Helper()
	view := s.log.View()
	hashes, err := view.ConsistencyAt(old, view.Head.Size)
	check(t, err)
	return File{"grown", []byte(translog.Extension{Old: old, Hashes: hashes, Note: view.Note}.Format())}
}

// TestSince: a log continues what was kept of it, and nothing else, by itself and by what it answers.
func TestSince(t *testing.T) {
	s := newSample(t)
	view := s.log.View()
	root, err := view.Root(2)
	check(t, err)
	note := func(root [32]byte, size int64) File {
		text, err := translog.SignCheckpoint(translog.Checkpoint{Origin: view.Head.Origin, Size: size, Root: root}, s.logKey)
		check(t, err)
		return File{"kept", []byte(text)}
	}
	other := root
	other[0] ^= 1
	trusted, err := view.Root(view.Head.Size)
	check(t, err)
	for name, c := range map[string]struct {
		kept File
		ok   bool
	}{
		"the beginning": {note(root, 2), true}, "all of it": {note(trusted, view.Head.Size), true},
		"another root": {note(other, 2), false}, "more than there is": {note(root, 99), false},
		"no checkpoint": {File{"kept", []byte("x")}, false},
	} {
		report := Log(each(s.entries), each(s.notes), LogOptions{Statement: s.key, Log: view.Key, Since: []File{c.kept}})
		if report.OK() != c.ok || !c.ok && !slices.Contains(report.Failed(), "the log continues kept") {
			t.Errorf("whole log, %s:\n%s", name, lines(report))
		}
		size := int64(2)
		if head, err := translog.PeekCheckpoint(string(c.kept.Data)); err == nil && head.Size <= view.Head.Size {
			size = head.Size
		}
		report = Verify([]File{s.extension(t, size)}, Options{TrustedRoot: s.trusted().TrustedRoot, Since: []File{c.kept}})
		if report.OK() != c.ok {
			t.Errorf("by proof, %s:\n%s", name, lines(report))
		}
	}
	if report := Verify(nil, Options{TrustedRoot: s.trusted().TrustedRoot, Since: []File{note(root, 2)}}); report.OK() {
		t.Errorf("without a proof:\n%s", lines(report))
	}
}

// TestWitnessesAreAStep: cosignatures are checked where witnesses are named, also over a checkpoint alone.
func TestWitnessesAreAStep(t *testing.T) {
	s := newSample(t)
	view := s.log.View()
	key, err := translog.NewWitnessKey("w", seed("witness").Public().(ed25519.PublicKey))
	check(t, err)
	line, err := translog.Cosign(view.Head, "w", seed("witness"), time.Unix(1, 0))
	check(t, err)
	opts := Options{TrustedRoot: s.trusted().TrustedRoot, Witnesses: translog.Quorum{Keys: []translog.WitnessKey{key}, Need: 1}}
	grown := s.extension(t, 2)
	if report := Verify([]File{grown}, opts); report.OK() || !slices.Contains(report.Failed(), "witnesses of grown") {
		t.Errorf("without a cosignature:\n%s", lines(report))
	}
	grown.Data = []byte(translog.WithCosignatures(string(grown.Data), line))
	report := Verify([]File{grown}, opts)
	if !report.OK() || strings.Contains(lines(report), "not checked: that others see the same log") {
		t.Errorf("cosigned:\n%s", lines(report))
	}
	if report := Verify(nil, opts); report.OK() {
		t.Errorf("nothing to check:\n%s", lines(report))
	}
}
