package backtest

import (
	"fmt"
	"sort"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// What a strategy says besides intents is bounded: the newest log lines are kept,
// and of each series the first points.
const (
	maxLogLines     = 1000
	maxSeries       = 32
	maxSeriesPoints = 200_000
	// maxPublished are the points of all series together where every one is asked for.
	maxPublished    = 4 << 20
	publishedSeries = 64 // as many as the SDK lets through
)

// limits are what is kept of the published series: points of each, and of all.
type limits struct{ series, each, all int }

func chartLimits() limits { return limits{maxSeries, maxSeriesPoints, maxSeries * maxSeriesPoints} }

func seriesLimits() limits { return limits{publishedSeries, maxPublished, maxPublished} }

// said collects the log lines and annotations of a run.
type said struct {
	lines   []result.LogLine
	total   int64 // lines ever
	limits  limits
	series  []result.Annotation
	points  int   // of all series
	dropped int64 // lines and points
	lost    int64 // points among them
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
	x.said.lose(dropped)
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
	if len(s.series) == s.limits.series {
		s.lose(int64(len(p.Times)))
		return
	}
	s.series = append(s.series, result.Annotation{Name: p.Name})
	s.extend(&s.series[len(s.series)-1], p)
}

func (s *said) extend(a *result.Annotation, p wire.Series) {
	n := min(len(p.Times), s.limits.each-len(a.Time), s.limits.all-s.points)
	a.Time, a.Values = append(a.Time, p.Times[:n]...), append(a.Values, p.Values[:n]...)
	s.points += n
	s.lose(int64(len(p.Times) - n))
}

func (s *said) lose(points int64) {
	s.dropped += points
	s.lost += points
}

// annotations is a copy whose points are shared: they are only appended to.
func (s *said) annotations() []result.Annotation { return append([]result.Annotation{}, s.series...) }

// Points are one published series. Time has close times of steps, ascending unless the
// strategy published a name twice at a step.
type Points struct {
	Time   []market.Time
	Values []float64
}

// Published is what a strategy published in a run whose Split.Series is set.
type Published struct {
	// Series are the points inside the window by name. What is not finite is no point.
	Series map[string]Points
	// Complete is false when points were left out: beyond 64 series, or beyond
	// 4,194,304 points of all series together, warm-up included, or of a plugin whose SDK
	// does not know how to send them all; and where Split.Series is not set.
	Complete bool
}

// Published is what the strategy published inside the window. It stays after Close.
func (x *Execution) Published() Published {
	x.gate.Lock()
	defer x.gate.Unlock()
	p := Published{Series: map[string]Points{}, Complete: x.said.limits == seriesLimits() && x.said.lost == 0}
	for _, s := range x.said.series {
		// A step of the window has a candle that opened in it, so it closes after its start.
		from := sort.Search(len(s.Time), func(i int) bool { return s.Time[i] > x.window.Start })
		if from < len(s.Time) {
			p.Series[s.Name] = Points{Time: s.Time[from:len(s.Time):len(s.Time)], Values: s.Values[from:len(s.Values):len(s.Values)]}
		}
	}
	return p
}
