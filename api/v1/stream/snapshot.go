package stream

import (
	"context"
	"slices"
	"time"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/runner"
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
			BroadcastPerSecond: maxBroadcasts, SeriesPoints: maxSeriesPoints, Rows: maxRows, OutboxFrames: outboxFrames,
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
