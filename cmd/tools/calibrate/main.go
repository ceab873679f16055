package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
)

// options are the flags.
type options struct {
	sizes
	replays, workers int
	seed             uint64
	out, save, from  string
	// only is the part of the page that is made, searches the cases of each search in its
	// second part, limit the time for them.
	only     string
	searches int
	limit    time.Duration
	paths    int // of the days after the seal
	partial  bool
}

func main() {
	var o options
	flag.IntVar(&o.Noise, "noise", 200, "cases of noise per setting, families of 1 and 10")
	flag.IntVar(&o.Hundred, "hundred", 200, "cases of noise per setting, families of 100")
	flag.IntVar(&o.Sample, "sample", 20, "cases of noise on BTC/USDT 1h")
	flag.IntVar(&o.Numbered, "numbered", 40, "cases of noise whose coins are numbers, best of 10")
	flag.IntVar(&o.Planted, "planted", 200, "cases of each planted edge")
	flag.IntVar(&o.Seeds, "seeds", 20, "cases of each cheat")
	flag.IntVar(&o.Rows, "rows", 20, "cases of each strategy of docs/cheats.md")
	flag.IntVar(&o.replays, "replays", 0,
		"replays of random_entry and permuted_candles (default: those of falsify-profile/2)")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "cases side by side; changes nothing but the time")
	flag.StringVar(
		&o.only,
		"only",
		"",
		`part of the page to make, "battery", "selection", "prospective" or "rows" (of -from); the others `+
			`are kept as they are in the file of -o (default: the first two)`,
	)
	flag.IntVar(&o.paths, "paths", 4000, "paths of each course of days after the seal")
	flag.IntVar(&o.searches, "searches", fullSearches, "cases of each search among correlated trials")
	flag.DurationVar(
		&o.limit,
		"for",
		0,
		"time for the searches: they end after the round in which it is over (default: none)",
	)
	flag.Uint64Var(&o.seed, "seed", 1, "root of all random numbers")
	flag.StringVar(&o.out, "o", "", "file for the page (default: standard output)")
	flag.StringVar(&o.save, "save", "",
		"file for the verdicts: a run that was ended goes on from it, and -from makes the page again")
	flag.StringVar(&o.from, "from", "",
		"verdicts of an earlier run: nothing is played, and the sizes are those of that run")
	flag.BoolVar(&o.partial, "partial", false,
		"take a -from that was ended: the cases that it has, of each setting")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := calibrate(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "calibrate:", err)
		os.Exit(1)
	}
}

// memory is a file system that needs no syncing to be durable, where there is one.
const memory = "/dev/shm"

// calibration is what a run has found.
type calibration struct {
	head
	Settings []*setting
	Verdicts [][]*verdict // by setting and case
	asked    int          // cases of a run that was ended, 0 of a whole one
}

// The parts of the page.
const (
	partBattery   = "battery"
	partSelection = "selection"

	partProspective = "prospective"
	partRows        = "rows"
)

// calibrate plays or reads a calibration, and writes what is wanted of it.
func calibrate(ctx context.Context, o options) error {
	var page string
	switch o.only {
	case "", partBattery, partSelection, partProspective, partRows:
	default:
		return fmt.Errorf(
			"-only %s is no part of the page: it is %q, %q, %q or %q",
			o.only, partBattery, partSelection, partProspective, partRows,
		)
	}
	if o.only != "" {
		if o.out == "" {
			return errors.New("-only makes a part of a page: say by -o which file has the other")
		}
		text, err := os.ReadFile(o.out)
		if err != nil {
			return err
		}
		page = string(text)
	}
	switch o.only {
	case partProspective:
		return playProspective(o)
	case partRows:
		return rowsAlone(o)
	}
	if o.only != partSelection {
		play := run
		if o.from != "" {
			play = again
		}
		c, err := play(ctx, o)
		if err != nil {
			return err
		}
		_, section, _ := cutSelection(page)
		if page, err = withSelection(c.page(), section); err != nil {
			return err
		}
		if o.only == partBattery || o.out != "" {
			if err := write(o, page); err != nil {
				return err
			}
		}
	}
	if o.only == partBattery {
		return nil
	}
	return playSearches(ctx, o, func(s *searched) error {
		whole, err := withSelection(page, s.section())
		if err != nil {
			return err
		}
		return write(o, whole)
	}, slices.Concat(gridSearches(), otherSearches(), edgeSearches())...)
}

// write writes the page to the file of -o, or to standard output.
func write(o options, page string) error {
	if o.out != "" {
		page, err := keepProspective(o, page)
		if err != nil {
			return err
		}
		return os.WriteFile(o.out, []byte(page), 0o644)
	}
	_, err := os.Stdout.WriteString(page)
	return err
}

// again returns the calibration of -from.
func again(_ context.Context, o options) (*calibration, error) {
	file, err := os.Open(o.from)
	if err != nil {
		return nil, err
	}
	h, known, _, err := readSaved(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", o.from, err)
	}
	c := &calibration{head: h}
	if c.Settings, err = drifting(h.Sizes, h.Seed); err != nil {
		return nil, err
	}
	if o.partial {
		c.asked = c.cut(known)
	}
	for _, s := range c.Settings {
		list := []*verdict{}
		for i := range s.Cases {
			v := known[place{s.Name, i}]
			if v == nil {
				return nil, fmt.Errorf(
					"%s: case %d of %q is missing: the run was ended, go on with it by -save %s", o.from, i,
					s.Name, o.from)
			}
			list = append(list, v)
		}
		c.Verdicts = append(c.Verdicts, list)
	}
	return c, nil
}

// cut leaves of the settings what a run that was ended has of each, and returns how much was asked for.
func (c *calibration) cut(known map[place]*verdict) (asked int) {
	for _, s := range c.Settings {
		asked += s.Cases
		for n := range s.Cases {
			if known[place{s.Name, n}] == nil {
				s.Cases = n
				break
			}
		}
	}
	c.Settings = slices.DeleteFunc(c.Settings, func(s *setting) bool { return s.Cases == 0 })
	return asked
}

// drifting are the settings of some sizes, with the drifts of their edges.
func drifting(n sizes, seed uint64) (_ []*setting, err error) {
	list := settings(n)
	for _, s := range list {
		if ratio := max(s.Sharpe, s.Edge); ratio > 0 {
			if s.Drift, err = driftFor(seed, ratio); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// run makes the calibration of the options.
func run(ctx context.Context, o options) (_ *calibration, err error) {
	parent := ""
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		parent = memory
	}
	dir, err := os.MkdirTemp(parent, "assay-calibrate-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := newWorld(dir, o)
	if err != nil {
		return nil, err
	}
	served, err := serveAll(dir, o.seed)
	if err != nil {
		return nil, err
	}
	defer served.stop()
	w.reattach = served.reattach
	c := &calibration{head: head{Sizes: o.sizes, Seed: o.seed, Replays: w.profile.Replicas,
		Profile: w.profile.ID, Program: w.plugin.SHA256}}
	if c.Settings, err = drifting(o.sizes, o.seed); err != nil {
		return nil, err
	}
	if w.saved, err = openSaved(o.save, c.head); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.saved.close()) }()
	c.Verdicts, err = w.all(ctx, c.Settings, o.workers)
	return c, err
}

// newWorld is this program with its profile. The program is engine and strategies at
// once, so its hash names both.
func newWorld(dir string, o options) (*world, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	sum, err := digest.File(self)
	if err != nil {
		return nil, err
	}
	p := profile.Default()
	if o.replays > 0 && o.replays != p.Replicas {
		p.ID, p.Replicas = fmt.Sprintf("falsify-profile/2 with %d replays", o.replays), o.replays
	}
	if p, err = p.With(profile.Options{}, tests.IDs()); err != nil {
		return nil, err
	}
	return &world{
		dir: dir, seed: o.seed, profile: p, plugin: project.Built{Path: self, SHA256: sum},
		engine: artifact.Engine{Name: "calibrate", Version: "1", SHA256: sum},
	}, nil
}

// task is one case of all.
type task struct {
	setting *setting
	at, i   int
}

// finished returns the verdict of a task, of this run or of one that this one goes on from.
func (w *world) finished(ctx context.Context, t task, folder string) (*verdict, error) {
	if v := w.saved.of(t.setting.Name, t.i); v != nil {
		return v, nil
	}
	v, err := w.judge(ctx, t.setting, t.i, folder)
	if err != nil {
		return nil, err
	}
	return v, w.saved.add(t.setting.Name, t.i, v)
}

// all makes every case, side by side, and returns the verdicts by setting and case.
func (w *world) all(ctx context.Context, list []*setting, workers int) ([][]*verdict, error) {
	found := make([][]*verdict, len(list))
	var tasks []task
	for at, s := range list {
		found[at] = make([]*verdict, s.Cases)
		for i := range s.Cases {
			tasks = append(tasks, task{s, at, i})
		}
	}
	// The first case of every setting comes first, so that a run that is ended has some of each.
	slices.SortStableFunc(tasks, func(a, b task) int { return a.i - b.i })
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	began, done := time.Now(), 0
	errs := make([]error, len(tasks))
	next := make(chan int)
	var wg sync.WaitGroup
	var telling sync.Mutex
	for range max(1, min(workers, len(tasks))) {
		wg.Go(func() {
			for n := range next {
				t := tasks[n]
				v, err := w.finished(work, t, fmt.Sprint(n))
				if found[t.at][t.i], errs[n] = v, err; err != nil {
					errs[n] = fmt.Errorf("%s, case %d: %w", t.setting.Name, t.i, err)
					cancel()
				}
				telling.Lock()
				if done++; done%10 == 0 || done == len(tasks) {
					left := time.Since(began) / time.Duration(done) * time.Duration(len(tasks)-done)
					fmt.Fprintf(os.Stderr, "%d of %d cases, about %s left, at %q\n", done, len(tasks),
						left.Round(time.Second), t.setting.Name)
				}
				telling.Unlock()
			}
		})
	}
	for n := range tasks {
		next <- n
	}
	close(next)
	wg.Wait()
	return found, request.FirstCause(errs)
}

// caseNumber returns the number of the stream that a case's market is drawn from: of the
// setting and the case, so that the cases of a small run are the first of a large one. It depends
// on the strategy, the family and the edge, and not on costs: with and without them noise
// is thrown on the same markets.
func caseNumber(s *setting, i int) uint64 {
	kind := uint64(0)
	switch {
	case s.Sample:
		kind = 1
	case s.Row != "":
		kind = 100 + rowNumber(s.Row)
	case s.Strategy == numberedName:
		kind = 6
	case s.Strategy == plantedName:
		kind = 2 + uint64(s.Sharpe)
	case s.isCheat():
		for k, name := range cheatNames() {
			if name == s.Strategy {
				kind = 10 + uint64(k)
			}
		}
	}
	return (kind*1000+uint64(s.Trials))*1_000_000 + uint64(i)
}
