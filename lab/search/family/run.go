// Package family registers a search as a plan, executes it and reports what came out.
//
// [MakePlan] turns lab.json's family block, the options of the command and a request of kind
// trial into a [PlanFile], family-plan/v1, which depends on neither time nor place. [Propose]
// registers it before anything is executed; [ReadPlan] accepts only the registered bytes.
// [Open] checks that plugin, engine and candles are still those of the plan. Run plays the
// trials side by side, in rungs for successive halving: each is a compact run in the artifact
// store and the registry, on its walk-forward windows alone. A trial whose row and files
// verify is finished, whoever executed it: a family resumes where it was interrupted, and two
// processes can share one.
//
// The result files come from stored artifacts alone, ordered by index: neither the number of
// workers nor an interruption changes a byte. progress.jsonl has clocks and is in no hash.
// [PageOf] shows a family as one HTML file that opens offline.
package family

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/request"
)

// Options of an execution.
type Options struct {
	// Workers is how many trials are played side by side; the number of CPUs if 0.
	Workers int
	// Progress is called after each trial, one call at a time.
	Progress func(State)
	// Waiting is called when another process is at a trial.
	Waiting func(owner string)
	// Author is who runs the search, for what is noted about people.
	Author string
	// Elsewhere plays the trials on other machines, as many at a time as Out says; nil plays them here.
	// What is confirmed, and the selected run, are played here in any case.
	Elsewhere request.Player
	Out       func() int
	// Apart gives each play a process of its own, and plays trials again that were played in sessions.
	Apart bool
	// Folders says which trials keep a folder; the number of trials decides if it is empty.
	Folders Folders
}

// State is how far a family is. Total counts the plays of all rungs, Known those that
// were answered before.
type State struct {
	Done, Total, Known      int
	Running, Failed, Pruned int
	// Best is the best objective so far, nil before the first.
	Best *float64
}

// Searched is a family that has come to its end.
type Searched struct {
	// Trials are those that count, by index: all of the plan, or those up to the one that
	// the stop rule has ended the family with.
	Trials []*Trial
	// Aborted is why the stop rule has ended the family, empty if it has not.
	Aborted string
	// Blind counts the trials that a rung has sent on without an objective, by their index
	// alone: its windows were too few to measure them.
	Blind int
	// Executed counts the plays that were not answered before.
	Executed int
	Elapsed  time.Duration

	options Options
}

// Run plays every trial that is not finished. The error is that of ctx, or of something
// that is no failure of a plugin.
func (s *Search) Run(ctx context.Context, o Options) (_ *Searched, err error) {
	rungs, err := s.Plan.Rungs(s.Windows)
	if err != nil {
		return nil, err
	}
	days, err := s.base.Days(registry.Windows{ID: s.ID, Command: registry.LookFamily, Author: o.Author})
	if err == nil {
		err = s.whole.Look(ctx, days)
	}
	if err != nil {
		return nil, err
	}
	began := time.Now()
	out := &Searched{Trials: make([]*Trial, len(s.Plan.Trials)), options: o}
	log, err := openJournal(s.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.close()) }()
	g := &generation{search: s, options: o, journal: log, tally: tally{rule: s.Plan.StopRule}}
	defer func() { err = errors.Join(err, g.sessions.Close()) }()
	for _, r := range rungs {
		g.state.Total += r.Trials
	}
	alive := make([]int, len(s.Plan.Trials))
	for i := range alive {
		alive[i] = i
	}
	for j, r := range rungs {
		g.state.Best = nil // objectives over other windows are others
		played, err := g.play(ctx, alive, r.Budget)
		if err != nil {
			return nil, err
		}
		for _, t := range played {
			out.Trials[t.Index] = t
		}
		if g.aborted != "" || j+1 == len(rungs) {
			break
		}
		alive = s.promoteTrials(played, rungs[j+1].Trials)
		out.Blind += blind(played, alive)
		g.prune(played, alive)
		// Fewer may go on than were planned.
		g.state.Total -= rungs[j+1].Trials - len(alive)
	}
	out.Aborted, out.Executed, out.Elapsed = g.aborted, g.executed, time.Since(began)
	out.Trials = slices.DeleteFunc(out.Trials, func(t *Trial) bool { return t == nil }) // not played
	return out, nil
}

// blind counts those that go on although they have no objective.
func blind(played []*Trial, alive []int) int {
	n := 0
	for _, t := range played {
		if t.Objective == nil && slices.Contains(alive, t.Index) {
			n++
		}
	}
	return n
}

type generation struct {
	search   *Search
	options  Options
	journal  *journal
	tally    tally
	aborted  string
	executed int
	sessions run.Sessions

	mu    sync.Mutex
	state State
}

type round struct {
	*generation
	list    []int
	windows int
	trials  []*Trial // in the order of the list, nil before they are played
	errs    []error  // of the same places
	settled int      // places, in order
	flying  int      // places: begun and not ended
	late    []int    // places: another process is at them
	scouted int      // places, in order: those before it are not played ahead any more
	ahead   map[int]*request.Ahead

	moved  chan struct{} // one of the above has changed
	stop   chan struct{} // nothing more is to be begun
	once   sync.Once
	cancel context.CancelFunc
}

// play plays trials over the first windows. What it returns is in the order of the list,
// cut where the stop rule has ended the family. Nothing is claimed that the rule could keep
// from counting, so that what is left in the registry is the same however many are played
// at once; other machines play ahead of that. Trials that another process is at come last: by
// then it has answered them, or its lease has run out.
func (g *generation) play(ctx context.Context, list []int, windows int) ([]*Trial, error) {
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &round{
		generation: g, list: list, windows: windows, cancel: cancel,
		trials: make([]*Trial, len(list)), errs: make([]error, len(list)),
		ahead: map[int]*request.Ahead{}, moved: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	defer func() {
		cancel()
		for _, a := range r.ahead {
			a.Drop()
		}
	}()
	for begun := 0; ; {
		r.pass(work, r.fresh(work, &begun), false)
		late := slices.Sorted(slices.Values(r.late))
		if r.late = nil; len(late) == 0 {
			break
		}
		r.pass(work, slices.Values(late), true)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := request.FirstCause(r.errs); err != nil && g.aborted == "" {
		return nil, err
	}
	return r.trials[:r.settled], nil
}

// fresh gives the slots from begun on, each as soon as it may be begun. It ends early when
// all that it waits for is late.
func (r *round) fresh(work context.Context, begun *int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for *begun < len(r.list) && r.await(work, *begun) {
			*begun++
			if !yield(*begun - 1) {
				return
			}
		}
	}
}

// await waits until a slot counts whatever becomes of those before it; false if nothing
// that is on its way can bring that about.
func (r *round) await(work context.Context, i int) bool {
	for {
		r.mu.Lock()
		counts, idle := i < r.settled+r.tally.failuresLeft(len(r.list)), r.flying == 0
		r.mu.Unlock()
		if counts || idle {
			return counts
		}
		r.scout(work, i)
		select {
		case <-r.moved:
		case <-r.stop:
			return false
		case <-work.Done():
			return false
		}
	}
}

// scout lets other machines play ahead from a slot on, as many as may be out. What cannot be played ahead is
// played, or fails, when it is begun.
func (r *round) scout(work context.Context, from int) {
	if r.options.Elsewhere == nil {
		return
	}
	r.mu.Lock()
	to := min(len(r.list), from+r.options.atOnce()-r.flying)
	r.mu.Unlock()
	for r.scouted = max(r.scouted, from); r.scouted < to; r.scouted++ {
		if a := r.search.playAhead(work, r.list[r.scouted], r.windows, r.options); a != nil {
			r.mu.Lock()
			r.ahead[r.scouted] = a
			r.mu.Unlock()
		}
	}
}

// takeAhead returns who plays the trial of a slot elsewhere, and what ends that.
func (r *round) takeAhead(i int) (request.Player, func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.ahead[i]; a != nil {
		delete(r.ahead, i)
		return a, a.Drop
	}
	return r.options.Elsewhere, func() {}
}

// pass plays the trials of some slots side by side. Unless it is patient it passes over
// those that another process is at.
func (r *round) pass(work context.Context, which iter.Seq[int], patient bool) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(r.options.atOnce(), len(r.list)) {
		wg.Go(func() {
			for i := range next {
				r.one(work, i, patient)
			}
		})
	}
	defer wg.Wait()
	defer close(next)
	for i := range which {
		r.mu.Lock()
		r.flying++
		r.mu.Unlock()
		select {
		case next <- i:
		case <-r.stop:
			return
		case <-work.Done():
			return
		}
	}
}

func (r *round) one(work context.Context, i int, patient bool) {
	r.mu.Lock()
	r.state.Running++
	r.mu.Unlock()
	var session *run.Session // of its own where each play is apart
	if !r.options.Apart {
		session = r.sessions.Take()
	}
	elsewhere, drop := r.takeAhead(i)
	t, fresh, err := r.search.playTrial(work, play{index: r.list[i], windows: r.windows, patient: patient,
		session: session, elsewhere: elsewhere, waiting: r.options.Waiting,
		noFolder: r.search.skipsFolders(r.options)})
	drop()
	r.sessions.Put(session)
	r.mu.Lock()
	defer func() {
		r.flying--
		r.mu.Unlock()
		select {
		case r.moved <- struct{}{}:
		default: // a signal is waiting already
		}
	}()
	r.state.Running--
	if errors.Is(err, errBusy) {
		r.late = append(r.late, i)
		return
	}
	r.trials[i], r.errs[i] = t, err // one of them
	if err == nil {
		r.count(t, fresh)
	}
	for ; r.settled < len(r.trials) && r.trials[r.settled] != nil && r.aborted == ""; r.settled++ {
		r.aborted = r.tally.add(r.trials[r.settled].Status == Failed)
	}
	if err != nil || r.aborted != "" {
		r.once.Do(func() { close(r.stop) })
	}
	if err != nil {
		r.cancel()
	}
}

func workers(o Options) int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.NumCPU()
}

// atOnce is how many trials are under way at a time.
func (o Options) atOnce() int {
	if o.Elsewhere != nil && o.Out != nil {
		return o.Out()
	}
	return workers(o)
}

// count takes a trial into the state and reports it.
func (g *generation) count(t *Trial, fresh bool) {
	g.state.Done++
	if fresh {
		g.executed++
	} else {
		g.state.Known++
	}
	if t.Status == Failed {
		g.state.Failed++
	}
	if g.search.isBetter(t.Objective, g.state.Best) {
		g.state.Best = t.Objective
	}
	if err := g.journal.note(g.state, fresh); err != nil {
		g.search.host.Logger.Warn("progress.jsonl cannot be written", "error", err)
	}
	if g.options.Progress != nil {
		g.options.Progress(g.state)
	}
}

func (g *generation) prune(played []*Trial, alive []int) {
	for _, t := range played {
		if _, on := slices.BinarySearch(alive, t.Index); !on && t.Status == Completed {
			t.Status = Pruned
			g.state.Pruned++
		}
	}
}

// tally counts failures in the order of the trials' indices: so a family ends at the same trial
// however many of them are played at once.
type tally struct {
	rule                StopRule
	seen, failed, inRow int
}

// add notes a trial and returns why the family ends with it, empty if it goes on: so many failures
// in a row, or more than the share of the trials once there are as many.
func (t *tally) add(failed bool) (why string) {
	t.seen++
	t.inRow++
	if !failed {
		t.inRow = 0
		return ""
	}
	t.failed++
	switch {
	case t.inRow >= t.rule.MaxFailures:
		return "failures_in_a_row"
	case t.seen >= t.rule.MaxFailures && float64(t.failed) > float64(t.rule.MaxFailureShare*float64(t.seen)):
		return "failure_share"
	}
	return ""
}

// room is how many trials, at least 1 and at most limit, the rule counts for sure: as many
// as it would let fail one after the other, the one included that it ends the family with.
func (t tally) failuresLeft(limit int) int {
	n := 1
	for ; n < limit && t.add(true) == ""; n++ {
	}
	return n
}
