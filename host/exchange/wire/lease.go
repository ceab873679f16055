package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	// DefaultLeaseTTL is how long a connector lets orders stand without a beat.
	DefaultLeaseTTL = 10 * time.Second

	sweepLimit  = 20 * time.Second // to cancel and confirm
	finishLimit = 5 * time.Second  // to end the venue's session after that
)

// Why a lease was lost.
const (
	// ReasonNoBeat: the host is silent.
	ReasonNoBeat = "no_beat"
	// ReasonStreamBroken: the connection to the host ended.
	ReasonStreamBroken = "stream_broken"
)

// LeaseReport is lease.json: what a connector did when it lost its host.
type LeaseReport struct {
	Reason string `json:"reason"`
	// Cancelled are the run's orders that the venue confirmed as canceled, Unconfirmed those
	// that should be and may still be open, Kept those that were left open: exits, as a rule. Client order ids, ascending.
	Cancelled   []string    `json:"cancelled"`
	Unconfirmed []string    `json:"unconfirmed"`
	Kept        []string    `json:"kept"`
	At          market.Time `json:"at"`
}

func (g *guard) ttl() time.Duration { return cmp.Or(max(g.req.LeaseTTL, 0), DefaultLeaseTTL) }

// begin starts the lease of a session that has just been opened. With the lock held.
func (g *guard) begin() {
	g.beat, g.broke, g.stop, g.kept = time.Now(), make(chan string, 1), make(chan struct{}), make(chan struct{})
	go g.keep()
}

// Beat implements exchange.Safety. A lease that was lost stays lost.
func (g *guard) Beat(ctx context.Context, seq int64) (exchange.Ack, error) {
	g.mu.Lock()
	no := g.mayLocked(false)
	if no.Outcome == "" && (g.state == lost || time.Since(g.beat) > g.ttl()) {
		no = refusal(codeLeaseLost, "the lease is lost")
	}
	if no.Outcome == "" {
		g.beat = time.Now()
	}
	g.mu.Unlock()
	if no.Outcome != "" {
		return exchange.Ack{}, &exchange.Error{Result: no}
	}
	var ack exchange.Ack
	if g.inner.Safety != nil {
		if got, err := g.inner.Safety.Beat(ctx, seq); err == nil {
			ack = got
		}
	}
	ack.OpenOrders = g.orders.count()
	return ack, nil
}

// broken says that no beat can come any more.
func (g *guard) broken() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broke == nil {
		return
	}
	select {
	case g.broke <- ReasonStreamBroken:
	default:
	}
}

// live says that a session holds a lease, or cleans up after it.
func (g *guard) live() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == opened || g.state == closing || g.state == lost
}

// keep waits until the session is closed or its lease is lost.
func (g *guard) keep() {
	timer := time.NewTimer(g.ttl())
	defer timer.Stop()
	for {
		var reason string
		select {
		case <-g.stop:
			close(g.kept)
			return
		case reason = <-g.broke:
		case <-timer.C:
			g.mu.Lock()
			left := g.ttl() - time.Since(g.beat)
			g.mu.Unlock()
			if left > 0 {
				timer.Reset(left)
				continue
			}
			reason = ReasonNoBeat
		}
		g.lose(reason)
		return
	}
}

// lose is the end of a session without its host.
func (g *guard) lose(reason string) {
	g.mu.Lock()
	g.state = lost
	trading, path, cancels := g.req.Trading, g.req.LeaseFile, cmp.Or(g.req.OnLeaseLoss, exchange.CancelEntries)
	if g.all {
		cancels = exchange.CancelAll
	}
	g.mu.Unlock()
	close(g.kept)
	report := LeaseReport{Reason: reason, Cancelled: []string{}, Unconfirmed: []string{}, Kept: []string{}}
	if trading {
		ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
		g.sweeping.Lock()
		if cancels != exchange.CancelNone {
			report.Cancelled, report.Unconfirmed = g.sweep(ctx, cancels == exchange.CancelAll)
		}
		for _, o := range g.orders.left(true) {
			if !slices.Contains(report.Unconfirmed, o.ref.ClientOrderID) {
				report.Kept = append(report.Kept, o.ref.ClientOrderID)
			}
		}
		g.sweeping.Unlock()
		cancel()
	}
	report.At = market.FromTime(time.Now())
	if path != "" {
		_ = writeReport(path, report) // there is nobody to tell
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	_ = g.finish(ctx)
	if g.ended != nil {
		g.ended()
	}
}

// writeReport writes lease.json so that it is there whole or not at all.
func writeReport(path string, report LeaseReport) error {
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return file.Write(path, append(text, '\n'), 0o600)
}
