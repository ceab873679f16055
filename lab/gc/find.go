package gc

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/fetch"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// hashes are those that something refers to.
type hashes map[string]bool

const hexDigits = 64

// maxManifest is more than the manifest of a bundle may have.
const maxManifest = 16 << 20

// scan adds every hash that stands in a text: 64 hex digits with no further one beside them.
func (h hashes) scan(text []byte) {
	begin := -1
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'f') {
			if begin < 0 {
				begin = i
			}
			continue
		}
		if begin >= 0 && i-begin == hexDigits {
			h[string(text[begin:i])] = true
		}
		begin = -1
	}
}

// collect finds the hashes that are named, but for those that only what goes names.
func (c *Collector) collect(ctx context.Context, going []Item) error {
	c.named = hashes{}
	for _, text := range c.Named {
		c.named.scan(text)
	}
	if err := c.Registry.Naming(ctx, c.named.scan); err != nil {
		return err
	}
	for _, pattern := range []string{
		"runs/*/capsules/*.json", "runs/*/request.json", "candidates/*/*", "families/*/*/*", "projects/*/*/*",
		"jobs.json", "tmp/falsify/*.jsonl",
	} {
		files, err := filepath.Glob(c.path(pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			if slices.ContainsFunc(going, func(i Item) bool {
				return strings.HasPrefix(f, c.path(i.Path)+string(filepath.Separator))
			}) {
				continue
			}
			text, err := os.ReadFile(f)
			switch {
			case err == nil:
				c.named.scan(text)
			case !errors.Is(err, fs.ErrNotExist) && !isFolder(f):
				return err
			}
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// entries lists a folder, which may be missing.
func entries(dir string) ([]fs.DirEntry, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// datasets are candle files without a row and earlier versions that nothing names.
func (c *Collector) datasets(ctx context.Context, ledger holdout.Ledger) ([]Item, error) {
	all, err := c.Candles.List(ctx)
	if err != nil {
		return nil, err
	}
	versions := map[string][]candle.Dataset{}
	var kept []candle.Dataset
	for _, d := range all {
		versions[d.SHA256] = append(versions[d.SHA256], d)
		if d.Current || c.named[d.SHA256] {
			kept = append(kept, d)
		}
	}
	isCurrent := func(d candle.Dataset) bool { return d.Current }
	var items []Item
	list, err := entries(c.path("data/candles"))
	for _, e := range list {
		sum, is := strings.CutSuffix(e.Name(), ".candles")
		path := filepath.Join(c.path("data/candles"), e.Name())
		if !is || len(sum) != hexDigits || c.named[sum] || !c.old(path) ||
			slices.ContainsFunc(versions[sum], isCurrent) {
			continue
		}
		why := "no dataset"
		if known := versions[sum]; len(known) > 0 {
			covered, err := ledger.Covered(ctx, known[0], kept)
			if err != nil {
				return nil, err
			}
			if !covered {
				continue
			}
			why = "earlier version of " + candle.SeriesKey(known[0].Exchange, known[0].Symbol,
				known[0].Timeframe)
		}
		item := c.item(path, why)
		item.remove = func(ctx context.Context) error {
			_, err := c.Candles.Drop(ctx, sum)
			return err
		}
		items = append(items, item)
	}
	return items, err
}

// inputs are earlier rows of inputs that nothing names and that rows which stay have all of: what a paper or
// live run has read can be told from these and its journal.
func (c *Collector) inputs(context.Context) ([]Item, error) {
	store := c.Candles.Inputs()
	current, err := store.List()
	if err != nil {
		return nil, nil // which rows are current is not known
	}
	files, err := store.Files()
	var kept [][]market.InputRow
	var rest []candle.InputFile
	for _, f := range files {
		isCurrent := slices.ContainsFunc(current, func(in candle.StoredInput) bool {
			return in.SHA256 == f.SHA256
		})
		if !c.named[f.SHA256] && c.old(f.Path) && !isCurrent {
			rest = append(rest, f)
		} else if rows, err := store.Open(f.SHA256); err == nil { // damaged rows have none of others
			kept = append(kept, rows)
		}
	}
	var items []Item
	for _, f := range rest {
		rows, damaged := store.Open(f.SHA256)
		if damaged != nil || !slices.ContainsFunc(kept, func(all []market.InputRow) bool {
			_, has := candle.GrowInput(rows, all, math.MaxInt64)
			return has
		}) {
			continue
		}
		item := c.item(f.Path, "earlier rows of an input, which later ones have too")
		item.remove = func(context.Context) error { return store.Drop(f.SHA256) }
		items = append(items, item)
	}
	return items, err
}

// windows are the cut candles that the next run would make again, and the folders of killed runs.
func (c *Collector) windows(context.Context) ([]Item, error) {
	dir := c.path("data/windows")
	var items []Item
	list, err := entries(dir)
	for _, e := range list {
		if strings.HasSuffix(e.Name(), ".candles") {
			items = append(items, c.item(filepath.Join(dir, e.Name()), "made again when a run needs it"))
		}
	}
	workdirs, failed := c.workdirs("data/windows/runs")
	return append(items, workdirs...), errors.Join(err, failed)
}

// workdirs are the working folders of killed processes.
func (c *Collector) workdirs(root string) ([]Item, error) {
	left, err := file.Abandoned(c.path(root))
	var items []Item
	for _, dir := range left {
		item := c.item(dir, "left by a process that was killed")
		item.remove = func(context.Context) error { return file.SweepWorkdirs(c.path(root)) }
		items = append(items, item)
	}
	return items, err
}

// fetches are the pages of fetches that have not come to their end and that no process works on.
func (c *Collector) fetches(context.Context) ([]Item, error) {
	dir := c.path("data/" + fetch.Folder)
	var items []Item
	list, err := entries(dir)
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), file.TempPrefix) || !c.old(path) {
			continue
		}
		if free, err := c.unlocked(dir, e.Name()); err != nil || !free {
			if err != nil {
				return items, err
			}
			continue
		}
		item := c.item(path, "pages of an unfinished fetch")
		item.remove = func(ctx context.Context) error {
			lock, err := file.LockState(dir, seriesOf(e.Name())+".lock")
			if errors.Is(err, file.ErrHeld) {
				return nil
			}
			if err != nil {
				return err
			}
			plain := item
			plain.remove = nil
			return errors.Join(c.discard(ctx, plain), lock.Release())
		}
		items = append(items, item)
	}
	return items, err
}

// seriesOf is the series of a fetch: its key without the times at its end.
func seriesOf(key string) string {
	for {
		at := strings.LastIndexByte(key, '-')
		if at < 0 || strings.Trim(key[at+1:], "0123456789") != "" {
			return key
		}
		key = key[:at]
	}
}

// unlocked reports whether no process works on a fetch.
func (c *Collector) unlocked(dir, key string) (bool, error) {
	name := seriesOf(key) + ".lock"
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		return true, nil
	}
	lock, err := file.LockState(dir, name)
	if errors.Is(err, file.ErrHeld) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, lock.Release()
}

// runs are the folders that a crash has left, and those of runs that the registry does not know and
// that were never finished. Those in the making were settled when the registry was opened.
func (c *Collector) runs(ctx context.Context) ([]Item, error) {
	rows, err := c.Registry.ListMetadata(ctx, registry.Filter{})
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, r := range rows {
		known[r.RunID] = true
	}
	orphans, err := entries(c.path("runs/.orphan"))
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, e := range orphans {
		path := filepath.Join(c.path("runs/.orphan"), e.Name())
		if c.old(path) {
			items = append(items, c.item(path, "left by a crash, its run has another folder or none"))
		}
	}
	list, err := entries(c.path("runs"))
	for _, e := range list {
		path := filepath.Join(c.path("runs"), e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || known[e.Name()] || !c.old(path) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(path, evidence.MetadataName)); err == nil {
			continue // the registry adopts it
		}
		items = append(items, c.item(path, "of a run that is not in the registry and was never finished"))
	}
	return items, err
}

// programs are copies of programs that nothing names, with the folders of bundles.
func (c *Collector) programs(context.Context) ([]Item, error) {
	dir := c.path("plugins")
	used := hashes{}
	if c.service {
		text, err := os.ReadFile(c.path("plugins.lock.json"))
		if err != nil {
			return nil, nil // what the service may start is not known
		}
		used.scan(text)
	}
	list, err := entries(dir)
	if err != nil {
		return nil, err
	}
	var items []Item
	inBundles := hashes{} // folders of the kept ones
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() || len(e.Name()) != hexDigits {
			continue
		}
		if !c.named[e.Name()] && !used[e.Name()] && c.old(path) {
			items = append(items, c.item(path, "copy of a program that nothing names"))
			continue
		}
		inBundles[e.Name()] = true
		if text, ok := manifest(path); ok {
			inBundles.scan(text)
		}
	}
	folders, err := entries(filepath.Join(dir, "bundles"))
	for _, e := range folders {
		path := filepath.Join(dir, "bundles", e.Name())
		if len(e.Name()) == hexDigits && !inBundles[e.Name()] && c.old(path) {
			items = append(items, c.item(path, "files of a bundle that nothing names"))
		}
	}
	return items, err
}

// sources are those of programs of which no run is left.
func (c *Collector) sources(context.Context) ([]Item, error) {
	list, err := entries(c.path(project.SourcesFolder))
	var items []Item
	for _, e := range list {
		path := filepath.Join(c.path(project.SourcesFolder), e.Name())
		if len(e.Name()) == hexDigits && !c.named[e.Name()] && c.old(path) {
			items = append(items, c.item(path, "sources of a program that no run names"))
		}
	}
	return items, err
}

// manifest is the text of a copy that is the manifest of a bundle.
func manifest(path string) ([]byte, bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	first := make([]byte, 1)
	if _, err := f.Read(first); err != nil || first[0] != '{' {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxManifest))
	return append(first, text...), err == nil
}

// leftovers are files and folders that were in the making when their process was killed.
func (c *Collector) leftovers(context.Context) ([]Item, error) {
	var items []Item
	for _, dir := range []string{
		".", "data", "data/candles", "data/inputs", "data/windows", "data/fetch", "plugins",
		"plugins/bundles", "build", "sources", "candidates", "projects/*",
	} {
		left, err := filepath.Glob(filepath.Join(c.path(dir), file.TempPrefix+"*"))
		if err != nil {
			return nil, err
		}
		for _, path := range left {
			if c.old(path) {
				items = append(items, c.item(path, "was in the making when its process was killed"))
			}
		}
	}
	return items, nil
}

// spools are what runs had written for themselves when they were killed. The journals of
// falsifications stay: the same command goes on from them.
func (c *Collector) spools(context.Context) ([]Item, error) {
	var items []Item
	for _, dir := range []string{"tmp", "tmp/lab", "tmp/service"} {
		list, err := entries(c.path(dir))
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			path := filepath.Join(c.path(dir), e.Name())
			roots := []string{"lab", "service", "falsify", "shadow"}
			spared := dir == "tmp" && slices.Contains(roots, e.Name()) || dir == "tmp/service" && c.service
			if !spared && c.old(path) {
				items = append(items, c.item(path, "left by a run that was killed"))
			}
		}
	}
	for _, root := range []string{"tmp/falsify", "tmp/shadow"} {
		workdirs, err := c.workdirs(root)
		if err != nil {
			return nil, err
		}
		items = append(items, workdirs...)
	}
	return items, nil
}

// projects are what jobs of the service have played, once it has ended.
func (c *Collector) projects(context.Context) ([]Item, error) {
	if c.service {
		return nil, nil
	}
	list, err := filepath.Glob(c.path("projects/*/*"))
	var items []Item
	for _, path := range list {
		if isFolder(path) && !strings.HasPrefix(filepath.Base(path), file.TempPrefix) && c.old(path) {
			items = append(items, c.item(path, "played by a job that has ended"))
		}
	}
	return items, err
}
