package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Limits of time and size.
const (
	// LaunchLimit is how long a plugin may take to be ready.
	LaunchLimit = 10 * time.Second
	// Grace is how long a stopped plugin may take to end by itself.
	Grace = time.Second
	// placeLimit is how long one that has not answered may take to say where it is.
	placeLimit = 5 * time.Second
)

// PhaseStarting is the phase of a run before its first candle.
const PhaseStarting = "starting"

// Plugin is the process of a run and the conversation with it.
type Plugin struct {
	Proc   *catalog.Process
	Stream *Stream
	asked  []*strategypb.Indicator // columns that it can use
	cancel context.CancelCauseFunc // of the stream's context
	kept   bool                    // the process is a session's
	good   bool                    // a kept one has ended its stream in good order
}

// Launch starts the process. A refusal is a *RequestError.
func Launch(ctx context.Context, c *catalog.Catalog, s *catalog.Strategy,
	o catalog.LaunchOptions) (*Plugin, error) {
	proc, err := c.Launch(ctx, s, o)
	if err != nil {
		return nil, launchRefusal(err)
	}
	return &Plugin{Proc: proc}, nil
}

func launchRefusal(err error) error {
	const text = "The strategy's process could not be started: %v"
	launch, ok := errors.AsType[*catalog.LaunchError](err)
	if !ok {
		return startRefusal(err, err.Error(), []string{}, text, err)
	}
	cause, codes := err, map[string]string{
		proc.CodeStartCrashed: CodePluginCrashed, proc.CodeStartTimeout: CodePluginTimeout,
	}
	if code := codes[launch.Code]; code != "" {
		cause = &StartError{Err: err, Failure: artifact.Failure{
			Code: code, Message: launch.Message, Phase: PhaseStarting, LogTail: launch.LogTail,
			Data: map[string]any{},
		}}
	}
	return startRefusal(cause, launch.Code, launch.LogTail, text, launch.Message)
}

// Introduce opens the conversation, sends Start and waits until the strategy accepts its
// parameters, at most until the context ends. It returns the warm-up that it asks for. Its other output
// goes to side.
func (p *Plugin) Introduce(ctx context.Context, start *wire.Start,
	side func(*strategypb.PluginMessage) error) (w market.Warmup, err error) {
	base, cancel := context.WithCancelCause(context.Background())
	p.cancel = cancel
	if p.Stream, err = OpenStream(base, p.Proc.Client(), side); err != nil {
		return w, p.startFailed(err)
	}
	message := &strategypb.HostMessage{
		Message: &strategypb.HostMessage_Start{Start: wire.StartToProto(start)}}
	if err := p.Stream.Send(message); err != nil {
		return w, p.startFailed(err)
	}
	m, err := p.Stream.Recv(timeOf(ctx), "it did not accept or refuse its parameters")
	if err != nil {
		return w, p.startFailed(err)
	}
	return p.accepted(m, start.Timeframe)
}

// timeOf returns a channel that delivers when the context ends.
func timeOf(ctx context.Context) <-chan time.Time {
	c := make(chan time.Time, 1)
	context.AfterFunc(ctx, func() { c <- time.Time{} })
	return c
}

func (p *Plugin) startFailed(err error) error {
	f := At(Classify(err), PhaseStarting, 0)
	if f.Code == CodePluginTimeout {
		if p.askPlace(f); f.Data["stack"] != nil {
			err = errors.New(f.Message)
		}
	}
	if f.Code == runner.CodeInternal { // it sent what is due at another time
		f.Code = CodePluginProtocol
	}
	select {
	case <-p.Proc.Done():
		err = fmt.Errorf("its process ended before it accepted its parameters: %s", p.Proc.Exit())
		code := p.Proc.ExitCode()
		f.Code, f.PluginExitCode = CodePluginCrashed, &code
	case <-time.After(Grace):
	}
	p.Close("the start failed")
	f.Message, f.LogTail = err.Error(), p.Proc.Tail()
	return startRefusal(&StartError{*f, err}, err.Error(), f.LogTail, "The strategy could not be started: %v",
		err)
}

func (p *Plugin) accepted(m *strategypb.PluginMessage, tf market.Timeframe) (w market.Warmup, err error) {
	if failed := m.GetFailed(); failed != nil {
		f, err := wire.FailureFromProto(failed)
		if err != nil {
			return w, p.startFailed(err)
		}
		if f.Code != wire.InvalidStrategyParams {
			return w, p.startFailed(errors.New(f.Message))
		}
		refusal := &RequestError{Code: f.Code, Message: f.Message}
		if f.Stack != "" {
			refusal.Cause = &StartError{Err: &f, Failure: artifact.Failure{
				Code: wire.StrategyError, Message: f.Message, Phase: PhaseStarting, LogTail: p.Proc.Tail(),
				Data: map[string]any{"step": f.Step, "stack": f.Stack, "type": f.Type},
			}}
		}
		for _, e := range f.Errors {
			refusal.Fields = append(refusal.Fields,
				FieldError{Pointer: "/strategy_params" + e.Pointer, Message: e.Message, Rule: "strategy"})
		}
		if len(refusal.Fields) == 0 {
			refusal.Fields = []FieldError{{Pointer: "/strategy_params", Message: f.Message,
				Rule: "strategy"}}
		}
		return w, refusal
	}
	ready := m.GetReady()
	if ready == nil {
		return w, p.startFailed(fmt.Errorf("the plugin sent %T where Ready was due", m.GetMessage()))
	}
	if w, err = wire.ReadyFromProto(ready, tf); err != nil {
		return w, p.startFailed(err)
	}
	p.asked = ready.GetIndicators()
	return w, nil
}

// Watch ends what waits for the plugin when ctx ends, with its cause. Call the
// returned function to end that.
func (p *Plugin) Watch(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() { p.cancel(context.Cause(ctx)) })
}

// Stop asks the plugin to end and gives it a moment; killed reports whether it needed more.
func (p *Plugin) Stop(reason string) (killed bool) {
	p.Stream.Post(
		&strategypb.HostMessage{
			Message: &strategypb.HostMessage_Stop{Stop: &strategypb.Stop{Reason: reason}}})
	timer := time.NewTimer(Grace)
	defer timer.Stop()
	for {
		select {
		case _, ok := <-p.Stream.next(): // annotations and log lines included
			if p.Stream.due = false; ok {
				continue
			}
			return false
		case <-timer.C:
			p.Proc.Kill("it did not end after a stop")
			return true
		}
	}
}

// Finish sends the plugin the end of the data and waits until it has ended its
// stream in good order.
func (p *Plugin) Finish(limit time.Duration) error {
	p.Stream.Post(
		&strategypb.HostMessage{Message: &strategypb.HostMessage_Finish{Finish: &strategypb.Finish{}}})
	timer := time.NewTimer(limit)
	defer timer.Stop()
	m, err := p.Stream.Recv(timer.C, "it did not end after the last step")
	switch {
	case errors.Is(err, io.EOF):
		if p.good = p.kept; !p.good {
			p.Proc.Finish()
		}
		return nil
	case err != nil:
		return err
	}
	if err := Answer(m); err != nil {
		return err
	}
	return Failf(CodePluginProtocol, nil, "the plugin sent %T after the last step", m.GetMessage())
}

// Failure describes a fault with what the plugin left behind: phase and the close time of
// the newest step (0 before the first). judge may correct its code first.
func (p *Plugin) Failure(err error, phase string, step market.Time,
	judge func(*artifact.Failure)) *artifact.Failure {
	f := At(Classify(err), phase, step)
	if judge != nil {
		judge(f)
	}
	if f.Code == CodePluginTimeout {
		p.askPlace(f)
	}
	if f.Code == CodePluginCrashed || f.Code == CodePluginProtocol && errors.Is(err, io.EOF) {
		p.awaitExit(f)
	}
	p.Proc.Settle()
	p.Proc.Kill(f.Code)
	f.LogTail = p.Proc.Tail()
	return f
}

// askPlace adds to a failure where a bundle is that has not answered, if it can be interrupted and says so. A
// program in Go would end with the stacks of all its goroutines in the place of its last lines.
func (p *Plugin) askPlace(f *artifact.Failure) {
	if p.Stream == nil || !p.Proc.Bundled() || !p.Proc.Interrupt() {
		return
	}
	timer := time.NewTimer(placeLimit)
	defer timer.Stop()
	for {
		m, err := p.Stream.Recv(timer.C, "it did not say where it is")
		if err != nil {
			return
		}
		if m.GetFailed() == nil {
			continue // an answer that comes too late
		}
		if failure, err := wire.FailureFromProto(m.GetFailed()); err == nil {
			f.Message += ": " + failure.Message
			f.Data = map[string]any{"step": failure.Step, "stack": failure.Stack}
		}
		return
	}
}

// awaitExit adds the exit code. A stream that ended because the process died is a
// crash, whatever the transport made of it.
func (p *Plugin) awaitExit(f *artifact.Failure) {
	select {
	case <-p.Proc.Done():
	case <-time.After(Grace):
		if f.Code == CodePluginCrashed { // it ended the stream, not itself
			f.Code, f.Message = CodePluginProtocol, "the plugin ended the stream before the run was over"
		}
		return
	}
	code := p.Proc.ExitCode()
	f.PluginExitCode = &code
	if code != 0 {
		f.Code = CodePluginCrashed
	}
	f.Message = "the plugin process ended during the run: " + p.Proc.Exit()
}

// Close ends the conversation, and the process, unless it is a session's and can play on.
func (p *Plugin) Close(reason string) {
	if !p.good {
		p.Proc.Kill(reason)
	}
	if p.Stream != nil {
		p.Stream.Close()
	}
}

// inbox is how many messages of the plugin may wait. A message is at most
// wire.MaxMessageBytes, which bounds the memory of a flooding plugin.
const inbox = 4

// Stream is the conversation with the plugin of one run. One goroutine at a time receives from it.
type Stream struct {
	ctx    context.Context // ends with the run; its cause is why
	rpc    strategypb.Strategy_RunClient
	cancel context.CancelFunc
	in     chan *strategypb.PluginMessage
	err    error // why in was closed; io.EOF after an orderly end
	done   chan struct{}
	side   func(*strategypb.PluginMessage) error // annotations and log lines

	// Of a connection that can be looked at: the reader reads a message only when one is due.
	glance glancer // nil: the reader reads whatever comes
	wanted chan struct{}
	due    bool // the reader was asked for a message that has not been taken

	sending sync.Mutex     // one message at a time
	posts   sync.WaitGroup // messages whose outcome is not waited for
}

// A glancer looks for a message that is there or comes within microseconds: to put a goroutine to sleep and
// wake it takes longer than most steps. It leaves alone what it cannot return.
type glancer interface {
	Glance() (*strategypb.PluginMessage, bool)
}

// OpenStream starts the Run call and its reader. side gets annotations and log
// lines; it is called from the goroutine that calls Recv.
func OpenStream(ctx context.Context, client strategypb.StrategyClient,
	side func(*strategypb.PluginMessage) error) (*Stream, error) {
	rpcCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	rpc, err := client.Run(rpcCtx)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &Stream{ctx: ctx, rpc: rpc, cancel: cancel, in: make(chan *strategypb.PluginMessage, inbox),
		done: make(chan struct{}), side: side, wanted: make(chan struct{}, 1)}
	s.glance, _ = rpc.(glancer)
	go s.read(rpcCtx)
	return s, nil
}

func (s *Stream) read(ctx context.Context) {
	defer close(s.done)
	defer close(s.in)
	for {
		if s.glance != nil {
			select {
			case <-s.wanted:
			case <-ctx.Done():
				s.err = ctx.Err()
				return
			}
		}
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

// Post sends messages without waiting for it: a plugin that takes nothing any more holds
// them up. What became of them shows in what the plugin sends.
func (s *Stream) Post(messages ...*strategypb.HostMessage) {
	s.posts.Go(func() {
		s.sending.Lock()
		defer s.sending.Unlock()
		for _, m := range messages {
			if s.rpc.Send(m) != nil {
				return
			}
		}
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
		m, ok := s.look()
		if !ok {
			select {
			case m, ok = <-s.next():
				if s.due = false; !ok {
					return nil, s.err
				}
			case <-deadline:
				return nil, Failf(CodePluginTimeout, nil, "the plugin did not answer in time: %s", what)
			case <-s.ctx.Done():
				return nil, context.Cause(s.ctx)
			}
		}
		if m.GetAnnotations() == nil && m.GetLogLines() == nil {
			return m, nil
		}
		if err := s.side(m); err != nil {
			return nil, err
		}
		// What comes beside an answer is taken by the reader, so that the deadline holds.
		s.next()
	}
}

// look returns a message if the connection can be looked at and one is there.
func (s *Stream) look() (*strategypb.PluginMessage, bool) {
	if s.glance == nil || s.due || s.ctx.Err() != nil {
		return nil, false
	}
	return s.glance.Glance()
}

// next returns the channel of the next message, which the reader reads from now on.
func (s *Stream) next() <-chan *strategypb.PluginMessage {
	if s.glance != nil && !s.due {
		s.due = true
		s.wanted <- struct{}{}
	}
	return s.in
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
	for range s.next() {
		s.due = false
		s.next()
	}
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
	if f.Code == CodePluginProtocol {
		return Failf(f.Code, data, "%s", f.Message)
	}
	return Failf(wire.StrategyError, data, "%s", f.Message)
}

// stepsPerTurn is how many steps the engine takes before it lets readers in.
const stepsPerTurn = 2048

// Gate guards what a run has produced. The loop holds it while it computes and lets
// go while it waits and every stepsPerTurn steps, so that the engine pays nothing
// per step and a reader waits well under a millisecond.
type Gate struct {
	sync.Mutex
	steps int
}

// Pass counts a step and lets readers in now and then. The loop calls it.
func (g *Gate) Pass() {
	if g.steps++; g.steps >= stepsPerTurn {
		g.steps = 0
		g.Unlock()
		g.Lock()
	}
}

// Outside runs f without the gate: f waits for the plugin.
func (g *Gate) Outside(f func()) {
	g.Unlock()
	defer g.Lock()
	f()
}
