package stream

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// maxBroadcasts bounds the frames that the collector sends in any second.
const maxBroadcasts = 10

// quietTicks without news after the end of a run show that everything has been sent.
const quietTicks = 5

// collector looks at the run and makes frames of what is new. It is what keeps the
// rates: whatever happens between two frames of a kind is in the second one.
type collector struct {
	hub   *Hub
	kinds []*kind

	mu       sync.Mutex
	limit    window
	ticks    int
	quiet    int
	runID    string
	lastSent lastSent
	health   map[string]outcome
}

// lastSent is how much of the run has been sent.
type lastSent struct {
	changes, fills, trades, equity int
	log                            int64
	annotations                    []int // points of each series
	nextAnnotation                 int
	progress                       progress
	positions                      []byte // as they were sent; nil if a client has seen something else
	candles                        map[string]candleMark
	nextCandle                     int
	alarms                         []view.Alarm // as they were sent
	otherAlarms                    bool         // a client has seen something else
}

// candleMark is the newest candle of a symbol that was sent, and when.
type candleMark struct {
	open market.Time
	tick int
}

// observation is what the collector sees at one tick.
type observation struct {
	on     bool // there is a run to show
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
	c.lastSent = lastSent{candles: map[string]candleMark{}, positions: encodePositions(nil)}
}

// shown compares a snapshot with what has been sent. Where they differ the next
// frame comes even if all is as it was sent before: a snapshot may show what lasted
// for a moment only.
func (c *collector) shown(rep runner.Report, health view.Health) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !bytes.Equal(encodePositions(rep.Results.Positions), c.lastSent.positions) {
		c.lastSent.positions = nil
	}
	if !slices.Equal(view.AlarmsOf(rep.Snapshot.Progress.Alarms), c.lastSent.alarms) {
		c.lastSent.otherAlarms = true
	}
	for name, check := range checksOf(health.Checks) {
		if !check.same(c.health[name]) {
			delete(c.health, name)
		}
	}
}

// markAllSent takes what has happened up to now as sent. It needs c.mu.
func (c *collector) markAllSent() {
	for _, k := range c.kinds {
		k.sent = c.ticks
	}
	c.health = checksOf(c.hub.opts.Health().Checks)
	c.hub.markPhaseSent()
	w, ok := c.hub.opts.Runner.Watch()
	if !ok {
		c.forget("")
		return
	}
	c.forget(w.RunID)
	look := w.Look()
	t := &c.lastSent
	t.changes, t.fills, t.trades, t.equity = len(look.Changes), len(look.Fills), len(look.Trades),
		len(look.Equity.Time)
	t.log, t.positions = look.LogTotal, encodePositions(look.Positions)
	t.alarms = view.AlarmsOf(c.hub.opts.Runner.Status().Progress.Alarms)
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
		c.hub.announcePhase(s.status)
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

// see looks at the run, unless everything about it has been sent.
func (c *collector) see() observation {
	h := c.hub
	var s observation
	h.mu.Lock()
	known := h.now
	h.mu.Unlock()
	w, ok := h.opts.Runner.Watch()
	if !ok || w.RunID != known.RunID {
		return s // the change of status goes first
	}
	if w.RunID != c.runID {
		c.forget(w.RunID)
	}
	s.status = h.opts.Runner.Status()
	if s.status.RunID != w.RunID || s.status.Status != runner.StatusRunning && c.quiet >= quietTicks {
		return s
	}
	s.on, s.watch, s.look = true, w, w.Look()
	return s
}

// still reports, under the hub's lock, whether a frame about a run is about the current one.
func (c *collector) still(k *kind) func() bool {
	if !k.run {
		return nil
	}
	id := c.runID
	return func() bool { return c.hub.now.RunID == id }
}

func (c *collector) due(s *observation) []*kind {
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

// The sizes of broadcasts.
const (
	maxItems     = 50
	maxLines     = 20
	maxNewPoints = 200
)

// kind is one type of coalesced frame.
type kind struct {
	name string
	// backtest and trading are the ticks from one frame to the next, by mode; 0 means never.
	backtest, trading int
	// run marks a kind that is about a run, many that several may follow at once.
	run, many bool
	heartbeat bool
	// build makes the payload of all that is new; nil if nothing is.
	build func(*collector, *observation) any

	sent, due int // ticks of the newest frame and of the next
}

// kinds returns the table of coalesced frames. A tick is a quarter of a second.
func kinds() []*kind {
	return []*kind{
		{name: "progress", backtest: 1, trading: 1, run: true, build: (*collector).progress},
		{name: "equity", backtest: 2, trading: 2, run: true, build: (*collector).equity},
		{name: "trade", backtest: 4, trading: 1, run: true, build: (*collector).trades},
		{name: "fill", backtest: 4, trading: 1, run: true, build: (*collector).fills},
		{name: "order", backtest: 4, trading: 1, run: true, build: (*collector).orders},
		{name: "position", backtest: 4, trading: 1, run: true, build: (*collector).positions},
		{name: "candle", trading: 1, run: true, many: true, build: (*collector).candle},
		{name: "alarms", trading: 1, run: true, build: (*collector).alarms},
		{name: "annotation", backtest: 4, trading: 4, run: true, build: (*collector).annotation},
		{name: "log", backtest: 2, trading: 1, run: true, build: (*collector).log},
		{name: "health", backtest: 4, trading: 4, build: (*collector).checks},
		{name: "heartbeat", heartbeat: true, build: func(*collector, *observation) any { return empty{} }},
	}
}

type progress struct {
	Progress         *view.Number `json:"progress"`
	CandlesDone      int64        `json:"candles_done"`
	CandlesTotal     *int64       `json:"candles_total"`
	CandlesPerSecond view.Number  `json:"candles_per_second"`
	ETASeconds       *view.Number `json:"eta_seconds"`
	account
}

// account is what counts as news of the progress.
type account struct {
	SimulatedTime market.Time `json:"simulated_time"`
	Cash          view.Number `json:"cash"`
	Value         view.Number `json:"value"`
	PnL           view.Number `json:"pnl"`
	TradeCount    int64       `json:"trade_count"`
}

func (c *collector) progress(s *observation) any {
	v := view.StatusOf(s.status)
	p := progress{
		v.Progress, v.CandlesDone, v.CandlesTotal, v.CandlesPerSecond, v.ETASeconds,
		account{v.SimulatedTime, v.Cash, v.Value, v.PnL, v.TradeCount},
	}
	// The rate and the rest of the time change all the time; alone they are no news.
	old := c.lastSent.progress
	c.lastSent.progress = p
	if p.account == old.account && p.CandlesDone == old.CandlesDone {
		return nil
	}
	return p
}

type newPoints struct {
	Points points `json:"points"`
}

func (c *collector) equity(s *observation) any {
	from, n := min(c.lastSent.equity, len(s.look.Equity.Time)), len(s.look.Equity.Time)
	if from == n {
		return nil
	}
	c.lastSent.equity = n
	return newPoints{equityPoints(s.look.Equity.Slice(from, n), maxNewPoints)}
}

type items struct {
	Items   any `json:"items"`
	Omitted int `json:"omitted"`
}

// newest shows what has been added since a mark, the newest first, and moves the mark.
func newest[T, V any](all []T, mark *int, as func(*T) V) any {
	from := min(*mark, len(all))
	fresh := len(all) - from
	if fresh == 0 {
		return nil
	}
	*mark = len(all)
	return items{view.List(at(all, page(len(all), request{limit: min(fresh, maxItems)})), as),
		max(0, fresh-maxItems)}
}

func (c *collector) fills(s *observation) any {
	return newest(s.look.Fills, &c.lastSent.fills, view.FillOf)
}
func (c *collector) trades(s *observation) any {
	return newest(s.look.Trades, &c.lastSent.trades, view.TradeOf)
}

// orders shows each order that has changed once, as it is now.
func (c *collector) orders(s *observation) any {
	changes := s.look.Changes
	fresh := changes[min(c.lastSent.changes, len(changes)):]
	if len(fresh) == 0 {
		return nil
	}
	c.lastSent.changes = len(changes)
	seen := make([]bool, s.look.Orders)
	var shown []int
	distinct := 0
	for i := len(fresh) - 1; i >= 0; i-- {
		order := int(fresh[i])
		if seen[order] {
			continue
		}
		seen[order] = true
		if distinct++; distinct <= maxItems {
			shown = append(shown, order)
		}
	}
	return items{view.List(s.watch.OrdersAt(shown), view.OrderOf), distinct - len(shown)}
}

type openAlarms struct {
	Alarms []view.Alarm `json:"alarms"`
}

// alarms shows all that are open, when one has changed.
func (c *collector) alarms(s *observation) any {
	now := view.AlarmsOf(s.status.Progress.Alarms)
	if slices.Equal(now, c.lastSent.alarms) && !c.lastSent.otherAlarms {
		return nil
	}
	c.lastSent.alarms, c.lastSent.otherAlarms = now, false
	return openAlarms{now}
}

// positions shows all of them, when one has changed.
func (c *collector) positions(s *observation) any {
	b := encodePositions(s.look.Positions)
	if bytes.Equal(b, c.lastSent.positions) {
		return nil
	}
	c.lastSent.positions = b
	return json.RawMessage(b)
}

func encodePositions(all []market.Position) []byte {
	b, err := edge.Encode(items{view.List(all[:min(len(all), maxItems)], view.PositionOf),
		max(0, len(all)-maxItems)})
	if err != nil {
		return nil // a position is plain data
	}
	return b
}

type candle struct {
	Symbol    string `json:"symbol"`
	Timeframe string `json:"timeframe"`
	Candle    point  `json:"candle"`
	Closed    bool   `json:"closed"`
}

// point is one [ms, o, h, l, c, v].
type point struct{ points }

// MarshalJSON implements json.Marshaler.
func (p point) MarshalJSON() ([]byte, error) {
	b, err := p.points.MarshalJSON()
	return b[1 : len(b)-1], err
}

// candle shows the newest candle of a symbol that has a new one; each symbol twice a
// second at most.
func (c *collector) candle(s *observation) any {
	symbols := s.watch.Request.Symbols
	for range symbols {
		symbol := symbols[c.lastSent.nextCandle%len(symbols)]
		c.lastSent.nextCandle++
		mark := c.lastSent.candles[symbol]
		if mark.open != 0 && c.ticks-mark.tick < 2 {
			continue
		}
		var p points
		s.watch.Candles(market.Symbol(symbol), func(all *market.Series) {
			if n := all.Len(); n > 0 && all.Time[n-1] != mark.open {
				p, mark = aggregate(all, n-1, n, 1), candleMark{all.Time[n-1], c.ticks}
			}
		})
		if p.n == 1 {
			c.lastSent.candles[symbol] = mark
			return candle{symbol, s.watch.Request.Timeframe, point{p}, true}
		}
	}
	return nil
}

type annotation struct {
	Name   string `json:"name"`
	Symbol string `json:"symbol"` // empty for a series of the whole run
	Points points `json:"points"`
}

// annotation shows the new points of one series; the series take turns.
func (c *collector) annotation(s *observation) any {
	all, t := s.look.Annotations, &c.lastSent
	for len(t.annotations) < len(all) {
		t.annotations = append(t.annotations, 0)
	}
	for range all {
		i := t.nextAnnotation % len(all)
		t.nextAnnotation++
		a := all[i]
		from := min(t.annotations[i], len(a.Time))
		if from == len(a.Time) {
			continue
		}
		t.annotations[i] = len(a.Time)
		low, high := extremes(a.Values[from:])
		points := line(a.Time[from:], a.Values[from:], maxNewPoints, high, low)
		return annotation{a.Name, string(a.Symbol), points}
	}
	return nil
}

type logLines struct {
	Lines      []artifact.LogLine `json:"lines"`
	Suppressed int64              `json:"suppressed"`
}

// log shows the newest lines in the order in which they were written.
func (c *collector) log(s *observation) any {
	fresh := s.look.LogTotal - c.lastSent.log
	if fresh <= 0 {
		return nil
	}
	c.lastSent.log = s.look.LogTotal
	lines := s.look.Log
	lines = lines[max(0, len(lines)-int(min(fresh, maxLines))):]
	return logLines{lines, fresh - int64(len(lines))}
}

type health struct {
	Status string         `json:"status"`
	Checks map[string]any `json:"checks"`
}

// outcome is a check as it is compared, and as it is shown.
type outcome struct {
	view.Check
	full any
}

func (o outcome) same(as outcome) bool { return o.Status == as.Status && o.Message == as.Message }

// checks shows the checks whose outcome has changed.
func (c *collector) checks(*observation) any {
	now, old := c.hub.opts.Health(), c.health
	c.health = checksOf(now.Checks)
	changed := map[string]any{}
	for name, check := range c.health {
		if !check.same(old[name]) {
			changed[name] = check.full
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return health{now.Status, changed}
}

func checksOf(c view.Checks) map[string]outcome {
	return map[string]outcome{
		"runner": {c.Runner, c.Runner}, "exchange_connectivity": {c.Exchange.Check, c.Exchange},
		"plugins": {c.Plugins.Check, c.Plugins}, "registry": {c.Registry.Check, c.Registry},
		"disk": {c.Disk.Check, c.Disk}, "clock": {c.Clock.Check, c.Clock},
		"governance": {c.Governance, c.Governance}, "alarms": {c.Alarms, c.Alarms},
	}
}
