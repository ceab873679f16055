package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// excess is one limit of the SDK, passed by one by a plugin without the SDK.
type excess struct {
	name string
	says string // of the refusal
	// intents go into a decision, or messages are sent before one.
	intents  func() []*strategypb.Intent
	messages func() []*strategypb.PluginMessage
}

// excesses has every limit that a plugin meets after its start.
func excesses() []excess {
	intent := func(name, field string, change func(*strategypb.Intent)) excess {
		return excess{name: name, says: "intents[0]." + field, intents: func() []*strategypb.Intent {
			in := &strategypb.Intent{Size: &strategypb.Intent_Quantity{Quantity: "1"}}
			change(in)
			return []*strategypb.Intent{in}
		}}
	}
	line := func(name, says string, change func(*strategypb.LogLine)) excess {
		return excess{name: name, says: says, messages: func() []*strategypb.PluginMessage {
			l := &strategypb.LogLine{Level: "info", Message: "hello", Fields: map[string]string{}}
			change(l)
			return logLines(l)
		}}
	}
	failure := func(name, says string, f *strategypb.Failed) excess {
		f.Code = wire.StrategyError
		return excess{name: name, says: says, messages: func() []*strategypb.PluginMessage {
			return []*strategypb.PluginMessage{{Message: &strategypb.PluginMessage_Failed{Failed: f}}}
		}}
	}
	text := func(limit int) string { return strings.Repeat("x", limit+1) }
	list := []excess{
		{name: "intents", says: "10001 intents at one step, at most 10000",
			intents: func() []*strategypb.Intent {
				return make([]*strategypb.Intent, wire.MaxIntents+1)
			}},
		intent("tag", "tag: a text of 257 bytes",
			func(i *strategypb.Intent) { i.Tag = text(wire.MaxTextBytes) }),
		intent("client_ref", "client_ref",
			func(i *strategypb.Intent) { i.ClientRef = text(wire.MaxTextBytes) }),
		intent("ref", "ref", func(i *strategypb.Intent) { i.Ref = text(wire.MaxTextBytes) }),
		intent("number", "limit_price", func(i *strategypb.Intent) {
			i.LimitPrice = strings.Repeat("1",
				801)
		}),
		line("message", "lines[0].message",
			func(l *strategypb.LogLine) { l.Message = text(wire.MaxMessageText) }),
		line("key", "lines[0].fields",
			func(l *strategypb.LogLine) { l.Fields[text(wire.MaxTextBytes)] = "" }),
		line("value", "lines[0].fields",
			func(l *strategypb.LogLine) { l.Fields["a"] = text(wire.MaxMessageText) }),
		line("fields", "lines[0].fields: 65 fields", func(l *strategypb.LogLine) {
			for i := range wire.MaxLogFields + 1 {
				l.Fields[fmt.Sprint(i)] = "x"
			}
		}),
		line("order", "lines[0].order: 65 keys", func(l *strategypb.LogLine) {
			l.Order = make([]string,
				wire.MaxLogFields+1)
		}),
		{name: "lines", says: "lines: 16385 log lines in one message",
			messages: func() []*strategypb.PluginMessage {
				return logLines(shortLines(wire.MaxStepLines + 1)...)
			}},
		{name: "lines of a step", says: "lines: more than 16384 log lines at step 0",
			messages: func() []*strategypb.PluginMessage {
				return append(logLines(shortLines(wire.MaxStepLines)...), logLines(shortLines(1)...)...)
			}},
		{name: "series name", says: "series[0].name", messages: func() []*strategypb.PluginMessage {
			return []*strategypb.PluginMessage{points(1, text(wire.MaxTextBytes))}
		}},
		{name: "series of a message", says: "series: 65 series, at most 64",
			messages: func() []*strategypb.PluginMessage {
				return []*strategypb.PluginMessage{points(1, names(wire.MaxSeries+1)...)}
			}},
		{name: "series of another symbol", says: `series.symbol: "NO/SUCH" is not a symbol of this run`,
			messages: func() []*strategypb.PluginMessage {
				m := points(1, "a")
				m.GetAnnotations().Series[0].Symbol = "NO/SUCH"
				return []*strategypb.PluginMessage{m}
			}},
		{name: "series of a run", says: "series: more than 64 series in one run",
			messages: func() []*strategypb.PluginMessage {
				return []*strategypb.PluginMessage{points(1, names(wire.MaxSeries)...), points(1, "one more")}
			}},
		{name: "points", says: "series.values: 65537 points in one message",
			messages: func() []*strategypb.PluginMessage {
				return []*strategypb.PluginMessage{points(wire.MaxMessagePoints+1, "a")}
			}},
		failure("failure message", "message: a text of 4097 bytes",
			&strategypb.Failed{Message: text(wire.MaxMessageText)}),
		failure("failure stack", "stack: a text of 65537 bytes",
			&strategypb.Failed{Stack: text(wire.MaxStackBytes)}),
		failure("failure type", "type: a text of 257 bytes",
			&strategypb.Failed{Type: text(wire.MaxTextBytes)}),
	}
	return list
}

func logLines(lines ...*strategypb.LogLine) []*strategypb.PluginMessage {
	said := &strategypb.PluginMessage_LogLines{LogLines: &strategypb.LogLines{Lines: lines}}
	return []*strategypb.PluginMessage{{Message: said}}
}

func shortLines(n int) []*strategypb.LogLine {
	list := make([]*strategypb.LogLine, n)
	for i := range list {
		list[i] = &strategypb.LogLine{Level: "info"}
	}
	return list
}

func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("s", i)
	}
	return list
}

func points(each int, names ...string) *strategypb.PluginMessage {
	a := &strategypb.Annotations{}
	for _, name := range names {
		a.Series = append(a.Series, &strategypb.AnnotationSeries{Name: name, Times: make([]int64, each),
			Values: make([]float64, each)})
	}
	return &strategypb.PluginMessage{Message: &strategypb.PluginMessage_Annotations{Annotations: a}}
}

// exceed returns the plugin: it passes the limit that its parameters name.
func exceed(params string, s stream) error {
	var p struct{ What string }
	if err := json.Unmarshal([]byte(params), &p); err != nil {
		return err
	}
	for _, x := range excesses() {
		if x.name != p.What {
			continue
		}
		if x.messages != nil {
			for _, m := range x.messages() {
				if err := s.Send(m); err != nil {
					return err
				}
			}
			break
		}
		answer := &strategypb.Decision{Intents: x.intents()}
		for i, in := range answer.Intents {
			if in == nil {
				answer.Intents[i] = &strategypb.Intent{}
			}
		}
		m, err := s.Recv()
		if err != nil {
			return err
		}
		reply := &strategypb.PluginMessage{Message: &strategypb.PluginMessage_Decision{Decision: answer}}
		if m.GetStep() == nil { // candles: both sides run ahead
			reply = decisions(&strategypb.Decisions{Watermark: 5, Digest: make([]byte, 32),
				Decisions: []*strategypb.Decision{answer}})
		}
		if err := s.Send(reply); err != nil {
			return err
		}
	}
	<-s.Context().Done()
	return nil
}

// TestLimitsOfTheSDKAreTheHosts: what the SDK leaves out or refuses in the plugin's process, the host refuses
// too, by field and limit.
func TestLimitsOfTheSDKAreTheHosts(t *testing.T) {
	ring.Undetected(t, "TestHostilePlugins floods the host under the detector")
	l := newLab(t, 100, "excess")
	for _, x := range excesses() {
		for mode, name := range map[Mode]string{ModeCoSimulation: "co-simulation", ModeLockstep: "lockstep"} {
			if mode == ModeLockstep && x.messages != nil {
				continue // what is said besides goes one way in both
			}
			t.Run(x.name+" in "+name, func(t *testing.T) {
				checkFailure(t, l.of(t).in(mode), "excess", "PLUGIN_PROTOCOL_ERROR", x.says,
					map[string]any{"what": x.name})
			})
		}
	}
	_, err := l.launcher.Launch(context.Background(), "svc_x", request("excess", map[string]any{"what": "",
		"warmup": true}))
	var refusal *RequestError
	if !errors.As(err, &refusal) || refusal.Code != "RUN_START_FAILED" || !strings.Contains(refusal.Message,
		"warmup_candles") ||
		!strings.Contains(refusal.Message, "100000000") {
		t.Errorf("too long a warm-up: %v", err)
	}
}
