package metric

import (
	"encoding/json"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Report is the answer of metrics-v1 about one run, split or stitched series, made by
// Compute: Metrics has every metric, in the order of All. Its JSON is {"metrics":{...},"metrics_meta":{...}}
// as in report.json.
type Report struct {
	Metrics Values `json:"metrics"`
	Meta    Meta   `json:"metrics_meta"`
}

// Meta is the recipe of a Report: how to read and recompute its numbers.
type Meta struct {
	Semantics string `json:"semantics"`
	// Sample is the main sample, day or candle; NReturns counts its returns.
	Sample               string  `json:"sample"`
	NReturns             int     `json:"n_returns"`
	PeriodsPerYear       float64 `json:"periods_per_year"`
	CandlePeriodsPerYear float64 `json:"candle_periods_per_year"`
	Calendar             string  `json:"calendar"`
	DDOF                 int     `json:"ddof"`
	RiskFree             float64 `json:"risk_free"`
	// Undefined has the reason of every metric without a value; never nil.
	Undefined map[string]Reason `json:"undefined"`
}

// Value is one metric's number, rounded, or the reason why it has none.
type Value struct {
	Key    string
	Number float64
	Reason Reason
}

// Values are metrics in the order of All. As JSON they are one object in that
// order, null for what is undefined; why it is undefined stands in Meta, and reading
// gives such a metric the reason Unknown.
type Values []Value

// Get returns the number of a metric; false if it is undefined or there is no such key.
func (v Values) Get(key string) (float64, bool) {
	for _, x := range v {
		if x.Key == key {
			return x.Number, x.Reason == ""
		}
	}
	return 0, false
}

// MarshalJSON writes the object.
func (v Values) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		var number *float64
		if x.Reason == "" {
			number = &x.Number
		}
		member, err := json.Marshal(map[string]*float64{x.Key: number})
		if err != nil {
			return nil, err
		}
		b = append(b, member[1:len(member)-1]...)
	}
	return append(b, '}'), nil
}

// Unknown is the reason of an undefined metric that was read from Values alone.
const Unknown Reason = "unknown"

// UnmarshalJSON reads what MarshalJSON has written; keys that this version does not
// know are passed over.
func (v *Values) UnmarshalJSON(text []byte) error {
	var object map[string]*float64
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	*v = nil
	for _, m := range All() {
		number, present := object[m.Key]
		switch {
		case !present:
		case number == nil:
			*v = append(*v, Value{Key: m.Key, Reason: Unknown})
		default:
			*v = append(*v, Value{Key: m.Key, Number: *number})
		}
	}
	return nil
}

// HTTP is a Report as the API shows it: the contract keys are numbers, 0 when
// undefined and then named in Undefined.
type HTTP struct {
	Metrics   Values   `json:"performance_metrics"`
	Undefined []string `json:"performance_metrics_undefined"`
	Meta      Meta     `json:"metrics_meta"`
}

// HTTP renders the report for the API.
func (r Report) HTTP() HTTP {
	h := HTTP{Metrics: slices.Clone(r.Metrics), Undefined: []string{}, Meta: r.Meta}
	for _, key := range ContractKeys() {
		if _, defined := r.Metrics.Get(key); !defined {
			h.Undefined = append(h.Undefined, key)
		}
	}
	for i, v := range h.Metrics {
		if slices.Contains(h.Undefined, v.Key) {
			h.Metrics[i] = Value{Key: v.Key}
		}
	}
	return h
}

// Idle returns what the API shows when there is no run: nothing is defined.
func Idle() HTTP {
	r := Report{Meta: Meta{
		Semantics: Semantics, Sample: SampleCandle, Calendar: Calendar24x7, DDOF: 1,
		Undefined: map[string]Reason{},
	}}
	for _, m := range All() {
		r.put(Value{Key: m.Key, Reason: NotApplicable})
	}
	return r.HTTP()
}

// Insufficient returns the report of a sample too small to estimate from: ratios and
// means are undefined, counts, totals and extremes stay.
func (r Report) Insufficient() Report {
	out := Report{Meta: r.Meta}
	out.Meta.Undefined = map[string]Reason{}
	all := All()
	for i, v := range r.Metrics {
		if all[i].Estimate {
			v = Value{Key: v.Key, Reason: Insufficient}
		}
		out.put(v)
	}
	return out
}

// Portable returns the metrics that are equal to the last bit on every CPU: those that a
// hash of results may cover.
func (r Report) Portable() Values {
	var out Values
	all := All()
	for i, v := range r.Metrics {
		if !all[i].CPUDependent {
			out = append(out, v)
		}
	}
	return out
}

func (r *Report) put(v Value) {
	r.Metrics = append(r.Metrics, v)
	if v.Reason != "" {
		r.Meta.Undefined[v.Key] = v.Reason
	}
}

// Compute evaluates every metric. The error is an *InputError.
func Compute(in Input) (Report, error) {
	if err := in.validate(); err != nil {
		return Report{}, err
	}
	f := gather(&in)
	r := Report{Meta: Meta{
		Semantics: Semantics, Sample: f.mainName, NReturns: f.main.n,
		PeriodsPerYear: Round(f.main.periods), CandlePeriodsPerYear: Round(f.candle.periods),
		Calendar: in.Calendar, DDOF: 1, Undefined: map[string]Reason{},
	}}
	for _, m := range All() {
		x, why := m.eval(f)
		if why == "" && !finite(x) {
			why = NotApplicable
		}
		v := Value{Key: m.Key, Reason: why}
		if why == "" {
			v.Number = Round(x)
		}
		r.put(v)
	}
	return r, nil
}

// facts is what several metrics share, computed once.
type facts struct {
	in                *Input
	dayEnds           [][]int // of each curve
	day, candle, main *sample
	mainName          string
	maxDrawdown       float64
	window            market.Time // milliseconds from first open to last close
	trades            tradeFacts
}

func gather(in *Input) *facts {
	f := &facts{in: in, mainName: SampleCandle, trades: newTradeFacts(in.Trades)}
	var candleLevels, dayLevels [][]float64
	candles, days := 0, 0
	for i := range in.Curves {
		c := &in.Curves[i]
		ends := DayEnds(c.OpenTime)
		levels := make([]float64, len(ends))
		for k, at := range ends {
			levels[k] = c.Equity[at]
		}
		f.dayEnds = append(f.dayEnds, ends)
		dayLevels = append(dayLevels, levels)
		candleLevels = append(candleLevels, c.Equity)
		candles += len(c.Equity)
		days += len(ends)
		if n := len(c.Equity); n > 0 {
			f.window += c.CloseTime[n-1] - c.OpenTime[0]
		}
	}
	f.candle = newSample(candleLevels, CandlePeriods(in.Timeframe, in.Calendar, candles, days))
	f.day = newSample(dayLevels, DayPeriods(in.Calendar))
	f.main = f.candle
	if in.Timeframe.Approx().Milliseconds() < int64(dayMillis) && f.day.n >= minDayReturns {
		f.main, f.mainName = f.day, SampleDay
	}
	f.maxDrawdown = maxDrawdown(candleLevels)
	return f
}
