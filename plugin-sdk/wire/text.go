package wire

import (
	"maps"
	"slices"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// The codes of a Failure.
const (
	InvalidStrategyParams = "INVALID_STRATEGY_PARAMS"
	StrategyError         = "STRATEGY_ERROR"
)

// The Types of a Failure by which the SDK refuses what a strategy returned; others are Go types.
const (
	FailureLimit = "limit" // too many intents
	// an intent lacks what no default could stand for: a size, the order it is about
	FailureIntent = "intent"
)

// LogLine is one line of a strategy's log.
type LogLine struct {
	Step           int64       // -1 before the first
	Time           market.Time // close time of the step; 0 before the first
	Level, Message string      // level: trace, debug, info, warn, error
	Fields         market.Fields
}

// Series is new points of one named series for charts. Name and Symbol tell those of a run apart.
type Series struct {
	Name   string
	Symbol market.Symbol // what it is of; empty for a series of the whole run
	Times  []market.Time // close times of steps
	Values []float64
}

// Failure is why a strategy ended its run.
type Failure struct {
	Code    string // InvalidStrategyParams before Ready, then StrategyError
	Message string
	Step    int64  // -1 before the first
	Stack   string // of a panic
	// Type is the Go type of the panic's value or of the returned error, such as
	// runtime.boundsError; FailureLimit for too many intents, FailureIntent for one that lacks its size or
	// order; "" from an older SDK.
	Type   string
	Errors []sdk.ParamError
}

// Error is the message.
func (f *Failure) Error() string { return f.Message }

// LogLinesToProto converts lines and the number of those left out before them.
func LogLinesToProto(lines []LogLine, dropped int64) *strategypb.LogLines {
	p := &strategypb.LogLines{Dropped: dropped}
	for _, l := range lines {
		one := &strategypb.LogLine{Step: l.Step, Time: int64(l.Time), Level: l.Level,
			Message: cut(l.Message, MaxMessageText)}
		if len(l.Fields) > 0 {
			one.Fields = make(map[string]string, len(l.Fields))
		}
		for _, f := range l.Fields {
			key := cut(f.Key, MaxTextBytes)
			one.Fields[key] = cut(f.Value, MaxMessageText)
			one.Order = append(one.Order, key)
		}
		p.Lines = append(p.Lines, one)
	}
	return p
}

// LogLinesFromProto converts and checks lines.
func LogLinesFromProto(p *strategypb.LogLines) (lines []LogLine, dropped int64, err error) {
	c := codec{read: true}
	c.count("lines", "log lines in one message", len(p.GetLines()), MaxStepLines)
	for i, l := range p.GetLines() {
		c.in("lines", i)
		if !slices.Contains([]string{"trace", "debug", "info", "warn", "error"}, l.Level) {
			c.wrong("level", "%.40q is not a log level", l.Level)
		}
		c.count("fields", "fields", len(l.Fields), MaxLogFields)
		c.count("order", "keys", len(l.Order), MaxLogFields)
		line := LogLine{Step: l.Step, Time: market.Time(l.Time), Level: l.Level}
		carryText(&c, "message", &line.Message, &l.Message, MaxMessageText)
		line.Fields = c.fields(l)
		lines = append(lines, line)
	}
	c.dropped(p.GetDropped())
	return lines, p.GetDropped(), c.err
}

func (c *codec) dropped(n int64) {
	if c.in("", 0); n < 0 {
		c.wrong("dropped", "%d is negative", n)
	}
}

// fields are those of a line in the order that it names. Those that it does not name
// follow, sorted, as all of them do where an older SDK sends no order.
func (c *codec) fields(l *strategypb.LogLine) market.Fields {
	list := make(market.Fields, 0, len(l.Fields))
	for _, key := range slices.Concat(l.Order, slices.Sorted(maps.Keys(l.Fields))) {
		if text, known := l.Fields[key]; known && len(list) < len(l.Fields) {
			var f market.Field
			carryText(c, "fields", &f.Key, &key, MaxTextBytes)
			carryText(c, "fields", &f.Value, &text, MaxMessageText)
			list = list.Set(f.Key, f.Value)
		}
	}
	return list
}

// AnnotationsToProto converts points and the number of those left out before them.
func AnnotationsToProto(series []Series, dropped int64) *strategypb.Annotations {
	p := &strategypb.Annotations{Dropped: dropped}
	for _, s := range series {
		one := &strategypb.AnnotationSeries{Name: cut(s.Name, MaxTextBytes), Symbol: string(s.Symbol),
			Values: s.Values, Times: make([]int64, len(s.Times))}
		for i, t := range s.Times {
			one.Times[i] = int64(t)
		}
		p.Series = append(p.Series, one)
	}
	return p
}

// AnnotationsFromProto converts and checks points.
func AnnotationsFromProto(p *strategypb.Annotations) (series []Series, dropped int64, err error) {
	c := codec{read: true}
	c.count("series", "series", len(p.GetSeries()), MaxSeries)
	points := 0
	for i, s := range p.GetSeries() {
		c.in("series", i)
		points += len(s.Values)
		if len(s.Times) != len(s.Values) {
			c.wrong("", "%d times for %d values", len(s.Times), len(s.Values))
		}
		one := Series{Values: s.Values, Times: make([]market.Time, 0, len(s.Times))}
		if carryText(&c, "name", &one.Name, &s.Name, MaxTextBytes); one.Name == "" {
			c.wrong("name", "is empty")
		}
		carryText(&c, "symbol", &one.Symbol, &s.Symbol, MaxTextBytes)
		for _, t := range s.Times {
			one.Times = append(one.Times, market.Time(t))
		}
		for k := range s.Values {
			c.finite("values", &one.Values[k], &s.Values[k])
		}
		series = append(series, one)
	}
	c.in("", 0)
	c.count("series.values", "points in one message", points, MaxMessagePoints)
	c.dropped(p.GetDropped())
	return series, p.GetDropped(), c.err
}

// FailureToProto converts the end of a run by its strategy.
func FailureToProto(f *Failure) *strategypb.Failed {
	p := &strategypb.Failed{Errors: make([]*strategypb.FieldError, len(f.Errors))}
	for i := range p.Errors {
		p.Errors[i] = &strategypb.FieldError{}
	}
	(&codec{}).failure(f, p)
	return p
}

// FailureFromProto converts and checks the end of a run by its strategy.
func FailureFromProto(p *strategypb.Failed) (f Failure, err error) {
	c := codec{read: true}
	p = orNew(p)
	if p.Code != InvalidStrategyParams && p.Code != StrategyError {
		c.wrong("code", "%.40q is not known", p.Code)
	}
	if len(p.Errors) > 0 {
		f.Errors = make([]sdk.ParamError, len(p.Errors))
	}
	c.failure(&f, p)
	return f, c.err
}

func (c *codec) failure(f *Failure, p *strategypb.Failed) {
	carry(c, &f.Code, &p.Code)
	carry(c, &f.Step, &p.Step)
	carryCut(c, "message", &f.Message, &p.Message, MaxMessageText)
	carryCut(c, "stack", &f.Stack, &p.Stack, MaxStackBytes)
	carryCut(c, "type", &f.Type, &p.Type, MaxTextBytes)
	for i := range f.Errors {
		c.in("errors", i)
		carryCut(c, "pointer", &f.Errors[i].Pointer, &p.Errors[i].Pointer, MaxMessageText)
		carryCut(c, "message", &f.Errors[i].Message, &p.Errors[i].Message, MaxMessageText)
	}
}
