package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// The output of a strategy besides intents is bounded: the newest log lines are kept,
// and of each series the first points.
const (
	MaxLogLines     = 1000
	MaxSeries       = 32
	maxSeriesPoints = 200_000
	// maxPublished are the points of all series together where every one is asked for.
	maxPublished = 4 << 20
)

// Limits are what is kept of the published series: points of each, and of all.
type Limits struct{ Series, Each, All int }

// ChartLimits are those of a chart.
func ChartLimits() Limits { return Limits{MaxSeries, maxSeriesPoints, MaxSeries * maxSeriesPoints} }

// SeriesLimits are those of a run whose series are asked for.
func SeriesLimits() Limits { return Limits{wire.MaxSeries, maxPublished, maxPublished} }

// PluginOutput collects the log lines and annotations of a run. It is guarded by the run's gate.
type PluginOutput struct {
	lines []artifact.LogLine
	total int64 // lines ever
	// Limits are what is kept. Quiet runs do not warn of what is beyond: it is not shown.
	Limits  Limits
	Quiet   bool
	Symbols []market.Symbol // of the run: others have no series
	Steps   int             // of the run, where they are known
	series  []artifact.Annotation
	points  int                // of all series
	known   map[[2]string]bool // name and symbol of every series, kept or not; nil before the first
	step    int64              // of the newest lines
	atStep  int                // lines of it
	dropped int64              // lines and points
	lost    int64              // points among them
	file    transcript
}

// KeepFile keeps the lines of log.jsonl up to so many bytes, as those of a split.
func (s *PluginOutput) KeepFile(split string, limit int) {
	s.file = transcript{split: split, limit: limit}
}

// Take reads one message of annotations or log lines. It holds the gate while it keeps
// them; a caller that waits for the plugin has it open.
func (s *PluginOutput) Take(m *strategypb.PluginMessage, gate sync.Locker, log hclog.Logger) error {
	if m.GetLogLines() != nil {
		lines, dropped, err := wire.LogLinesFromProto(m.GetLogLines())
		if err != nil {
			return err
		}
		gate.Lock()
		defer gate.Unlock()
		for _, l := range lines {
			if err := s.countLine(l.Step); err != nil {
				return err
			}
			s.addLine(log, l)
		}
		s.dropped += dropped
		s.file.leaveOut(dropped, s.newest())
		return nil
	}
	series, dropped, err := wire.AnnotationsFromProto(m.GetAnnotations())
	if err != nil {
		return err
	}
	gate.Lock()
	defer gate.Unlock()
	for _, p := range series {
		if err := s.countSeries(p); err != nil {
			return err
		}
		s.addPoints(p)
	}
	s.lose(dropped)
	return nil
}

// countLine refuses more lines of a step than the SDK lets through.
func (s *PluginOutput) countLine(step int64) error {
	if step != s.step {
		s.step, s.atStep = step, 0
	}
	if s.atStep++; s.atStep > wire.MaxStepLines {
		return &wire.ProtocolError{Field: "lines",
			Message: fmt.Sprintf("more than %d log lines at step %d", wire.MaxStepLines, step)}
	}
	return nil
}

// countSeries refuses more series in a run than the SDK lets through, and those of other symbols.
func (s *PluginOutput) countSeries(p wire.Series) error {
	if p.Symbol != "" && !slices.Contains(s.Symbols, p.Symbol) {
		return &wire.ProtocolError{Field: "series.symbol",
			Message: fmt.Sprintf("%.40q is not a symbol of this run", p.Symbol)}
	}
	if s.known == nil {
		s.known = map[[2]string]bool{}
	}
	if s.known[[2]string{p.Name, string(p.Symbol)}] = true; len(s.known) > wire.MaxSeries {
		return &wire.ProtocolError{Field: "series",
			Message: fmt.Sprintf("more than %d series in one run", wire.MaxSeries)}
	}
	return nil
}

// Host adds a line of the host's own.
func (s *PluginOutput) Host(at market.Time, level, message string, fields market.Fields) {
	line := artifact.LogLine{Time: at, Level: level, Source: "host", Message: message, Fields: fields}
	s.file.add(nil, line)
	s.add(line)
}

// newest returns the time of the newest line.
func (s *PluginOutput) newest() market.Time {
	if len(s.lines) == 0 {
		return 0
	}
	return s.lines[len(s.lines)-1].Time
}

func (s *PluginOutput) addLine(log hclog.Logger, l wire.LogLine) {
	line := artifact.LogLine{Time: l.Time, Level: l.Level, Source: "plugin", Message: l.Message,
		Fields: l.Fields}
	s.file.add(&l.Step, line)
	if log.IsDebug() {
		log.Debug("strategy: "+printable(l.Message), shown(l)...)
	}
	// The line of a stream or a page has no member of its own for the step.
	line.Fields = line.Fields.Set("step", fmt.Sprint(l.Step))
	s.add(line)
}

// shown are the pairs of a line in the service's log, with the author's last and in the
// order in which they were given. What could forge a line or move a cursor is quoted.
func shown(l wire.LogLine) []any {
	pairs := []any{"level", l.Level, "step", l.Step, "candle", l.Time.String()}
	for _, f := range l.Fields {
		pairs = append(pairs, printable(f.Key), hclog.Quote(f.Value))
		if value := printable(f.Value); value == f.Value {
			pairs[len(pairs)-1] = value
		}
	}
	return pairs
}

// printable returns a text that has only printable characters, quoted where it has others.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

func (s *PluginOutput) add(line artifact.LogLine) {
	if len(s.lines) >= MaxLogLines {
		s.lines = append(s.lines[:0:0], s.lines[MaxLogLines/10:]...)
	}
	s.lines = append(s.lines, line)
	s.total++
}

func (s *PluginOutput) addPoints(p wire.Series) {
	for i := range s.series {
		if have := &s.series[i]; have.Name == p.Name && have.Symbol == p.Symbol {
			s.extend(have, p)
			return
		}
	}
	if len(s.series) == s.Limits.Series {
		s.lose(int64(len(p.Times)))
		return
	}
	s.series = append(s.series, artifact.Annotation{Name: p.Name, Symbol: p.Symbol})
	s.extend(&s.series[len(s.series)-1], p)
}

func (s *PluginOutput) extend(a *artifact.Annotation, p wire.Series) {
	n := min(len(p.Times), s.Limits.Each-len(a.Time), s.Limits.All-s.points)
	all := min(s.Steps, s.Limits.Each, s.Limits.All)
	a.Time = append(withRoom(a.Time, n, all), p.Times[:n]...)
	a.Values = append(withRoom(a.Values, n, all), p.Values[:n]...)
	s.points += n
	s.lose(int64(len(p.Times) - n))
}

// withRoom returns a list with room for n more: for all of a point per step once a sixteenth is there, twice
// as long before. Append would grow a long one by a quarter, copy it several times over, and fill the room.
func withRoom[T any](list []T, n, all int) []T {
	if len(list)+n <= cap(list) {
		return list
	}
	if 16*len(list) < all {
		all = 2 * len(list)
	}
	bigger := make([]T, len(list), max(len(list)+n, all))
	copy(bigger, list)
	return bigger
}

func (s *PluginOutput) lose(points int64) {
	s.dropped += points
	s.lost += points
}

// Warnings names the published points that were left out.
func (s *PluginOutput) Warnings() []artifact.Note {
	if s.lost == 0 || s.Quiet {
		return nil
	}
	return []artifact.Note{{Code: "POINTS_DROPPED",
		Message: fmt.Sprintf("%d published points were left out, %d are kept: "+
			"at most %d series with %d points in all.", s.lost, s.points, s.Limits.Series, s.Limits.All)}}
}

// Annotations returns a copy whose points are shared: they are only appended to.
func (s *PluginOutput) Annotations() []artifact.Annotation {
	return append([]artifact.Annotation{}, s.series...)
}

// Points are one published series. Time has close times of steps, ascending unless the
// strategy published a name twice at a step.
type Points struct {
	Time   []market.Time
	Values []float64
}

// Published is what a strategy published in a run whose Split.Series is set.
type Published struct {
	// Series are the points inside the window by label (artifact.Annotation.Label). What is not finite is
	// no point.
	Series map[string]Points
	// Complete reports whether Series has every point. Points are left out beyond 64 series or 4,194,304
	// points of all series together, warm-up included, of a plugin whose SDK does not know how to send
	// them all, and where Split.Series is not set.
	Complete bool
}

// Published returns what the strategy published after the start of a window.
func (s *PluginOutput) Published(start market.Time) Published {
	p := Published{Series: map[string]Points{}, Complete: s.Limits == SeriesLimits() && s.lost == 0}
	for _, a := range s.series {
		// A step of the window has a candle that opened in it, so it closes after its start.
		from := sort.Search(len(a.Time), func(i int) bool { return a.Time[i] > start })
		if from < len(a.Time) {
			p.Series[a.Label()] = Points{Time: a.Time[from:len(a.Time):len(a.Time)],
				Values: a.Values[from:len(a.Values):len(a.Values)]}
		}
	}
	return p
}

// MaxLogFile is how many bytes the log file of a run may have.
const MaxLogFile = 10 << 20

// transcript is the lines of log.jsonl. What goes beyond its limit is counted, and the
// last line has the count: a log that is cut keeps its beginning.
type transcript struct {
	split string
	limit int
	text  []byte
	cut   int64
}

// transcriptLine is one line of log.jsonl. Step is nil in lines of the host.
type transcriptLine struct {
	SplitID string `json:"split_id"`
	Step    *int64 `json:"step,omitempty"`
	artifact.LogLine
}

func (t *transcript) add(step *int64, l artifact.LogLine) {
	if t.limit == 0 {
		return
	}
	line, err := json.Marshal(transcriptLine{t.split, step, l})
	if err != nil || t.cut > 0 || len(t.text)+len(line)+1 > t.limit {
		t.cut++
		return
	}
	t.text = append(append(t.text, line...), '\n')
}

// leaveOut notes lines that the strategy's process has left out at this place.
func (t *transcript) leaveOut(n int64, at market.Time) {
	if n > 0 {
		t.add(nil, omission(at, n, "lines are left out here: a strategy may write one per candle on average"))
	}
}

// file returns every line so far.
func (t *transcript) file() []byte {
	if t.cut == 0 {
		return t.text[:len(t.text):len(t.text)]
	}
	whole := *t
	whole.cut, whole.limit = 0, len(t.text)+maxNotice
	whole.text = t.text[:len(t.text):len(t.text)]
	whole.add(nil, omission(0, t.cut, fmt.Sprintf("the log is cut here at %d bytes", t.limit)))
	return whole.text
}

// maxNotice is room for the line about the cut.
const maxNotice = 4 << 10

func omission(at market.Time, n int64, why string) artifact.LogLine {
	count := market.Fields{{Key: "lines_left_out", Value: strconv.FormatInt(n, 10)}}
	return artifact.LogLine{Time: at, Level: "warn", Source: "host", Message: why, Fields: count}
}
