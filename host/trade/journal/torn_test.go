package journal

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// parts are the files of a journal.
var parts = []string{FileName, FileName + "-wal", FileName + "-shm", witnessName}

// image is a journal as it lies on disk at some moment.
type image struct {
	name  string
	files map[string][]byte
}

func takeImage(t *testing.T, name, dir string) image {
	t.Helper()
	img := image{name, map[string][]byte{}}
	for _, p := range parts {
		if b, err := os.ReadFile(filepath.Join(dir, p)); err == nil {
			img.files[p] = b
		}
	}
	return img
}

func (img image) restore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for p, b := range img.files {
		if err := os.WriteFile(filepath.Join(dir, p), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// images are journals of the same two runs: all in the write-ahead log; half of it
// copied over; behind a log that was begun anew over an old one; closed.
func images(t *testing.T) []image {
	t.Helper()
	var all []image
	for _, name := range []string{"wal", "half", "anew", "closed"} {
		dir := t.TempDir()
		o := openAt(t, dir)
		fill(t, begin(t, o.Journal, 1), 1, tornSteps)
		if name == "half" || name == "anew" {
			var busy, log, moved int
			mode := map[string]string{"half": "PASSIVE", "anew": "RESTART"}[name]
			if err := o.db.Read().QueryRow("PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &log,
				&moved); err != nil || busy != 0 || moved == 0 {
				t.Fatal(busy, log, moved, err)
			}
		}
		fill(t, begin(t, o.Journal, 2), 2, tornSteps)
		if name == "closed" {
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, takeImage(t, name, dir))
	}
	return all
}

const tornSteps = 5

// spoil damages one of the files in a way that disks and crashes do.
func spoil(random *rand.Rand, img image) (image, string) {
	files := map[string][]byte{}
	var names []string
	for _, p := range parts {
		if b, ok := img.files[p]; ok {
			files[p] = slices.Clone(b)
			names = append(names, p)
		}
	}
	// The database and its log are what matters.
	name := names[min(random.IntN(2*len(names)), len(names)-1)]
	if random.IntN(4) > 0 {
		name = names[random.IntN(min(2, len(names)))]
	}
	b := files[name]
	at := random.IntN(len(b))
	if random.IntN(3) == 0 {
		at = random.IntN(min(len(b), 4096)) // headers
	}
	var what string
	switch random.IntN(6) {
	case 0, 1:
		what = "flip"
		b[at] ^= 1 << random.IntN(8)
	case 2:
		what = "byte"
		b[at] = byte(random.Uint32())
	case 3:
		what = "truncate"
		files[name] = b[:at]
	case 4:
		what = "zero sector"
		clear(b[at&^511 : min(len(b), at&^511+512)])
	case 5:
		what = "old page"
		from := random.IntN(len(b)) &^ 4095
		copy(b[at&^4095:], slices.Clone(b[from:min(len(b), from+4096)]))
	}
	return image{img.name, files}, fmt.Sprintf("%s: %s of %s at %d", img.name, what, name, at)
}

// TestTorn: whatever a disk does to the files, Open succeeds and what is read afterwards
// is everything that was written, or nothing and the journal was set aside.
func TestTorn(t *testing.T) {
	cases := ring.Size(60, 60, 5000)
	want := expected(t, 1, tornSteps*operations) + expected(t, 2, tornSteps*operations)
	base := images(t)
	for _, img := range base {
		if aside, _ := openSpoiled(t, img.restore(t), want); aside {
			t.Fatalf("%s: an intact journal was set aside", img.name)
		}
	}
	aside := map[string]int{}
	intact := map[string]int{}
	for seed := range cases {
		random := rand.New(rand.NewPCG(uint64(seed), 5))
		img, what := spoil(random, base[seed%len(base)])
		dir := img.restore(t)
		if wasSet, reason := openSpoiled(t, dir, want); t.Failed() {
			t.Fatalf("case %d, %s: %s", seed, what, reason)
		} else if wasSet {
			aside[img.name]++
		} else {
			intact[img.name]++
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("set aside %v, intact %v", aside, intact)
	for _, img := range base {
		if aside[img.name] == 0 || intact[img.name] == 0 {
			t.Errorf("%s: set aside %d, intact %d", img.name, aside[img.name], intact[img.name])
		}
	}
}

// openSpoiled opens what may be damaged, reads it, writes to it and opens it again.
func openSpoiled(t *testing.T, dir, want string) (aside bool, reason string) {
	o, err := Open(t.Context(), dir, Options{Now: fixedNow})
	if err != nil {
		t.Error("refused")
		return false, err.Error()
	}
	defer func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}()
	if aside = o.Quarantined != nil; aside {
		reason = o.Quarantined.Reason
		if runs, err := o.Runs(t.Context()); err != nil || len(runs) > 0 {
			t.Errorf("the new journal has %d runs: %v", len(runs), err)
		}
	} else {
		for run := 1; run <= 2; run++ {
			got := mustDump(t, o.Journal, sampleInfo(run).RunID)
			if len(got) > len(want) || got != want[:len(got)] {
				t.Error("it was opened and something in it is wrong")
				return false, got
			}
			want = want[len(got):]
		}
		if want != "" {
			t.Error("it was opened and something is missing")
		}
	}
	r, err := o.Begin(t.Context(), sampleInfo(3))
	if err != nil {
		t.Error("it was opened and cannot be written")
		return aside, err.Error()
	}
	fill(t, r, 3, 1)
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	again, err := Open(t.Context(), dir, Options{Now: fixedNow})
	if err != nil {
		t.Error("refused the second time")
		return aside, err.Error()
	}
	defer again.Close()
	if again.Quarantined != nil {
		t.Error("set aside the second time")
		return aside, again.Quarantined.Reason
	}
	return aside, reason
}
