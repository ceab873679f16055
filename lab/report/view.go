package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/lab/split"
)

// sheet is what the template shows.
type sheet struct {
	Verdict     page.Verdict
	Warnings    []string
	Basis       string
	Heads       []page.Fact
	Failure     *failure
	Sections    []section
	Metrics     []page.Table
	Marks       *page.Table
	Splits      *page.Table
	Facts       []page.Fact
	Assumptions []string
}

// failure is how a run failed.
type failure struct {
	Facts []page.Fact
	Log   []string
}

// section is figures and tables under a heading.
type section struct {
	Title, Text string
	Wide, Half  []page.Figure
	Tables      []page.Table
}

func (d *run) view() page.View {
	name := d.row.Slug
	if d.report != nil && d.report.Strategy.Name != "" {
		name = d.report.Strategy.Name
	}
	v := page.View{Kind: "Tear sheet of a " + kindText(d), Heading: name + ": " + d.row.RunID,
		Title: name + ", " + d.row.RunID + ": tear sheet"}
	if f := d.falsified(); f != nil {
		v.Links = append(v.Links, page.Anchor{Href: page.Link(f.RunID), Text: "Falsification " + f.RunID})
	}
	if d.row.PlanID != "" {
		v.Links = append(v.Links, page.Anchor{Href: page.Link(d.row.PlanID), Text: "Family " + d.row.PlanID})
	}
	s := sheet{Verdict: d.verdict(), Facts: d.facts(), Marks: d.marks()}
	if r := d.report; r != nil {
		for _, w := range r.Warnings {
			s.Warnings = append(s.Warnings, w.Message+" ("+w.Code+")")
		}
		for _, a := range r.Assumptions {
			s.Assumptions = append(s.Assumptions, a.Message)
		}
		s.Splits = d.splits()
	}
	if f := d.meta.Failure; f != nil {
		s.Failure = &failure{Log: f.LogTail, Facts: []page.Fact{{Name: "code", Value: f.Code},
			{Name: "message", Value: f.Message}, {Name: "phase", Value: f.Phase}}}
	}
	if d.basis != "" {
		q := d.resample()
		s.Basis, s.Heads, s.Metrics = d.basisText(), d.heads(q), d.metrics()
		s.Sections = d.sections()
	}
	v.Content = s
	return v
}

func kindText(d *run) string {
	if n := d.meta.Service; n != nil && n.Mode != "" {
		return n.Mode + " run"
	}
	if i := d.meta.Imported; i != nil {
		return "run imported from " + i.Tool
	}
	if d.row.Kind == artifact.KindRun || d.row.Kind == "" {
		return "run"
	}
	return d.row.Kind + " run"
}

// number is a metric of the basis, nil where it is undefined.
func (d *run) number(key string) *float64 {
	if x, defined := d.values.Get(key); defined {
		return &x
	}
	return nil
}

// reason is why a metric is undefined, as a reader should know it.
func (d *run) reason(key string) string {
	if why, noted := d.measure.Undefined[key]; noted {
		return strings.ReplaceAll(string(why), "_", " ")
	}
	return "not measured"
}

func (d *run) basisText() string {
	text := "The whole run"
	switch d.basis {
	case split.RoleWalkForward:
		text = fmt.Sprintf("The %d test windows of the walk-forward as one account", len(d.parts))
	case artifact.FullSplitID:
	default:
		text = "The split " + d.basis
	}
	if n := len(d.parts); n > 0 {
		last := d.parts[n-1].curve.Time
		text += ", " + day(d.parts[0].curve.Time[0]) + " to " + day(last[len(last)-1])
	}
	text += fmt.Sprintf(", %d returns by the %s.", d.measure.NReturns, d.measure.Sample)
	if d.meta.ArtifactLevel == artifact.LevelCompact {
		text += " A trial keeps the ends of its days only, so lows within a day are not drawn."
	}
	return text
}

// enoughDays is below how many days a Sharpe ratio says next to nothing.
const enoughDays = 250

func (d *run) heads(q *doubt) []page.Fact {
	between := func(x [2]float64, share string) string {
		return fmt.Sprintf("%s to %s in %s of %d resampled orders of its returns", page.Percent(&x[0]),
			page.Percent(&x[1]), share, orders)
	}
	total := page.Fact{Name: "Total return", Value: page.Signed(d.number("total_return")),
		Note: "too few returns to say how sure"}
	fall := page.Fact{Name: "Largest drawdown", Value: page.Percent(d.number("max_drawdown")),
		Note: "too few returns to say how sure"}
	if q != nil {
		total.Note, fall.Note = between(q.returns, "95 %"), between(q.drawdowns, "90 %")
	}
	held := page.Fact{Name: "Holding", Value: page.Signed(d.number("buy_hold_return"))}
	if d.number("buy_hold_return") == nil {
		held.Note = d.reason("buy_hold_return")
	}
	ratio := page.Fact{Name: "Sharpe ratio, annual", Value: page.NA}
	if x, e := d.number("sharpe_ratio"), d.number("sharpe_stderr"); x != nil {
		ratio.Value, ratio.Note = money(*x), "its error is undefined"
		if e != nil {
			ratio.Value, ratio.Note = money(*x)+" ± "+money(*e), "one standard error"
		}
	}
	switch {
	case d.number("sharpe_ratio") == nil:
		ratio.Note = d.reason("sharpe_ratio")
	case d.measure.Sample != metric.SampleDay || d.measure.NReturns < enoughDays:
		ratio.Note = fmt.Sprintf("too few days: %d returns by the %s, %d days are the least",
			d.measure.NReturns, d.measure.Sample, enoughDays)
	}
	won := page.Fact{Name: "Trades won", Value: page.Percent(d.number("win_rate"))}
	n := d.number("total_trades")
	if p := d.number("win_rate"); p != nil && n != nil && *n > 0 {
		e := math.Sqrt(float64(*p * (1 - *p) / *n))
		won.Value += " ± " + page.Percent(&e)
		won.Note = "one standard error, " + strconv.FormatFloat(*n, 'f', -1, 64) + " trades"
	} else {
		won.Note = d.reason("win_rate")
	}
	cost := page.Fact{Name: "Fees and slippage", Value: page.NA}
	if share, why := d.costShare(); why == "" {
		cost.Value, cost.Note = page.Percent(&share), "of the gross profit, slippage included in it"
	} else {
		cost.Note = why
	}
	exposed := page.Fact{Name: "In the market", Value: page.Percent(d.number("time_in_market"))}
	if d.number("time_in_market") == nil {
		exposed.Note = d.reason("time_in_market")
	}
	return []page.Fact{total, held, ratio, fall, won, cost, exposed}
}

// costShare is fees and slippage of the closed trades over what they earned before both.
func (d *run) costShare() (share float64, why string) {
	var t tally
	list := d.trades()
	for i := range list {
		t.add(&list[i])
	}
	gross := t.gross + t.slippage
	switch {
	case t.n == 0:
		return 0, "no trades"
	case gross <= 0:
		return 0, "there was no gross profit"
	}
	return (t.fees + t.slippage) / gross, ""
}

func (d *run) splits() *page.Table {
	t := page.Table{Label: "Splits of the candles", Head: []string{"split", "from", "to", "status", "return",
		"Sharpe ratio", "largest drawdown", "trades"}}
	row := func(id, from, to, status string, v metric.Values) {
		get := func(key string) *float64 {
			if x, ok := v.Get(key); ok {
				return &x
			}
			return nil
		}
		t.Rows = append(t.Rows, page.Row{Cells: page.Cells(id, from, to, status,
			page.Signed(get("total_return")), page.Number(get("sharpe_ratio")),
			page.Percent(get("max_drawdown")), page.Number(get("total_trades")))})
	}
	for _, s := range d.report.Splits {
		values := s.Metrics
		if !shows(s) {
			values = nil
		}
		row(s.ID, day(s.TSFrom), day(s.TSTo), s.Status, values)
	}
	if wf := d.report.WalkForward; wf != nil {
		row("walk-forward", fmt.Sprintf("%d windows", wf.Windows), fmt.Sprintf("%d days", wf.Days), "",
			wf.Metrics)
	}
	return &t
}

func (d *run) facts() []page.Fact {
	var out []page.Fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, page.Fact{Name: name, Value: value})
		}
	}
	m := d.meta
	add("run", d.row.RunID)
	add("status", d.row.Status)
	if d.report != nil {
		add("strategy", strings.TrimSpace(d.report.Strategy.Name+" "+d.report.Strategy.Version))
	} else {
		add("strategy", d.row.Slug)
	}
	out = append(out, params(m.Params)...)
	add("symbols", strings.Join(m.Symbols, ", "))
	add("timeframe", m.Timeframe)
	add("exchange", m.Exchange)
	if m.StartDate != 0 && m.EndDate != 0 {
		add("asked window", m.StartDate.String()+" to "+m.EndDate.String())
	}
	add("execution", string(m.Execution))
	add("seed", m.Seed)
	for _, x := range m.Data {
		add("candles", x.Symbol+" "+x.Timeframe+" "+x.SHA256)
	}
	add("program", m.Plugin.SHA256)
	add("engine", m.Engine.SHA256)
	add("request_hash", d.row.RequestHash)
	if m.ResultHash != nil {
		add("result_hash", *m.ResultHash)
	}
	return out
}

// params is a fact per parameter.
func params(text json.RawMessage) []page.Fact {
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	var out []page.Fact
	for name, value := range all {
		out = append(out, page.Fact{Name: "parameter " + name, Value: string(value)})
	}
	slices.SortFunc(out, func(a, b page.Fact) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// group is a heading of metrics, with the keys that stand under it.
type group struct {
	title string
	keys  []string
}

var groups = []group{
	{"Return and drawdown", []string{"total_return", "buy_hold_return", "cagr", "cagr_candle", "max_drawdown",
		"max_drawdown_day", "max_drawdown_duration_seconds", "calmar_ratio", "calmar_ratio_candle"}},
	{"Risk and its ratios", []string{"sharpe_ratio", "sharpe_stderr", "psr", "sharpe_ratio_candle",
		"sortino_ratio", "sortino_ratio_candle", "volatility", "volatility_candle"}},
	{
		"Trades",
		[]string{"total_trades", "win_rate", "profit_factor", "expectancy", "average_win", "average_loss",
			"best_trade", "worst_trade", "average_trade_return", "average_candles_held", "sqn"},
	},
	{"Activity and costs", []string{"exposure", "time_in_market", "turnover", "fees_paid", "slippage_paid"}},
}

// metrics are all numbers in groups, what no group names under its own heading.
func (d *run) metrics() []page.Table {
	head := []string{"metric", "value", "what it is"}
	out := make([]page.Table, len(groups)+1)
	for i, g := range groups {
		out[i] = page.Table{Label: g.title, Head: head}
	}
	last := len(groups)
	out[last] = page.Table{Label: "Counts", Head: head}
	for _, m := range metric.All() {
		at := slices.IndexFunc(groups, func(g group) bool { return slices.Contains(g.keys, m.Key) })
		if at < 0 {
			at = last
		}
		value := page.NA + ": " + d.reason(m.Key)
		if x := d.number(m.Key); x != nil {
			value = inUnit(*x, m.Unit)
		}
		out[at].Rows = append(out[at].Rows, page.Row{Cells: []page.Cell{{Text: m.Key}, {Text: value},
			{Text: m.Doc, Class: "text"}}})
	}
	return out
}

func inUnit(x float64, unit metric.Unit) string {
	switch unit {
	case metric.Fraction:
		return page.Percent(&x)
	case metric.Count:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case metric.Quote:
		return money(x)
	case metric.Seconds:
		return span(x)
	}
	return page.Number(&x)
}

// money is an amount with two digits after the point.
func money(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// span is seconds in the unit that a person would choose.
func span(seconds float64) string {
	switch {
	case seconds >= 2*86400:
		return strconv.FormatFloat(seconds/86400, 'f', 1, 64) + " days"
	case seconds >= 2*3600:
		return strconv.FormatFloat(seconds/3600, 'f', 1, 64) + " hours"
	}
	return strconv.FormatFloat(seconds/60, 'f', 0, 64) + " minutes"
}
