package link

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// inbox is how many messages of the plugin may wait. A message is at most
// wire.MaxMessageBytes, which bounds the memory of a flooding plugin.
const inbox = 4

// Stream is the conversation with the plugin of one run.
type Stream struct {
	ctx    context.Context // ends with the run; its cause tells why
	rpc    strategypb.Strategy_RunClient
	cancel context.CancelFunc
	in     chan *strategypb.PluginMessage
	err    error // why in was closed; io.EOF after an orderly end
	done   chan struct{}
	side   func(*strategypb.PluginMessage) error // annotations and log lines

	sending sync.Mutex     // one message at a time
	posts   sync.WaitGroup // messages whose outcome nobody waits for
}

// Open starts the Run call and its reader. side gets annotations and log
// lines; it is called from the goroutine that calls Recv.
func Open(ctx context.Context, client strategypb.StrategyClient, side func(*strategypb.PluginMessage) error) (*Stream, error) {
	rpcCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	rpc, err := client.Run(rpcCtx)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &Stream{ctx: ctx, rpc: rpc, cancel: cancel, in: make(chan *strategypb.PluginMessage, inbox), done: make(chan struct{}), side: side}
	go s.read(rpcCtx)
	return s, nil
}

func (s *Stream) read(ctx context.Context) {
	defer close(s.done)
	defer close(s.in)
	for {
		m, err := s.rpc.Recv()
		if err != nil {
			s.err = err
			return
		}
		select {
		case s.in <- m:
		case <-ctx.Done():
			s.err = ctx.Err()
			return
		}
	}
}

// Messages are what the plugin still says, annotations and log lines included, until
// the channel is closed. It is for somebody who waits for the end and no longer
// calls Recv.
func (s *Stream) Messages() <-chan *strategypb.PluginMessage { return s.in }

// Post sends without waiting for it: a plugin that takes nothing any more holds a
// message up. What became of it shows in what the plugin says.
func (s *Stream) Post(m *strategypb.HostMessage) {
	s.posts.Go(func() {
		s.sending.Lock()
		defer s.sending.Unlock()
		_ = s.rpc.Send(m)
	})
}

// Close ends the call and waits for the reader and for what was posted.
func (s *Stream) Close() {
	s.cancel()
	<-s.done
	s.posts.Wait()
}

// Recv returns the next message that is an answer. It fails when the deadline
// passes, when the run is stopped (with the cause of its context) or when the
// stream ends.
func (s *Stream) Recv(deadline <-chan time.Time, what string) (*strategypb.PluginMessage, error) {
	for {
		select {
		case m, ok := <-s.in:
			if !ok {
				return nil, s.err
			}
			if m.GetAnnotations() == nil && m.GetLogLines() == nil {
				return m, nil
			}
			if err := s.side(m); err != nil {
				return nil, err
			}
		case <-deadline:
			return nil, &DeadlineError{what}
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		}
	}
}

// Send gives the plugin a message. A failed send means that the stream is broken;
// the reader knows why.
func (s *Stream) Send(m *strategypb.HostMessage) error {
	s.sending.Lock()
	err := s.rpc.Send(m)
	s.sending.Unlock()
	if !errors.Is(err, io.EOF) {
		return err
	}
	<-s.done
	return s.err
}

// Answer turns a Failed message into the error that ends the run.
func Answer(m *strategypb.PluginMessage) error {
	failed := m.GetFailed()
	if failed == nil {
		return nil
	}
	f, err := wire.FailureFromProto(failed)
	if err != nil {
		return err
	}
	data := map[string]any{"step": f.Step}
	if f.Stack != "" {
		data["stack"] = f.Stack
	}
	if f.Type != "" {
		data["type"] = f.Type
	}
	if f.Code == "PLUGIN_PROTOCOL_ERROR" {
		return Failf(f.Code, data, "%s", f.Message)
	}
	return Failf("STRATEGY_ERROR", data, "%s", f.Message)
}
