package stream

import (
	"context"
	_ "embed"
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// What a snapshot has at most. A viewer waits for it, however slow the line: requests fetch the rest.
const (
	snapshotLog    = 200
	snapshotRows   = 50
	snapshotPoints = 400
)

type hello struct {
	ServerID       string `json:"server_id"`
	ServiceVersion string `json:"service_version"`
	Limits         limits `json:"limits"`
	Risk           any    `json:"risk"`
	OnStop         string `json:"on_stop"`
}

type limits struct {
	Clients            int `json:"clients"`
	MessageBytes       int `json:"message_bytes"`
	MessagesPerSecond  int `json:"messages_per_second"`
	BroadcastPerSecond int `json:"broadcasts_per_second"`
	SeriesPoints       int `json:"series_points"`
	Rows               int `json:"rows"`
	OutboxFrames       int `json:"outbox_frames"`
}

type snapshot struct {
	view.DetailedStatus
	Log []artifact.LogLine `json:"log"`
}

func snapshotOf(rep runner.Report, health view.Health) snapshot {
	lines := rep.Results.Log
	lines = lines[max(0, len(lines)-snapshotLog):]
	return snapshot{
		DetailedStatus: view.DetailedOf(rep, health, snapshotRows, snapshotPoints),
		Log:            append([]artifact.LogLine{}, lines...),
	}
}

// catchUp waits until the hub knows every change that has happened up to now: a
// client that starts a run and then connects must see that run.
func (h *Hub) catchUp() { h.awaitChange(h.opts.Runner.Status().Seq) }

// awaitChange waits until the hub has announced a change of status.
func (h *Hub) awaitChange(want uint64) {
	for {
		h.mu.Lock()
		known, next := h.now.Seq, h.advanced
		h.mu.Unlock()
		if known >= want {
			return
		}
		select {
		case <-next:
		case <-h.stop:
			return
		case <-h.done:
			return
		}
	}
}

// welcome begins to serve a rich client. It needs the lock.
func (h *Hub) welcome(c *client) {
	b, ok := h.encode("hello", hello{
		ServerID: h.opts.ServerID, ServiceVersion: h.opts.Version, Risk: h.opts.Risk, OnStop: h.opts.OnStop,
		Limits: limits{
			Clients: h.opts.MaxClients, MessageBytes: maxMessage, MessagesPerSecond: maxMessages,
			BroadcastPerSecond: maxBroadcasts, SeriesPoints: maxSeriesPoints, Rows: maxRows,
			OutboxFrames: outboxFrames,
		},
	})
	if ok {
		h.enqueue(c, message{own: numbered(b, h.seq)})
	}
	h.requestSnapshot(c)
}

// requestSnapshot lets a client have a snapshot soon. It needs the lock.
func (h *Hub) requestSnapshot(c *client) {
	c.requested = true
	select {
	case h.requested <- struct{}{}:
	default:
	}
}

// makeSnapshots serves all clients that asked for a snapshot with one, again and again.
// It rests in between, so that asking for snapshots all the time costs the run
// little.
func (h *Hub) makeSnapshots(ctx context.Context) {
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-h.requested:
		}
		began := time.Now()
		h.makeSnapshot()
		rest.Reset(4 * time.Since(began))
	}
}

// makeSnapshot serves the clients that have asked for a snapshot. From begin on everything
// for them is held back, and the picture is taken after it, so that nothing is
// missing between the snapshot and the first frame behind it. Entries may come
// twice; they have ids.
func (h *Hub) makeSnapshot() {
	clients, seq, status := h.begin()
	if len(clients) == 0 {
		return
	}
	rep, health := h.opts.Runner.Detail(), h.opts.Health()
	h.collect.shown(rep, health)
	b, ok := h.encode("snapshot", snapshotOf(rep, health))
	if !ok {
		h.giveUp(clients)
		return
	}
	changed := uint64(0)
	if rep.Snapshot.Seq != status {
		changed = rep.Snapshot.Seq
		h.awaitChange(changed)
	}
	h.deliver(clients, b, seq, changed)
}

// begin finds the clients that asked for a snapshot and holds back what comes for them.
func (h *Hub) begin() (clients []*client, seq, status uint64) {
	h.collect.mu.Lock()
	defer h.collect.mu.Unlock()
	if h.followers() == 0 {
		// No client has been sent anything yet: what has happened is in the snapshot.
		h.collect.markAllSent()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if c.requested {
			c.holding = true
			clients = append(clients, c)
		}
	}
	for _, c := range clients {
		c.attached = true
	}
	return clients, h.seq, h.now.Seq
}

// deliver hands out the snapshot and what was held. If the status has changed while
// the picture was taken, the snapshot belongs behind the frame that said so: clients
// that have begun get the frames up to there first, new ones never.
func (h *Hub) deliver(clients []*client, b []byte, seq, changed uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var m message
	for _, c := range clients {
		before, behind := []message(nil), c.held
		for i, held := range c.held {
			if changed != 0 && held.status == changed {
				seq, before, behind = held.seq, c.held[:i+1], c.held[i+1:]
			}
		}
		if m.shared == nil {
			m = share(numbered(b, seq))
		}
		c.held, c.holding, c.requested = nil, false, false
		if c.begun {
			h.enqueueAll(c, before)
		}
		h.enqueue(c, m)
		if !c.begun {
			h.enqueueAll(c, slices.DeleteFunc(before, func(m message) bool { return m.own == nil }))
		}
		c.begun = true
		h.enqueueAll(c, behind)
	}
}

func (h *Hub) enqueueAll(c *client, frames []message) {
	for _, m := range frames {
		h.enqueue(c, m)
	}
}

// giveUp closes clients that cannot be shown anything.
func (h *Hub) giveUp(clients []*client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range clients {
		h.leave(c, closeInternal, "no snapshot can be made")
	}
}

// methodAggregate marks points that stand for several candles.
const methodAggregate = "aggregate"

// points is a list of [ms, value, …] that writes itself.
type points struct {
	n     int
	point func(i int) (market.Time, []float64)
}

// MarshalJSON implements json.Marshaler.
func (p points) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 2+48*p.n), '[')
	for i := range p.n {
		if i > 0 {
			b = append(b, ',')
		}
		at, values := p.point(i)
		b = strconv.AppendInt(append(b, '['), int64(at), 10)
		for _, v := range values {
			b = view.AppendNumber(append(b, ','), v)
		}
		b = append(b, ']')
	}
	return append(b, ']'), nil
}

// equityPoints are at most n points [ms, equity, cash, drawdown].
func equityPoints(e artifact.EquityCurve, n int) points {
	picked, _ := metric.ThinEquity(e.Time, e.Equity, n)
	values := make([]float64, 3)
	return points{len(picked), func(i int) (market.Time, []float64) {
		i = picked[i]
		values[0], values[1], values[2] = e.Equity[i], e.Cash[i], e.Drawdown[i]
		return e.Time[i], values
	}}
}

// line is at most n points [ms, value], those to keep among them.
func line(times []market.Time, values []float64, n int, keep ...int) points {
	picked := metric.Thin(times, values, n, keep...)
	return points{len(picked), func(i int) (market.Time, []float64) {
		return times[picked[i]], values[picked[i] : picked[i]+1]
	}}
}

// extremes are the indexes of the lowest and the highest value.
func extremes(values []float64) (low, high int) {
	for i, v := range values {
		if v < values[low] {
			low = i
		}
		if v > values[high] {
			high = i
		}
	}
	return low, high
}

// aggregate returns the candles [from, to) as at most n points [ms, open, high, low,
// close, volume]. A point stands for k candles: the first open, the highest high,
// the lowest low, the last close, the sum of the volumes. Points begin at multiples
// of k counted from the begin of the window, so that they stay the same while a
// viewer moves along.
func aggregate(s *market.Series, from, to, n int) points {
	k := max(1, (to-from+n-1)/n)
	for to > from && (to-1)/k-from/k+1 > n {
		k++
	}
	var out []market.Candle
	for at := from; at < to; {
		end := min(to, (at/k+1)*k)
		out = append(out, merge(s, at, end))
		at = end
	}
	values := make([]float64, 5)
	return points{len(out), func(i int) (market.Time, []float64) {
		c := &out[i]
		values[0], values[1], values[2], values[3], values[4] = c.Open, c.High, c.Low, c.Close, c.Volume
		return c.OpenTime, values
	}}
}

func merge(s *market.Series, from, to int) market.Candle {
	c := market.Candle{OpenTime: s.Time[from], Open: s.Open[from], High: math.Inf(-1), Low: math.Inf(1),
		Close: s.Close[to-1]}
	for i := from; i < to; i++ {
		c.High, c.Low = max(c.High, s.High[i]), min(c.Low, s.Low[i])
		c.Volume += s.Volume[i]
	}
	return c
}

// mark counts the fills that happened from a moment to the next mark.
type mark struct {
	at                     market.Time // open time of a candle
	buys, sells, ambiguous int
}

// countFills counts the fills of the symbol within [from, to) on at most maxPoints
// candles, each an open time of s. Where more candles than that have fills, each mark
// stands for 2, 4, 8, … candles, counted from the begin of the window; no fill is
// left out. It also reports how many fills there are.
func countFills(fills []market.Fill, s *market.Series, r request) ([]mark, int) {
	at := func(t market.Time) int {
		return sort.Search(len(fills), func(i int) bool { return fills[i].Time >= t })
	}
	first, end := 0, len(fills)
	if r.from != 0 {
		first = at(r.from)
	}
	if r.to != 0 {
		end = at(r.to)
	}
	var marks []mark
	var candles []int // of the marks
	of := 0
	for i := first; i < end; i++ {
		f := &fills[i]
		if string(f.Symbol) != r.symbol {
			continue
		}
		of++
		// The candle that is open at the time of the fill; live the time is the venue's.
		c := max(0, sort.Search(s.Len(), func(i int) bool { return s.Time[i] > f.Time })-1)
		if n := len(marks); n == 0 || candles[n-1] != c {
			marks, candles = append(marks, mark{at: s.Time[c]}), append(candles, c)
		}
		marks[len(marks)-1].count(f)
	}
	for k := 2; len(marks) > r.maxPoints; k *= 2 {
		marks, candles = join(marks, candles, k, s)
	}
	return marks, of
}

func (m *mark) count(f *market.Fill) {
	if f.Side == market.Buy {
		m.buys++
	} else {
		m.sells++
	}
	if f.Ambiguous {
		m.ambiguous++
	}
}

// join lets one mark stand for k candles.
func join(marks []mark, candles []int, k int, s *market.Series) ([]mark, []int) {
	n := 0
	for i, m := range marks {
		c := candles[i] / k * k
		if n > 0 && candles[n-1] == c {
			last := &marks[n-1]
			last.buys, last.sells, last.ambiguous = last.buys+m.buys, last.sells+m.sells,
				last.ambiguous+m.ambiguous
			continue
		}
		m.at = s.Time[c]
		marks[n], candles[n] = m, c
		n++
	}
	return marks[:n], candles[:n]
}

// marksOf are points [ms, buys, sells, ambiguous].
func marksOf(marks []mark) points {
	values := make([]float64, 3)
	return points{len(marks), func(i int) (market.Time, []float64) {
		m := &marks[i]
		values[0], values[1], values[2] = float64(m.buys), float64(m.sells), float64(m.ambiguous)
		return m.at, values
	}}
}

// The directions of an event.
const (
	FromServer = "server"
	FromClient = "client"
)

// EventDoc describes one type of message for the page /docs/events.
type EventDoc struct {
	Type      string          `json:"type"`
	Direction string          `json:"direction"` // FromServer or FromClient
	Clients   string          `json:"clients"`   // those concerned: plain or rich
	Summary   string          `json:"summary"`   // what it is for
	Rate      string          `json:"rate"`      // how often it comes
	Payload   []FieldDoc      `json:"payload,omitempty"`
	Example   json.RawMessage `json:"example"` // a payload
}

// FieldDoc describes one field of a payload.
type FieldDoc struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// events.json is the only list of messages.
//
//go:embed events.json
var events []byte

// Events returns every message of the stream, in the order in which a reader meets them.
func Events() []EventDoc {
	var list []EventDoc
	if err := json.Unmarshal(events, &list); err != nil {
		panic(err) // the text is part of the program, and tested
	}
	return list
}
