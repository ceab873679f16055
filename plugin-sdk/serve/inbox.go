package serve

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// The signals that a running simulation looks at before each step.
const (
	signalFlush uint32 = 1 << iota // send what there is
	signalStop                     // the host asked to stop
	signalGone                     // the stream is broken
)

// inboxDepth is how many messages may wait: the chunks that the host may be ahead,
// and a Stop behind them that must be seen at once. The transport's flow control
// counts what does not fit, so that memory stays bounded.
const inboxDepth = wire.ChunksAhead + 2

// inbox receives messages while the simulation runs, so that Stop is seen at once.
type inbox struct {
	ctx      context.Context
	messages chan *strategypb.HostMessage
	broken   error // why messages is closed; nil at the end of the stream
	signals  atomic.Uint32
}

// newInbox starts to receive. The goroutine ends with the stream.
func newInbox(st stream) *inbox {
	b := &inbox{ctx: st.Context(), messages: make(chan *strategypb.HostMessage, inboxDepth)}
	go b.receive(st)
	return b
}

func (b *inbox) receive(st stream) {
	defer close(b.messages)
	for {
		m, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			b.broken = err
			b.signals.Or(signalGone)
			return
		}
		if m.GetStop() != nil {
			b.signals.Or(signalStop)
		}
		select {
		case b.messages <- m:
		case <-b.ctx.Done():
			b.broken = b.ctx.Err()
			return
		}
	}
}

// next waits for a message; io.EOF says that the host has said all.
func (b *inbox) next() (*strategypb.HostMessage, error) {
	m, ok := <-b.messages
	switch {
	case ok:
		return m, nil
	case b.broken != nil:
		return nil, b.broken
	}
	return nil, io.EOF
}

// begin waits for Begin. ended says that the host gave the run up before it began.
func (b *inbox) begin() (begin *strategypb.Begin, ended bool, err error) {
	m, err := b.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, true, nil
	case err != nil:
		return nil, false, err
	case m.GetStop() != nil, m.GetFinish() != nil:
		return nil, true, nil
	case m.GetBegin() == nil:
		return nil, false, outOfOrder("Begin", m)
	}
	return m.GetBegin(), false, nil
}

// outOfOrder is the answer to a message that must not come now.
func outOfOrder(want string, got *strategypb.HostMessage) error {
	return status.Errorf(codes.FailedPrecondition, "%s is expected now, not %s", want, kind(got))
}

func kind(m *strategypb.HostMessage) string {
	switch m.GetMessage().(type) {
	case *strategypb.HostMessage_Start:
		return "Start"
	case *strategypb.HostMessage_Begin:
		return "Begin"
	case *strategypb.HostMessage_Dataset:
		return "Dataset"
	case *strategypb.HostMessage_Candles:
		return "Candles"
	case *strategypb.HostMessage_Step:
		return "Step"
	case *strategypb.HostMessage_Finish:
		return "Finish"
	case *strategypb.HostMessage_Stop:
		return "Stop"
	}
	return "an empty message"
}
