// Package gc finds what nothing in a state directory refers to, and removes it.
//
// Kept is every dataset and program whose hash stands anywhere in the registry (runs, plans, shown
// days), in a candidate, a family, a capsule, a job or a lab.json nearby; the current dataset of
// every series; and an earlier one by which alone a hold-out would know its market again; and of an input
// the rows of now, and earlier ones unless rows that stay have them all. What was written within the last
// hour is kept, since it may be about to be named.
//
// Labs that play hold a shared lock of the state directory ([Share]); Remove wants it alone, and
// waits for nobody. Beside a running service it leaves what the service may use. Every item goes by
// itself: a crash in between leaves the rest for the next time.
//
// The package imports candle, holdout, registry, fetch and proc for what they keep.
package gc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/registry"
)

// young is the age up to which everything is kept.
const young = time.Hour

// serviceLock is the file that a running service has locked.
const serviceLock = "service.lock"

// ErrBusy means that a lab plays in the state directory.
var ErrBusy = errors.New("another lab is at work in this state directory: wait for its end")

// Share is the lock of a program that plays in a state directory, which must exist: as long as it
// is held, nothing of it is removed. It waits for the end of a removal.
func Share(stateDir string) (*file.Lock, error) { return file.ShareDir(stateDir) }

// Item is something that nothing refers to.
type Item struct {
	Kind string `json:"kind"`
	// Path is below the state directory, with slashes.
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"`

	remove func(context.Context) error // nil: the file or folder is removed
}

// Usage is what one kind takes on the disk.
type Usage struct {
	Kind  string `json:"kind"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
	// Unreferenced counts the items of this kind that go, and their bytes.
	Unreferenced      int   `json:"unreferenced"`
	UnreferencedBytes int64 `json:"unreferenced_bytes"`
}

// Report is a state directory as gc sees it.
type Report struct {
	Kinds []Usage `json:"kinds"`
	Items []Item  `json:"items"`
	// Service reports that a service runs, whose programs and jobs are left alone.
	Service bool `json:"service"`
	// Bytes is the sum of the items.
	Bytes int64 `json:"bytes"`
}

// Collector looks at one state directory.
type Collector struct {
	StateDir string
	Candles  *candle.Store
	Registry *registry.Registry
	// Named are further texts that name what is to be kept by its hash, such as the lab.json of
	// projects.
	Named [][]byte
	// Reached is called before each removal, with the path of the item.
	Reached failpoint.Hook

	now     time.Time
	service bool
	named   hashes
}

// Look reports what would be removed and what everything takes, and changes nothing.
func (c *Collector) Look(ctx context.Context) (Report, error) {
	if _, err := os.Stat(c.path(serviceLock)); err == nil {
		lock, err := file.LockState(c.StateDir, serviceLock)
		if c.service = errors.Is(err, file.ErrHeld); err != nil && !c.service {
			return Report{}, err
		}
		if lock != nil {
			if err := lock.Release(); err != nil {
				return Report{}, err
			}
		}
	}
	return c.look(ctx)
}

// Remove removes what Look shows, and reports it. The error is ErrBusy while a lab plays. No service
// starts meanwhile.
func (c *Collector) Remove(ctx context.Context) (_ Report, err error) {
	own, err := file.TryLockDir(c.StateDir)
	if err != nil {
		return Report{}, err
	}
	if own == nil {
		return Report{}, ErrBusy
	}
	defer func() { err = errors.Join(err, own.Release()) }()
	service, err := file.LockState(c.StateDir, serviceLock)
	if c.service = errors.Is(err, file.ErrHeld); err != nil && !c.service {
		return Report{}, err
	}
	if service != nil {
		defer func() { err = errors.Join(err, service.Release()) }()
	}
	r, err := c.look(ctx)
	if err != nil {
		return r, err
	}
	for i, item := range r.Items {
		if ctx.Err() != nil {
			r.Items = r.Items[:i]
			return r, ctx.Err()
		}
		c.Reached.Reach(item.Path)
		if err := c.discard(ctx, item); err != nil {
			return r, fmt.Errorf("%s: %w", item.Path, err)
		}
	}
	return r, nil
}

// discard removes one item. A folder loses its name first, so that no half of it is taken for the
// whole.
func (c *Collector) discard(ctx context.Context, item Item) error {
	if item.remove != nil {
		return item.remove(ctx)
	}
	path := c.path(item.Path)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() && !strings.HasPrefix(filepath.Base(path), file.TempPrefix) {
		temp, err := os.MkdirTemp(filepath.Dir(path), file.TempPrefix)
		if err != nil {
			return err
		}
		if err := os.Rename(path, filepath.Join(temp, "gone")); err != nil {
			return errors.Join(err, os.Remove(temp))
		}
		path = temp
	}
	return removeAll(path)
}

// removeAll removes a folder in which folders may be read-only.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(p, 0o700)
		}
		return err
	}) // what stays closed is in the error below
	return os.RemoveAll(path)
}

func (c *Collector) look(ctx context.Context) (r Report, err error) {
	c.now = time.Now()
	r.Service, r.Items = c.service, []Item{}
	ledger := holdout.Ledger{Candles: c.Candles, Registry: c.Registry}
	if err := ledger.Know(ctx); err != nil {
		return r, err
	}
	datasets := func(ctx context.Context) ([]Item, error) {
		// What goes anyway names nothing that has to stay.
		if err := c.collect(ctx, r.Items); err != nil {
			return nil, err
		}
		return c.datasets(ctx, ledger)
	}
	for _, find := range []func(context.Context) ([]Item, error){
		c.runs, c.projects, datasets, c.inputs, c.windows, c.fetches, c.programs, c.sources, c.leftovers,
		c.spools,
	} {
		items, err := find(ctx)
		if err != nil {
			return r, err
		}
		r.Items = append(r.Items, items...)
	}
	if r.Kinds, err = c.usage(); err != nil {
		return r, err
	}
	for _, i := range r.Items {
		r.Bytes += i.Bytes
		at := slices.IndexFunc(r.Kinds, func(u Usage) bool { return u.Kind == i.Kind })
		if at < 0 {
			at, r.Kinds = len(r.Kinds), append(r.Kinds, Usage{Kind: i.Kind})
		}
		r.Kinds[at].Unreferenced++
		r.Kinds[at].UnreferencedBytes += i.Bytes
	}
	return r, nil
}

// kinds are the folders of a state directory with what they hold, in the order of the report. The
// last is everything else.
var kinds = []struct{ folder, kind string }{
	{"runs", "runs"}, {"data/candles", "datasets"}, {"data/inputs", "inputs"},
	{"data/windows", "windows"},
	{"data/fetch", "fetches"}, {"plugins", "programs"}, {"connectors", "connectors"}, {"build", "build"},
	{"sources", "sources"},
	{"families", "families"}, {"candidates", "candidates"}, {"projects", "projects"}, {"live", "live"},
	{"governance", "governance"}, {"tmp", "temporary"}, {"", "other"},
}

// kindOf is the kind of a path below the state directory.
func kindOf(rel string) string {
	for _, k := range kinds {
		if rel == k.folder || strings.HasPrefix(rel, k.folder+"/") {
			return k.kind
		}
	}
	return kinds[len(kinds)-1].kind
}

// usage counts the files of every kind. What goes away meanwhile is not counted.
func (c *Collector) usage() ([]Usage, error) {
	list := make([]Usage, len(kinds))
	of := map[string]*Usage{}
	for i, k := range kinds {
		list[i].Kind = k.kind
		of[k.kind] = &list[i]
	}
	err := filepath.WalkDir(c.StateDir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			u := of[kindOf(c.rel(path))]
			u.Files++
			u.Bytes += info.Size()
		}
		return nil
	})
	return slices.DeleteFunc(list, func(u Usage) bool { return u.Files == 0 }), err
}

func (c *Collector) path(rel string) string {
	return filepath.Join(c.StateDir, filepath.FromSlash(rel))
}

func (c *Collector) rel(path string) string {
	rel, err := filepath.Rel(c.StateDir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// item describes a file or folder that goes.
func (c *Collector) item(path, why string) Item {
	i := Item{Path: c.rel(path), Why: why}
	i.Kind = kindOf(i.Path)
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				i.Bytes += info.Size()
			}
		}
		return nil
	}) // a size is for people
	return i
}

// old reports whether something was last written to long ago. What is gone is not.
func (c *Collector) old(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && c.now.Sub(info.ModTime()) > young
}
