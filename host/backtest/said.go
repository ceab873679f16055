package backtest

import (
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// What a strategy says besides intents is bounded: the newest log lines are kept,
// and of each series the first points.
const (
	maxLogLines     = 1000
	maxSeries       = 32
	maxSeriesPoints = 200_000
)

// said collects the log lines and annotations of a run.
type said struct {
	lines   []result.LogLine
	total   int64 // lines ever
	series  []result.Annotation
	dropped int64
}

// take reads one message of annotations or log lines. It is guarded by the gate,
// which is open while the decider waits for the plugin.
func (x *Execution) take(m *strategypb.PluginMessage) error {
	if m.GetLogLines() != nil {
		lines, dropped, err := wire.LogLinesFromProto(m.GetLogLines())
		if err != nil {
			return err
		}
		x.gate.Lock()
		defer x.gate.Unlock()
		for _, l := range lines {
			x.said.addLine(x.log, l)
		}
		x.said.dropped += dropped
		return nil
	}
	series, dropped, err := wire.AnnotationsFromProto(m.GetAnnotations())
	if err != nil {
		return err
	}
	x.gate.Lock()
	defer x.gate.Unlock()
	for _, s := range series {
		x.said.addPoints(s)
	}
	x.said.dropped += dropped
	return nil
}

func (s *said) addLine(log hclog.Logger, l wire.LogLine) {
	if len(s.lines) >= maxLogLines {
		s.lines = append(s.lines[:0:0], s.lines[maxLogLines/10:]...)
	}
	line := result.LogLine{Time: l.Time, Level: l.Level, Source: "plugin", Message: l.Message, Fields: l.Fields}
	if line.Fields == nil {
		line.Fields = map[string]string{}
	}
	line.Fields["step"] = fmt.Sprint(l.Step)
	s.lines = append(s.lines, line)
	s.total++
	log.Debug("strategy: "+l.Message, "level", l.Level, "step", l.Step)
}

func (s *said) addPoints(p wire.Series) {
	for i := range s.series {
		if have := &s.series[i]; have.Name == p.Name {
			s.extend(have, p)
			return
		}
	}
	if len(s.series) == maxSeries {
		s.dropped += int64(len(p.Times))
		return
	}
	s.series = append(s.series, result.Annotation{Name: p.Name})
	s.extend(&s.series[len(s.series)-1], p)
}

func (s *said) extend(a *result.Annotation, p wire.Series) {
	n := min(len(p.Times), maxSeriesPoints-len(a.Time))
	a.Time, a.Values = append(a.Time, p.Times[:n]...), append(a.Values, p.Values[:n]...)
	s.dropped += int64(len(p.Times) - n)
}

// annotations is a copy whose points are shared: they are only appended to.
func (s *said) annotations() []result.Annotation { return append([]result.Annotation{}, s.series...) }
