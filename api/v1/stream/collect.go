package stream

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// maxBroadcasts bounds the frames that the collector sends in any second.
const maxBroadcasts = 10

// quietTicks without news after the end of a run say that everything has been told.
const quietTicks = 5

// collector looks at the run and makes frames of what is new. It is what keeps the
// rates: whatever happens between two frames of a kind is in the second one.
type collector struct {
	hub   *Hub
	kinds []*kind

	mu     sync.Mutex
	limit  window
	ticks  int
	quiet  int
	runID  string
	told   told
	health map[string]view.Check
}

// told is how much of the run has been told.
type told struct {
	changes, fills, trades, equity int
	log                            int64
	annotations                    []int // points of each series
	nextAnnotation                 int
	progress                       progress
	positions                      []byte // as they were told; nil if a client has seen something else
	candles                        map[string]candleMark
	nextCandle                     int
	alarms                         []view.Alarm // as they were told
	otherAlarms                    bool         // a client has seen something else
}

// candleMark is the newest candle of a symbol that was told, and when.
type candleMark struct {
	open market.Time
	tick int
}

// scene is what the collector sees at one tick.
type scene struct {
	on     bool // there is a run to tell about
	status runner.Snapshot
	watch  runner.Watch
	look   runner.Look
}

func newCollector(h *Hub) *collector {
	c := &collector{hub: h, kinds: kinds()}
	c.forget("")
	return c
}

func (c *collector) forget(runID string) {
	c.runID, c.quiet = runID, 0
	c.told = told{candles: map[string]candleMark{}, positions: encodePositions(nil)}
}

// shown compares a snapshot with what has been told. Where they differ the next
// frame comes even if all is as it was told before: a snapshot may show what lasted
// for a moment only.
func (c *collector) shown(rep runner.Report, health view.Health) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !bytes.Equal(encodePositions(rep.Results.Positions), c.told.positions) {
		c.told.positions = nil
	}
	if !slices.Equal(view.AlarmsOf(rep.Snapshot.Progress.Alarms), c.told.alarms) {
		c.told.otherAlarms = true
	}
	for name, check := range checksOf(health.Checks) {
		if !sameOutcome(check, c.health[name]) {
			delete(c.health, name)
		}
	}
}

// skip takes what has happened up to now as told. It needs c.mu.
func (c *collector) skip() {
	for _, k := range c.kinds {
		k.sent = c.ticks
	}
	c.health = checksOf(c.hub.opts.Health().Checks)
	c.hub.knowPhase()
	w, ok := c.hub.opts.State.Watch()
	if !ok {
		c.forget("")
		return
	}
	c.forget(w.RunID)
	look := w.Look()
	t := &c.told
	t.changes, t.fills, t.trades, t.equity = len(look.Changes), len(look.Fills), len(look.Trades), len(look.Equity.Time)
	t.log, t.positions = look.LogTotal, encodePositions(look.Positions)
	t.alarms = view.AlarmsOf(c.hub.opts.State.Status().Progress.Alarms)
	for _, a := range look.Annotations {
		t.annotations = append(t.annotations, len(a.Time))
	}
}

// tick sends what is due and new, what should have been sent first at first.
func (c *collector) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ticks++
	s := c.see()
	busy := s.status.Status == runner.StatusRunning
	if s.on && busy && s.status.Mode != runner.ModeBacktest {
		c.hub.entered(s.status)
	}
	for _, k := range c.due(&s) {
		for again := true; again; {
			now := time.Now()
			if !c.limit.open(now) {
				busy = true // it has to wait for a later tick
				break
			}
			payload := k.build(c, &s)
			if payload == nil {
				break
			}
			k.sent = c.ticks
			c.limit.take(now)
			c.hub.broadcast(k.name, payload, c.still(k))
			busy, again = busy || k.run, k.many
		}
	}
	if c.quiet++; busy {
		c.quiet = 0
	}
}

// see looks at the run, unless everything about it has been told.
func (c *collector) see() scene {
	h := c.hub
	var s scene
	h.mu.Lock()
	known := h.now
	h.mu.Unlock()
	w, ok := h.opts.State.Watch()
	if !ok || w.RunID != known.RunID {
		return s // the change of status goes first
	}
	if w.RunID != c.runID {
		c.forget(w.RunID)
	}
	s.status = h.opts.State.Status()
	if s.status.RunID != w.RunID || s.status.Status != runner.StatusRunning && c.quiet >= quietTicks {
		return s
	}
	s.on, s.watch, s.look = true, w, w.Look()
	return s
}

// still says, under the hub's lock, whether a frame about a run is about the current one.
func (c *collector) still(k *kind) func() bool {
	if !k.run {
		return nil
	}
	id := c.runID
	return func() bool { return c.hub.now.RunID == id }
}

func (c *collector) due(s *scene) []*kind {
	var due []*kind
	for _, k := range c.kinds {
		every := k.trading
		if s.status.Mode == runner.ModeBacktest {
			every = k.backtest
		}
		if k.heartbeat {
			every = int(c.hub.pace.repeat / c.hub.pace.tick)
		}
		k.due = k.sent + every
		if every > 0 && c.ticks >= k.due && (s.on || !k.run) {
			due = append(due, k)
		}
	}
	slices.SortStableFunc(due, func(a, b *kind) int { return a.due - b.due })
	return due
}

// window allows maxBroadcasts in any second.
type window struct {
	at   [maxBroadcasts]time.Time
	next int
}

func (w *window) open(now time.Time) bool { return now.Sub(w.at[w.next]) >= time.Second }

func (w *window) take(now time.Time) {
	w.at[w.next] = now
	w.next = (w.next + 1) % len(w.at)
}
