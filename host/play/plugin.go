package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/play/link"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/result"
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
)

// PhaseStarting is the phase of a run before its first candle.
const PhaseStarting = "starting"

// Plugin is the process of one run and the conversation with it.
type Plugin struct {
	Proc   *catalog.Process
	Stream *link.Stream
	cancel context.CancelCauseFunc // of the stream's context
}

// Launch starts the process. A refusal is a *RequestError.
func Launch(ctx context.Context, c *catalog.Catalog, s *catalog.Strategy, o catalog.LaunchOptions) (*Plugin, error) {
	proc, err := c.Launch(ctx, s, o)
	if err != nil {
		return nil, launchRefusal(err)
	}
	return &Plugin{Proc: proc}, nil
}

func launchRefusal(err error) error {
	var launch *catalog.LaunchError
	if errors.As(err, &launch) {
		cause := err
		if code := map[string]string{proc.CodeStartCrashed: "PLUGIN_CRASHED", proc.CodeStartTimeout: "PLUGIN_TIMEOUT"}[launch.Code]; code != "" {
			cause = &StartError{Err: err, Failure: result.Failure{Code: code, Message: launch.Message, Phase: PhaseStarting, LogTail: launch.LogTail, Data: map[string]any{}}}
		}
		return &RequestError{Code: "RUN_START_FAILED", Message: "The strategy's process could not be started: " + launch.Message,
			Details: map[string]any{"reason": launch.Code, "log_tail": launch.LogTail}, Cause: cause}
	}
	return &RequestError{Code: "RUN_START_FAILED", Message: fmt.Sprintf("The strategy's process could not be started: %v", err),
		Details: map[string]any{"reason": err.Error(), "log_tail": []string{}}, Cause: err}
}

// Introduce opens the conversation, sends Start and waits until the strategy accepts its
// parameters. It returns the warm-up that it wants, in candles. What it says besides goes to side.
func (p *Plugin) Introduce(ctx context.Context, start *wire.Start, side func(*strategypb.PluginMessage) error) (int, error) {
	base, cancel := context.WithCancelCause(context.Background())
	p.cancel = cancel
	var err error
	if p.Stream, err = link.Open(base, p.Proc.Client(), side); err != nil {
		return 0, p.startFailed(err)
	}
	message := &strategypb.HostMessage{Message: &strategypb.HostMessage_Start{Start: wire.StartToProto(start)}}
	if err := p.Stream.Send(message); err != nil {
		return 0, p.startFailed(err)
	}
	deadline, stop := context.WithTimeout(ctx, LaunchLimit)
	defer stop()
	m, err := p.Stream.Recv(timeOf(deadline), "it did not accept or refuse its parameters")
	if err != nil {
		return 0, p.startFailed(err)
	}
	return p.accepted(m)
}

// timeOf is a channel that delivers when the context ends.
func timeOf(ctx context.Context) <-chan time.Time {
	c := make(chan time.Time, 1)
	context.AfterFunc(ctx, func() { c <- time.Time{} })
	return c
}

func (p *Plugin) startFailed(err error) error {
	f := At(Classify(err), PhaseStarting, 0)
	if f.Code == "INTERNAL_ERROR" { // it said something that is due at another time
		f.Code = "PLUGIN_PROTOCOL_ERROR"
	}
	select {
	case <-p.Proc.Done():
		err = fmt.Errorf("its process ended before it accepted its parameters: %s", p.Proc.Exit())
		code := p.Proc.ExitCode()
		f.Code, f.PluginExitCode = "PLUGIN_CRASHED", &code
	case <-time.After(Grace):
	}
	p.Proc.Kill("the start failed")
	f.Message, f.LogTail = err.Error(), p.Proc.LogTail()
	return &RequestError{Code: "RUN_START_FAILED", Message: fmt.Sprintf("The strategy could not be started: %v", err),
		Details: map[string]any{"reason": err.Error(), "log_tail": f.LogTail}, Cause: &StartError{*f, err}}
}

func (p *Plugin) accepted(m *strategypb.PluginMessage) (int, error) {
	if failed := m.GetFailed(); failed != nil {
		f, err := wire.FailureFromProto(failed)
		if err != nil {
			return 0, p.startFailed(err)
		}
		if f.Code != "INVALID_STRATEGY_PARAMS" {
			return 0, p.startFailed(errors.New(f.Message))
		}
		refusal := &RequestError{Code: f.Code, Message: f.Message}
		if f.Stack != "" {
			refusal.Cause = &StartError{Err: &f, Failure: result.Failure{
				Code: "STRATEGY_ERROR", Message: f.Message, Phase: PhaseStarting, LogTail: p.Proc.LogTail(),
				Data: map[string]any{"step": f.Step, "stack": f.Stack, "type": f.Type},
			}}
		}
		for _, e := range f.Errors {
			refusal.Fields = append(refusal.Fields, FieldError{"/strategy_params" + e.Pointer, e.Message, "strategy"})
		}
		if len(refusal.Fields) == 0 {
			refusal.Fields = []FieldError{{"/strategy_params", f.Message, "strategy"}}
		}
		return 0, refusal
	}
	ready := m.GetReady()
	if ready == nil {
		return 0, p.startFailed(fmt.Errorf("the plugin sent %T where Ready was due", m.GetMessage()))
	}
	if w := ready.GetWarmupCandles(); w >= 0 && w <= wire.MaxWarmup {
		return int(w), nil
	}
	return 0, p.startFailed(fmt.Errorf("warmup_candles: the plugin wants %d warm-up candles; at most %d are possible",
		ready.GetWarmupCandles(), wire.MaxWarmup))
}

// Watch lets whoever waits for the plugin know when ctx ends, with its cause. Call the
// returned function to end that.
func (p *Plugin) Watch(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() { p.cancel(context.Cause(ctx)) })
}

// Stop asks the plugin to end and gives it a moment; killed says that it needed more.
func (p *Plugin) Stop(reason string) (killed bool) {
	p.Stream.Post(&strategypb.HostMessage{Message: &strategypb.HostMessage_Stop{Stop: &strategypb.Stop{Reason: reason}}})
	timer := time.NewTimer(Grace)
	defer timer.Stop()
	for {
		select {
		case _, ok := <-p.Stream.Messages():
			if ok {
				continue
			}
			return false
		case <-timer.C:
			p.Proc.Kill("it did not end after a stop")
			return true
		}
	}
}

// Finish tells the plugin that the data have ended and waits until it has ended its
// stream in good order.
func (p *Plugin) Finish(limit time.Duration) error {
	p.Stream.Post(&strategypb.HostMessage{Message: &strategypb.HostMessage_Finish{Finish: &strategypb.Finish{}}})
	timer := time.NewTimer(limit)
	defer timer.Stop()
	m, err := p.Stream.Recv(timer.C, "it did not end after the last step")
	switch {
	case errors.Is(err, io.EOF):
		p.Proc.Finish()
		return nil
	case err != nil:
		return err
	}
	if err := link.Answer(m); err != nil {
		return err
	}
	return link.Failf("PLUGIN_PROTOCOL_ERROR", nil, "the plugin sent %T after the last step", m.GetMessage())
}

// Failure describes a fault with what the plugin left behind: phase and the close time of
// the newest step (0 before the first). judge may correct its code first.
func (p *Plugin) Failure(err error, phase string, step market.Time, judge func(*result.Failure)) *result.Failure {
	f := At(Classify(err), phase, step)
	if judge != nil {
		judge(f)
	}
	if f.Code == "PLUGIN_CRASHED" || f.Code == "PLUGIN_PROTOCOL_ERROR" && errors.Is(err, io.EOF) {
		p.awaitExit(f)
	}
	p.Proc.Settle()
	p.Proc.Kill(f.Code)
	f.LogTail = p.Proc.LogTail()
	return f
}

// awaitExit adds the exit code. A stream that ended because the process died is a
// crash, whatever the transport made of it.
func (p *Plugin) awaitExit(f *result.Failure) {
	select {
	case <-p.Proc.Done():
	case <-time.After(Grace):
		if f.Code == "PLUGIN_CRASHED" { // it ended the stream, not itself
			f.Code, f.Message = "PLUGIN_PROTOCOL_ERROR", "the plugin ended the stream before the run was over"
		}
		return
	}
	code := p.Proc.ExitCode()
	f.PluginExitCode = &code
	if code != 0 {
		f.Code = "PLUGIN_CRASHED"
	}
	f.Message = "the plugin process ended during the run: " + p.Proc.Exit()
}

// Close ends the process and the conversation.
func (p *Plugin) Close(reason string) {
	p.Proc.Kill(reason)
	if p.Stream != nil {
		p.Stream.Close()
	}
}
