package stream

import (
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// message is a frame in an outbox: shared by all, or for one client alone.
type message struct {
	shared *websocket.PreparedMessage
	own    []byte
	// status is the change of status that a frame announces, with its seq; else 0.
	status, seq uint64
}

// statusPayload is all that a plain client gets.
type statusPayload struct {
	Status string `json:"status"`
	RunID  string `json:"run_id"`
}

type statusUpdate struct {
	statusPayload
	Mode           string               `json:"mode"`
	Phase          string               `json:"phase"`
	PreviousStatus string               `json:"previous_status"`
	StopReason     *string              `json:"stop_reason"`
	Error          *string              `json:"error"`
	ErrorDetails   *view.FailureDetails `json:"error_details"`
}

type serverShutdown struct {
	ReconnectAfterMS int64 `json:"reconnect_after_ms"`
}

type empty struct{}

// body is a frame without its end: what follows is the seq or nothing.
func body(kind string, payload any, at time.Time) ([]byte, error) {
	p, err := edge.Encode(payload)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(p)+len(kind)+96)
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","payload":`...)
	b = append(b, p...)
	b = append(b, `,"timestamp":"`...)
	b = at.UTC().AppendFormat(b, market.TimeLayout)
	return append(b, '"'), nil
}

// numbered ends a frame of a rich client.
func numbered(b []byte, seq uint64) []byte {
	b = append(b, `,"seq":`...)
	return append(strconv.AppendUint(b, seq, 10), '}')
}

// share makes a frame that is written to many. It fails for no text.
func share(b []byte) message {
	m, err := websocket.NewPreparedMessage(websocket.TextMessage, b)
	if err != nil {
		return message{own: b}
	}
	return message{shared: m}
}

func (h *Hub) encode(kind string, payload any) ([]byte, bool) {
	b, err := body(kind, payload, time.Now())
	if err != nil {
		h.opts.Logger.Error("a frame of the stream cannot be encoded", "type", kind, "error", err)
	}
	return b, err == nil
}

// broadcast numbers a frame and hands it to every rich client that has begun with a
// snapshot. It is dropped if still says under the lock that it is out of date.
func (h *Hub) broadcast(kind string, payload any, still func() bool) {
	b, ok := h.encode(kind, payload)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if still != nil && !still() {
		return
	}
	h.spread(b, 0)
}

// spread is broadcast under the lock.
func (h *Hub) spread(b []byte, status uint64) {
	h.seq++
	m := share(numbered(b, h.seq))
	m.status, m.seq = status, h.seq
	for c := range h.clients {
		if c.attached {
			h.enqueue(c, m)
		}
	}
}

// changed tells everybody about a change of status that is not known yet.
func (h *Hub) changed(c runner.Change) {
	v := view.StatusOf(c.Snapshot)
	plain := statusPayload{v.Status, v.RunID}
	rich, ok := h.encode("status_update", statusUpdate{
		statusPayload: plain, Mode: v.Mode, Phase: v.Phase, PreviousStatus: c.Previous,
		StopReason: v.StopReason, Error: v.Error, ErrorDetails: v.ErrorDetails,
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.Snapshot.Seq <= h.now.Seq {
		return
	}
	h.now = c.Snapshot
	close(h.advanced)
	h.advanced = make(chan struct{})
	h.tellPlain()
	if ok {
		h.spread(rich, c.Snapshot.Seq)
	}
}

// entered tells rich clients that a paper or live run is in another phase than they have
// been told: it may last for days, and what passes depends on it. A
// change of status that they do not know yet has the phase with it, and goes first.
func (h *Hub) entered(s runner.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.Seq != h.now.Seq || s.Phase == h.now.Phase {
		return
	}
	v := view.StatusOf(s)
	b, ok := h.encode("status_update", statusUpdate{
		statusPayload: statusPayload{v.Status, v.RunID}, Mode: v.Mode, Phase: v.Phase, PreviousStatus: v.Status,
	})
	if ok {
		h.now.Phase = s.Phase
		h.spread(b, 0)
	}
}

// knowPhase takes the phase as told.
func (h *Hub) knowPhase() {
	s := h.opts.State.Status()
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.Seq == h.now.Seq {
		h.now.Phase = s.Phase
	}
}

// repeat sends the status to plain clients again.
func (h *Hub) repeat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tellPlain()
}

func (h *Hub) tellPlain() {
	m, ok := h.plainStatus()
	for c := range h.clients {
		if !c.rich && ok {
			h.enqueue(c, m)
		}
	}
}

// plainStatus is the status as a plain client sees it. It needs the lock.
func (h *Hub) plainStatus() (message, bool) {
	b, ok := h.encode("status_update", statusPayload{h.now.Status, h.now.RunID})
	if !ok {
		return message{}, false
	}
	return share(append(b, '}')), true
}

// reply sends a frame to one client. It carries the number of the newest broadcast
// and is queued behind it.
func (h *Hub) reply(c *client, kind string, payload any) {
	b, ok := h.encode(kind, payload)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.enqueue(c, message{own: numbered(b, h.seq)})
}
