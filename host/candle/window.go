package candle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	// windowsLimit is how many bytes of windows are kept for later runs.
	windowsLimit = 1 << 30
	// windowCharge is what a window counts at least, which bounds their number.
	windowCharge = 256 << 10
	// maxKnown is far more windows than an evaluation has.
	maxKnown = 4096
	// useAge is how exactly the last use of a window is known.
	useAge = time.Minute
)

// windows are candle files of exactly the rows that a run may see. They are kept for the
// next run that may see the same; beyond the limit those go that were not used for the
// longest time.
type windows struct {
	dir   string
	limit int64 // windowsLimit if 0

	mu      sync.Mutex    // one is made at a time: plays side by side often need the same
	workdir *file.Workdir // where this process has the folders of its runs; nil before the first
	runs    int           // that had a folder
	known   map[window]string
	swept   bool  // once
	added   int64 // bytes since the last sweep
}

// window names rows of a file, the one with this hash.
type window struct {
	source      string
	first, rows int
}

func (w window) name() string {
	return fmt.Sprintf("%s-%d-%d%s", w.source, w.first, w.rows, fileSuffix)
}

// Folder is what one run may read: a file for each of its series and nothing else. Runs one after
// another may share it: Empty comes between them. It is used by one goroutine at a time.
type Folder struct {
	store *Store
	path  string
	files []window
}

// OpenFolder makes the folder of a run.
func (s *Store) OpenFolder() (*Folder, error) {
	w := &s.windows
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.workdir == nil {
		// Links need the file system of the windows.
		workdir, err := file.NewWorkdir(filepath.Join(w.dir, "runs"))
		if err != nil {
			return nil, err
		}
		if err := removeLeftovers(w.dir); err != nil {
			return nil, errors.Join(err, workdir.Close())
		}
		w.workdir, w.known = workdir, map[window]string{}
	}
	w.runs++
	f := &Folder{store: s, path: filepath.Join(w.workdir.Dir(), strconv.Itoa(w.runs))}
	return f, os.Mkdir(f.path, 0o755)
}

// Path returns where the folder is.
func (f *Folder) Path() string { return f.path }

// Place puts the rows [first, first+rows) of a stored series into the folder, as a file
// of their own. sha256 is that of the series; the file and its hash are returned.
func (f *Folder) Place(sha256 string, all *market.Series, first, rows int) (path, sum string, err error) {
	key := window{sha256, first, rows}
	name := strconv.Itoa(len(f.files)) + fileSuffix
	path = filepath.Join(f.path, name)
	f.files = append(f.files, key)
	part := all.Slice(first, first+rows)
	from, sum := f.store.Path(sha256), sha256
	if rows != all.Len() {
		from = filepath.Join(f.store.windows.dir, key.name())
		if sum, err = f.store.windows.keep(key, part); err != nil {
			return "", "", err
		}
	}
	if os.Link(from, path) == nil {
		return path, sum, nil
	}
	// Not every file system has links, and another process may have swept the window.
	sum, err = writeFile(f.path, part, false, func(string) string { return name })
	return path, sum, err
}

// Check reads the files of the folder again. What is damaged is not kept for a later run;
// the error is a *candlefile.CorruptError.
func (f *Folder) Check() (err error) {
	for i, key := range f.files {
		file, bad := candlefile.Open(filepath.Join(f.path, strconv.Itoa(i)+fileSuffix))
		if bad == nil {
			bad = file.Close()
		} else {
			f.store.windows.discard(key)
		}
		err = errors.Join(err, bad)
	}
	return err
}

// Empty removes the files, so that the next run finds its own only.
func (f *Folder) Empty() (err error) {
	for i := range f.files {
		if e := os.Remove(filepath.Join(f.path, strconv.Itoa(i)+fileSuffix)); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	f.files = nil
	return err
}

// Close removes the folder. A second call does nothing.
func (f *Folder) Close() error { return os.RemoveAll(f.path) }

// keep makes the file of a window if it is not there, and returns its hash.
func (w *windows) keep(key window, part *market.Series) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	path, now := filepath.Join(w.dir, key.name()), time.Now() // the time decides nothing but what is swept
	info, err := os.Stat(path)
	if err == nil && now.Sub(info.ModTime()) > useAge {
		_ = os.Chtimes(path, now, now) // at worst it is swept too early
	}
	if sum, ok := w.known[key]; ok && err == nil {
		return sum, nil
	}
	sum := sumOf(path, part)
	if sum == "" {
		if sum, err = writeFile(w.dir, part, false, func(string) string { return key.name() }); err != nil {
			return "", err
		}
		w.sweep(fileSize(key.rows))
	}
	if len(w.known) >= maxKnown {
		clear(w.known)
	}
	w.known[key] = sum
	return sum, nil
}

// sumOf returns the hash of a file that has exactly these candles, "" for any other.
func sumOf(path string, want *market.Series) string {
	f, err := candlefile.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := f.Series()
	same := s.Timeframe == want.Timeframe && slices.Equal(s.Time, want.Time) &&
		slices.Equal(s.Open, want.Open) && slices.Equal(s.High, want.High) &&
		slices.Equal(s.Low, want.Low) && slices.Equal(s.Close, want.Close) &&
		slices.Equal(s.Volume, want.Volume)
	if !same {
		return ""
	}
	return f.SHA256()
}

// sweep removes the windows beyond the limit, now and then: so many bytes have come on
// top. A run keeps what it has in its folder.
func (w *windows) sweep(size int64) {
	limit := cmp.Or(w.limit, windowsLimit)
	if w.added += max(size, windowCharge); w.swept && w.added <= limit/16 {
		return
	}
	w.swept, w.added = true, 0
	type kept struct {
		name string
		size int64
		used time.Time
	}
	var list []kept
	total := int64(0)
	entries, _ := os.ReadDir(w.dir) // what cannot be listed cannot be swept
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), fileSuffix) {
			list = append(list, kept{e.Name(), max(info.Size(), windowCharge), info.ModTime()})
			total += list[len(list)-1].size
		}
	}
	slices.SortFunc(list, func(a, b kept) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name))
	})
	for _, k := range list {
		if total <= limit {
			return
		}
		if os.Remove(filepath.Join(w.dir, k.name)) == nil {
			total -= k.size
		}
	}
}

// discard forgets a window and removes its file.
func (w *windows) discard(key window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, key)
	_ = os.Remove(filepath.Join(w.dir, key.name())) // one that stays is compared before it is used
}

func (w *windows) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.workdir == nil {
		return nil
	}
	defer func() { w.workdir = nil }()
	return w.workdir.Close()
}
