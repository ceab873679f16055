package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/internal/params"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// stream is the connection to the host during a run: of gRPC, or in frames.
type stream interface {
	Context() context.Context
	Recv() (*strategypb.HostMessage, error)
	Send(*strategypb.PluginMessage) error
}

// server implements the gRPC service. It knows the author's strategy only through
// build.
type server struct {
	strategypb.UnimplementedStrategyServer
	description wire.Description
	build       func(params []byte) (sdk.Strategy, drive.Kept, error)
	process     *process // nil without a process of its own
	sessions
}

func newServer[P any](spec sdk.Spec, construct func(P) (sdk.Strategy, error)) (*server, error) {
	known, err := params.Of[P]()
	if err != nil {
		return nil, err
	}
	if err := complete(&spec); err != nil {
		return nil, err
	}
	if err := sdk.CheckPlots(spec.Plots, known.Defaults()); err != nil {
		return nil, fmt.Errorf("the Spec has %w", err)
	}
	return &server{
		description: wire.Description{
			Spec: spec, Language: "go", SDKVersion: sdk.Version, ProtocolVersion: wire.ProtocolVersion,
			SimID: sim.ID(), ParamsSchema: known.Schema(), DefaultParams: known.Defaults(),
			Sessions: !spec.FreshProcess,
		},
		build:    func(raw []byte) (sdk.Strategy, drive.Kept, error) { return drive.Build(construct, raw) },
		sessions: sessions{many: !spec.FreshProcess},
	}, nil
}

// complete fills in the defaults of a Spec and checks it.
func complete(s *sdk.Spec) error {
	if !market.ValidInputName(s.Name) {
		return fmt.Errorf(
			"Spec.Name %q must begin with a-z and go on with a-z, 0-9, _ and -, 63 characters at most",
			s.Name)
	}
	s.DisplayName, s.Version = cmp.Or(s.DisplayName, s.Name), cmp.Or(s.Version, "0.0.0")
	modes := []sdk.Mode{sdk.ModeBacktest, sdk.ModePaper, sdk.ModeLive}
	for _, m := range s.Modes {
		if !slices.Contains(modes, m) {
			return fmt.Errorf("Spec.Modes: %q is none of backtest, paper, live", m)
		}
	}
	if len(s.Modes) == 0 {
		s.Modes = modes
	}
	for _, list := range []struct {
		name string
		tfs  []market.Timeframe
	}{{"Spec.Timeframes", s.Timeframes}, {"Spec.Extra", s.Extra}} {
		for _, tf := range list.tfs {
			if _, err := market.ParseTimeframe(tf.String()); err != nil {
				return fmt.Errorf("%s: %w", list.name, err)
			}
		}
	}
	if len(s.Extra) > wire.MaxExtra {
		return fmt.Errorf("Spec.Extra has %d timeframes, at most %d", len(s.Extra), wire.MaxExtra)
	}
	if err := sdk.CheckInputs(s.Inputs); err != nil {
		return fmt.Errorf("the Spec has %w", err)
	}
	s.MinSymbols = cmp.Or(s.MinSymbols, 1)
	s.MaxSymbols = cmp.Or(s.MaxSymbols, s.MinSymbols)
	if s.MinSymbols < 1 || s.MaxSymbols < s.MinSymbols || s.MaxSymbols > wire.MaxSymbols {
		return fmt.Errorf("Spec.MinSymbols %d and MaxSymbols %d must be a range within 1 to %d", s.MinSymbols,
			s.MaxSymbols, wire.MaxSymbols)
	}
	return nil
}

// Describe implements the service.
func (s *server) Describe(context.Context, *strategypb.DescribeRequest) (*strategypb.Spec, error) {
	s.process.handshakeDone()
	return wire.SpecToProto(&s.description), nil
}

// Run implements the service.
func (s *server) Run(st strategypb.Strategy_RunServer) error { return s.answer(st) }

// answer serves a run over any stream.
func (s *server) answer(st stream) error {
	s.process.handshakeDone()
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	s.process.runBegins()
	defer s.process.runDone()
	err := s.run(st, &inbox{stream: st})
	var wrong *wire.ProtocolError
	if errors.As(err, &wrong) {
		return status.Error(codes.InvalidArgument, wrong.Error())
	}
	return err
}

// run takes the run from Start to the end of the stream.
func (s *server) run(st stream, box *inbox) error {
	opening, err := box.next()
	if err != nil {
		return err
	}
	if opening.GetStart() == nil {
		return outOfOrder("Start", opening)
	}
	start, err := wire.StartFromProto(opening.GetStart())
	if err != nil {
		return err
	}
	options, err := sim.ResolveOptions(start.Execution, sim.DefaultFees())
	if err != nil {
		return &wire.ProtocolError{Field: "account.execution", Message: err.Error()}
	}
	if want := wire.InputNames(s.description.Inputs); !slices.Equal(start.Inputs, want) {
		return &wire.ProtocolError{Field: "inputs", Message: fmt.Sprintf(
			"the strategy reads %v, the host delivers %v: run it with a newer host", want, start.Inputs)}
	}
	strategy, kept, err := s.build(start.Params)
	if err == nil && !s.fresh(strategy) {
		return status.Error(codes.FailedPrecondition, notFresh)
	}
	if err == nil {
		kept, err = kept.Within(s.description.Extra)
	}
	if err == nil {
		err = kept.Check(start.Timeframe)
	}
	if err != nil {
		return sendFailure(st, err)
	}
	if err := st.Send(readyMessage(kept.Warmup)); err != nil {
		return err
	}
	begin, ended, err := box.begin()
	if err != nil || ended {
		return err
	}
	r := newRun(st, box, start, options, strategy, kept)
	r.inputs = s.description.Inputs
	if start.Mode == strategypb.DriveMode_DRIVE_MODE_LOCKSTEP {
		s.process.oneThread()
		return r.lockstep()
	}
	r.process = s.process
	return r.coSimulate(begin)
}

func readyMessage(w market.Warmup) *strategypb.PluginMessage {
	return &strategypb.PluginMessage{Message: &strategypb.PluginMessage_Ready{Ready: wire.ReadyToProto(w)}}
}

// sendFailure reports a strategy's own fault, which ends the run in good order. Any
// other error is handed back.
func sendFailure(st stream, err error) error {
	var f *wire.Failure
	if !errors.As(err, &f) {
		return err
	}
	return st.Send(
		&strategypb.PluginMessage{Message: &strategypb.PluginMessage_Failed{Failed: wire.FailureToProto(f)}})
}

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

// inbox receives messages when they are asked for, or ahead.
type inbox struct {
	stream   stream
	messages chan *strategypb.HostMessage // nil: none is received ahead
	broken   error                        // why messages is closed; nil at the end of the stream
	signals  atomic.Uint32
}

// ahead receives messages while the simulation runs, so that Stop is seen at once. The goroutine ends
// with the stream.
func (b *inbox) ahead() {
	b.messages = make(chan *strategypb.HostMessage, inboxDepth)
	go b.receive()
}

func (b *inbox) receive() {
	defer close(b.messages)
	for {
		m, err := b.stream.Recv()
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
		case <-b.stream.Context().Done():
			b.broken = b.stream.Context().Err()
			return
		}
	}
}

// next waits for a message; io.EOF means that the host sends no more.
func (b *inbox) next() (*strategypb.HostMessage, error) {
	if b.messages == nil {
		return b.stream.Recv()
	}
	m, ok := <-b.messages
	switch {
	case ok:
		return m, nil
	case b.broken != nil:
		return nil, b.broken
	}
	return nil, io.EOF
}

// begin waits for Begin. ended reports whether the host gave the run up before it began.
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

// kind is the name of a message, such as Start.
func kind(m *strategypb.HostMessage) string {
	if m.GetMessage() == nil {
		return "an empty message"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m.Message), "*strategypb.HostMessage_")
}
