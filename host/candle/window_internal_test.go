package candle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// stocked returns a store with one dataset of so many candles.
func stocked(t testing.TB, state string, rows int) (*Store, *market.Series, string) {
	t.Helper()
	s, err := Open(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c := sdktest.Synth(1, rows, time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC), time.Hour)
	c.Symbol = "A/B"
	d, err := s.Put(t.Context(), PutRequest{Exchange: "synth", Series: c})
	if err != nil {
		t.Fatal(err)
	}
	return s, c, d.SHA256
}

func placed(t testing.TB, s *Store, sum string, c *market.Series, first, rows int) (*Folder, string) {
	t.Helper()
	f, err := s.OpenFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	path, told, err := f.Place(sum, c, first, rows)
	if err != nil {
		t.Fatal(err)
	}
	file, err := candlefile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got := sumOf(path, c.Slice(first, first+rows)); got != told || got != file.SHA256() {
		t.Fatalf("rows %d+%d: the file has sha256 %s, told was %s", first, rows, got, told)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	return f, path
}

func kept(t testing.TB, s *Store) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.windows.dir, "*"+fileSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func sameFile(t testing.TB, a, b string) bool {
	t.Helper()
	x, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(x, y)
}

// TestWindowsAreMadeOnce: runs that may see the same rows share a file, also those of
// another process, and the rows of the whole file are the file.
func TestWindowsAreMadeOnce(t *testing.T) {
	state := t.TempDir()
	s, c, sum := stocked(t, state, 500)
	_, a := placed(t, s, sum, c, 100, 50)
	_, b := placed(t, s, sum, c, 100, 50)
	_, whole := placed(t, s, sum, c, 0, 500)
	if !sameFile(t, a, b) || filepath.Dir(a) == filepath.Dir(b) || !sameFile(t, whole, s.Path(sum)) {
		t.Errorf("%s, %s, %s", a, b, whole)
	}
	other, _, _ := stocked(t, state, 500)
	if _, again := placed(t, other, sum, c, 100, 50); !sameFile(t, a, again) {
		t.Error("another process made it again")
	}
	if list := kept(t, s); len(list) != 1 || !strings.HasSuffix(list[0], sum+"-100-50.candles") {
		t.Errorf("kept are %q", list)
	}
}

// TestWindowOfOtherCandlesIsMadeAnew: what is kept under the name of a window is
// compared before this process uses it for the first time.
func TestWindowOfOtherCandlesIsMadeAnew(t *testing.T) {
	state := t.TempDir()
	s, c, sum := stocked(t, state, 500)
	placed(t, s, sum, c, 100, 50)
	path := kept(t, s)[0]
	for name, bad := range map[string]func(path string) error{
		"other candles": func(path string) error { return candlefile.Create(path, c.Slice(101, 151)) },
		"damaged":       func(path string) error { return os.WriteFile(path, []byte("ASSAYCDL"), 0o444) },
	} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := bad(path); err != nil {
			t.Fatal(err)
		}
		other, _, _ := stocked(t, state, 500)
		placed(t, other, sum, c, 100, 50) // compares
		if sumOf(path, c.Slice(100, 150)) == "" {
			t.Errorf("%s: it is still there", name)
		}
	}
}

// TestDamagedWindowIsNotKept: a window that was damaged while a run used it is named,
// and made anew for the next.
func TestDamagedWindowIsNotKept(t *testing.T) {
	s, c, sum := stocked(t, t.TempDir(), 500)
	f, path := placed(t, s, sum, c, 100, 50)
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	if err := f.Check(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("damaged: %v", err)
	}
	placed(t, s, sum, c, 100, 50)
}

// TestWindowsAreBounded: the least used windows go, never what a run has in its folder.
func TestWindowsAreBounded(t *testing.T) {
	s, c, sum := stocked(t, t.TempDir(), 500)
	s.windows.limit = 4 * windowCharge
	var paths []string
	for i := range 12 {
		_, path := placed(t, s, sum, c, i, 100)
		paths = append(paths, path)
		old := time.Now().Add(time.Duration(i-100) * time.Minute)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	list := kept(t, s)
	if len(list) != 4 || !slices.ContainsFunc(list, func(p string) bool {
		return strings.HasSuffix(p,
			"-11-100.candles")
	}) {
		t.Errorf("kept are %d: %q", len(list), list)
	}
	for i, path := range paths {
		if sumOf(path, c.Slice(i, i+100)) == "" {
			t.Errorf("a run lost its window %d", i)
		}
	}
	placed(t, s, sum, c, 0, 100) // swept, so made again
}

// TestWindowsWithoutLinks: where the file system has no links, a run gets a copy.
func TestWindowsWithoutLinks(t *testing.T) {
	s, c, sum := stocked(t, t.TempDir(), 500)
	f, err := s.OpenFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	path := filepath.Join(f.Path(), "0"+fileSuffix) // taken: the link fails as if there were none
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, told, err := f.Place(sum, c, 10, 20)
	if err != nil || got != path || sumOf(path, c.Slice(10, 30)) != told || sameFile(t, path, kept(t, s)[0]) {
		t.Errorf("%s %s: %v", got, told, err)
	}
}

// TestWindowsSideBySide: stores of several processes make the same windows at once while
// others sweep them.
func TestWindowsSideBySide(t *testing.T) {
	state := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		s, c, sum := stocked(t, state, 500)
		s.windows.limit = 2 * windowCharge
		for range 2 {
			wg.Go(func() {
				for i := range 10 {
					f, err := s.OpenFolder()
					if err != nil {
						t.Error(err)
						return
					}
					path, told, err := f.Place(sum, c, i%5, 100)
					if err != nil || told == "" || sumOf(path, c.Slice(i%5, i%5+100)) != told {
						t.Errorf("%s: %v", path, err)
					}
					if err := f.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
}

// TestFoldersOfRunsGoWithTheirProcess: what a killed process left goes with the next run,
// what a living one uses stays.
func TestFoldersOfRunsGoWithTheirProcess(t *testing.T) {
	state := t.TempDir()
	s, c, sum := stocked(t, state, 500)
	left := filepath.Join(s.windows.dir, "runs", "room-left", "1")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	_, path := placed(t, s, sum, c, 1, 100)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s: %v", left, err)
	}
	other, _, _ := stocked(t, state, 500)
	_, second := placed(t, other, sum, c, 1, 100)
	if sumOf(path, c.Slice(1, 101)) == "" {
		t.Error("another process removed the folder of a run")
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(second); !os.IsNotExist(err) {
		t.Errorf("%s: %v", second, err)
	}
}

// BenchmarkPlace is what a run pays for its candles: of a window that is there, of one
// that is made, and of the whole file.
func BenchmarkPlace(b *testing.B) {
	s, c, sum := stocked(b, b.TempDir(), 60_000)
	for _, of := range []struct {
		name  string
		rows  int
		fresh bool
	}{{"kept", 6000, false}, {"made", 6000, true}, {"made, long", 58_000, true}, {"whole", 60_000, false}} {
		b.Run(fmt.Sprintf("%s %d", of.name, of.rows), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				first := 0
				if of.fresh {
					first = 1 + i%2000
					s.windows.discard(window{sum, first, of.rows})
				}
				f, err := s.OpenFolder()
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := f.Place(sum, c, first, of.rows); err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
