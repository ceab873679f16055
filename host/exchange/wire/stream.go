package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/connectorpb"
)

// StreamCandles implements exchange.Connector.
func (c *Client) StreamCandles(ctx context.Context, on func(exchange.CandleEvent)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.rpc.StreamCandles(ctx, &connectorpb.StreamCandlesRequest{})
	if err != nil {
		return c.over(ctx, err)
	}
	for {
		p, err := stream.Recv()
		if err != nil || ctx.Err() != nil {
			return c.over(ctx, err)
		}
		if p.GetEnded() != nil {
			return exchange.ErrEnded
		}
		if p.GetFailed() != nil {
			return c.failed(p.GetFailed())
		}
		r := c.reader("")
		e := readCandleEvent(r, p)
		if err := c.judged(r.err()); err != nil {
			return err
		}
		e.Reason = c.redact.Text(e.Reason)
		on(e)
	}
}

// over returns how a stream ends that did not say why.
func (c *Client) over(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, io.EOF):
		return unknown(noReason)
	}
	return c.transport(err)
}

// noReason is why a stream ended that gave no reason.
const noReason = "the stream ended without a reason"

// failed returns a stream that gave up.
func (c *Client) failed(p *connectorpb.Result) error {
	r := c.reader("")
	if err := c.verdict(r, p); err != nil {
		return err
	}
	r.wrong("failed", "a stream that failed cannot be ACCEPTED")
	return c.judged(r.err())
}

// StreamAccount implements exchange.Connector. A connector that sends nothing at first has
// not connected.
func (c *Client) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	host := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(openLimit, cancel)
	defer silence.Stop()
	stream, err := c.rpc.StreamAccount(ctx, &connectorpb.StreamAccountRequest{})
	if err != nil {
		return c.over(ctx, err)
	}
	for first := true; ; first = false {
		p, err := stream.Recv()
		if first && !silence.Stop() && host.Err() == nil {
			return unknown(fmt.Sprintf("the account stream said nothing for %s", openLimit))
		}
		if err != nil || ctx.Err() != nil {
			return c.over(ctx, err)
		}
		if p.GetFailed() != nil {
			return c.failed(p.GetFailed())
		}
		r := c.reader("")
		e := readAccountEvent(r, p)
		if first && e.State != exchange.Connected {
			r.wrong("event", "the account stream must begin with the state connected")
		}
		if err := c.judged(r.err()); err != nil {
			return err
		}
		e.Reason = c.redact.Text(e.Reason)
		if e.Order != nil {
			e.Order.Reason = c.redact.Text(e.Order.Reason)
		}
		on(e)
	}
}

// leaseStream is the stream of beats. It lives as long as the session: the contexts of
// single beats do not end it.
type leaseStream struct {
	send   sync.Mutex
	stream grpc.BidiStreamingClient[connectorpb.Beat, connectorpb.Ack]
	done   chan struct{} // closed when no ack can come any more

	mu    sync.Mutex
	acked map[int64]chan exchange.Ack // beats that are waited for
	err   error
}

// Beat implements exchange.Connector. The first one opens the lease's stream.
func (c *Client) Beat(ctx context.Context, seq int64) (exchange.Ack, error) {
	ctx, cancel := context.WithTimeout(ctx, shortLimit)
	defer cancel()
	lease, err := c.openLease()
	if err != nil {
		return exchange.Ack{}, c.transport(err)
	}
	ack := lease.expect(seq)
	defer lease.forget(seq)
	if err := lease.beat(seq); err != nil {
		<-lease.done // the reason comes from there
	}
	select {
	case a := <-ack:
		return a, nil
	case <-lease.done:
		lease.mu.Lock()
		defer lease.mu.Unlock()
		return exchange.Ack{}, c.transport(lease.err)
	case <-ctx.Done():
		return exchange.Ack{}, unknown("the connector did not answer a beat in time")
	}
}

func (c *Client) openLease() (*leaseStream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease != nil {
		return c.lease, nil
	}
	stream, err := c.rpc.Lease(c.life)
	if err != nil {
		return nil, err
	}
	c.lease = &leaseStream{stream: stream, done: make(chan struct{}), acked: map[int64]chan exchange.Ack{}}
	go c.lease.receive(c)
	return c.lease, nil
}

func (l *leaseStream) receive(c *Client) {
	defer close(l.done)
	for {
		p, err := l.stream.Recv()
		var ack exchange.Ack
		if err == nil {
			r := &reader{}
			r.within("ack", func() { ack = noun[exchange.Ack](r, p) })
			err = c.judged(r.err())
		}
		l.mu.Lock()
		if err != nil {
			l.err = err
			l.mu.Unlock()
			return
		}
		if wait := l.acked[p.GetSeq()]; wait != nil {
			wait <- ack
			delete(l.acked, p.GetSeq())
		}
		l.mu.Unlock()
	}
}

func (l *leaseStream) expect(seq int64) <-chan exchange.Ack {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait := make(chan exchange.Ack, 1)
	l.acked[seq] = wait
	return wait
}

func (l *leaseStream) forget(seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.acked, seq)
}

func (l *leaseStream) beat(seq int64) error {
	l.send.Lock()
	defer l.send.Unlock()
	return l.stream.Send(&connectorpb.Beat{Seq: seq})
}
