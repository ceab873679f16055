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
	FailureLimit  = "limit"   // too many intents
	FailureIntent = "intent"  // an intent lacks what no default could stand for: a size, the order it is about
	FailureOnFill = "on_fill" // intents of OnFill
)

// LogLine is one line of a strategy's log.
type LogLine struct {
	Step           int64       // -1 before the first
	Time           market.Time // close time of the step; 0 before the first
	Level, Message string      // level: trace, debug, info, warn, error
	Fields         market.Fields
}

// Series is new points of one named series for charts.
type Series struct {
	Name   string
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
	// runtime.boundsError; FailureLimit for too many intents, FailureIntent for one that lacks its size or order; "" from an older SDK.
	Type   string
	Errors []sdk.ParamError
}

// Error is the message.
func (f *Failure) Error() string { return f.Message }

// LogLinesToProto converts lines and the number of those left out before them.
func LogLinesToProto(lines []LogLine, dropped int64) *strategypb.LogLines {
	p := &strategypb.LogLines{Dropped: dropped}
	for _, l := range lines {
		one := &strategypb.LogLine{Step: l.Step, Time: int64(l.Time), Level: l.Level, Message: cut(l.Message, MaxMessageText)}
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
	var r reader
	r.keep(checkCount("lines", "log lines in one message", len(p.GetLines()), MaxStepLines))
	for i, l := range p.GetLines() {
		field := at("lines", i)
		switch l.GetLevel() {
		case "trace", "debug", "info", "warn", "error":
		default:
			r.keep(wrong(field+".level", "%.40q is not a log level", l.GetLevel()))
		}
		r.keep(checkCount(field+".fields", "fields", len(l.GetFields()), MaxLogFields))
		r.keep(checkCount(field+".order", "keys", len(l.GetOrder()), MaxLogFields))
		lines = append(lines, LogLine{
			Step: l.GetStep(), Time: market.Time(l.GetTime()), Level: l.GetLevel(),
			Message: r.text(field+".message", l.GetMessage(), MaxMessageText),
			Fields:  r.fields(field+".fields", l),
		})
	}
	if p.GetDropped() < 0 {
		r.keep(wrong("dropped", "%d is negative", p.GetDropped()))
	}
	return lines, p.GetDropped(), r.err
}

// fields are those of a line in the order that it names. Those that it does not name
// follow, sorted, as all of them do where an older SDK sends no order.
func (r *reader) fields(at string, l *strategypb.LogLine) market.Fields {
	have, list := l.GetFields(), make(market.Fields, 0, len(l.GetFields()))
	for _, key := range slices.Concat(l.GetOrder(), slices.Sorted(maps.Keys(have))) {
		if value, known := have[key]; known && len(list) < len(have) {
			list = list.Set(r.text(at, key, MaxTextBytes), r.text(at, value, MaxMessageText))
		}
	}
	return list
}

// AnnotationsToProto converts points and the number of those left out before them.
func AnnotationsToProto(series []Series, dropped int64) *strategypb.Annotations {
	p := &strategypb.Annotations{Dropped: dropped}
	for _, s := range series {
		one := &strategypb.AnnotationSeries{Name: cut(s.Name, MaxTextBytes), Values: s.Values}
		for _, t := range s.Times {
			one.Times = append(one.Times, int64(t))
		}
		p.Series = append(p.Series, one)
	}
	return p
}

// AnnotationsFromProto converts and checks points.
func AnnotationsFromProto(p *strategypb.Annotations) (series []Series, dropped int64, err error) {
	var r reader
	r.keep(checkCount("series", "series", len(p.GetSeries()), MaxSeries))
	points := 0
	for i, s := range p.GetSeries() {
		field := at("series", i)
		points += len(s.GetValues())
		if len(s.GetTimes()) != len(s.GetValues()) {
			r.keep(wrong(field, "%d times for %d values", len(s.GetTimes()), len(s.GetValues())))
		}
		one := Series{Name: r.text(field+".name", s.GetName(), MaxTextBytes), Values: s.GetValues()}
		if one.Name == "" {
			r.keep(wrong(field+".name", "is empty"))
		}
		for _, t := range s.GetTimes() {
			one.Times = append(one.Times, market.Time(t))
		}
		for _, v := range s.GetValues() {
			r.finite(field+".values", v)
		}
		series = append(series, one)
	}
	r.keep(checkCount("series.values", "points in one message", points, MaxMessagePoints))
	if p.GetDropped() < 0 {
		r.keep(wrong("dropped", "%d is negative", p.GetDropped()))
	}
	return series, p.GetDropped(), r.err
}

// FailureToProto converts the end of a run by its strategy.
func FailureToProto(f *Failure) *strategypb.Failed {
	p := &strategypb.Failed{
		Code: f.Code, Message: cut(f.Message, MaxMessageText), Step: f.Step, Stack: cut(f.Stack, MaxStackBytes),
		Type: cut(f.Type, MaxTextBytes),
	}
	for _, e := range f.Errors {
		p.Errors = append(p.Errors, &strategypb.FieldError{
			Pointer: cut(e.Pointer, MaxMessageText), Message: cut(e.Message, MaxMessageText),
		})
	}
	return p
}

// FailureFromProto converts and checks the end of a run by its strategy.
func FailureFromProto(p *strategypb.Failed) (Failure, error) {
	var r reader
	f := Failure{
		Code: p.GetCode(), Message: r.text("message", p.GetMessage(), MaxMessageText), Step: p.GetStep(),
		Stack: r.text("stack", p.GetStack(), MaxStackBytes), Type: r.text("type", p.GetType(), MaxTextBytes),
	}
	if f.Code != InvalidStrategyParams && f.Code != StrategyError {
		r.keep(wrong("code", "%.40q is not known", f.Code))
	}
	for i, e := range p.GetErrors() {
		f.Errors = append(f.Errors, sdk.ParamError{
			Pointer: r.text(at("errors", i)+".pointer", e.GetPointer(), MaxMessageText),
			Message: r.text(at("errors", i)+".message", e.GetMessage(), MaxMessageText),
		})
	}
	return f, r.err
}
