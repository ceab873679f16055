package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The most points of a line and of a scatter: more cannot be told apart.
const (
	linePoints = 1000
	dotPoints  = 1500
)

// day is a date.
func day(t market.Time) string {
	if t == 0 {
		return ""
	}
	return t.String()[:10]
}

// drawn is a line that is thinned for the eye; of is how many points there were.
func drawn(times []market.Time, values []float64) (x, y []float64, of int) {
	at := metric.Thin(times, values, linePoints)
	for _, i := range at {
		x, y = append(x, float64(times[i])), append(y, values[i])
	}
	return x, y, len(times)
}

// thinned says so where fewer points are drawn than there are.
func thinned(n int) string {
	if n <= linePoints {
		return ""
	}
	return fmt.Sprintf("%d of %d points drawn", linePoints, n)
}

func (d *run) sections() []section {
	l := d.levels()
	list := []section{d.account(l)}
	list = append(list, d.overTime(l)...)
	trades := d.trades()
	if len(trades) == 0 {
		return append(list, section{Title: "Trades", Text: "No trade was closed."})
	}
	return append(list, d.distribution(trades), costs(trades), byTime(trades))
}

// account is equity against holding, linear and logarithmic, and how far below the peaks.
func (d *run) account(l levels) section {
	s := section{Title: "The account against holding"}
	if len(l.time) < 2 {
		s.Text = "There is no equity curve to draw."
		return s
	}
	held := l.holding != nil
	keys := []page.Key{{Class: "c0", Text: "this run"}}
	if held {
		keys = append(keys, page.Key{Class: "c1", Text: "holding " + d.meta.Data[0].Symbol})
	} else {
		s.Text = "No line of holding: " + d.noHolding
	}
	chart := func(label string, log bool, height float64, a, b []float64, format func(float64) string,
		area bool) page.Figure {
		x, y, n := drawn(l.time, a)
		c := page.Chart{Label: label, Wide: true, Height: height, X: page.Axis{Time: true},
			Y: page.Axis{Log: log, Format: format}}
		if b != nil {
			hx, hy, _ := drawn(l.time, b)
			c.Lines = append(c.Lines, page.Line{X: hx, Y: hy, Class: "c1", Dashed: true})
		}
		c.Lines = append(c.Lines, page.Line{X: x, Y: y, Class: "c0", Area: area})
		return page.Figure{Title: label, Note: thinned(n), Body: c.SVG(), Keys: keys}
	}
	s.Wide = append(s.Wide, chart("Equity", false, 300, l.account, l.holding, nil, false))
	logarithmic := chart("Equity, logarithmic scale", true, 300, l.account, l.holding, nil, false)
	if least(l.account) <= 0 {
		logarithmic.Note = "what is not above 0 is left out"
	}
	s.Wide = append(s.Wide, logarithmic)
	var below []float64
	if held {
		below = underwater(l.holding)
	}
	s.Wide = append(s.Wide, chart("Underwater: below the last peak", false, 180, underwater(l.account), below,
		page.AsPercent, true))
	t := page.Table{Label: "The worst drawdowns",
		Head: []string{"depth", "peak", "lowest", "recovered", "days"}}
	for _, x := range worst(l.time, l.account, 5) {
		end := day(x.end)
		if x.open {
			end = "not yet"
		}
		days := float64(x.end-x.peak) / 86400e3
		t.Rows = append(
			t.Rows,
			page.Row{Cells: page.Cells(page.Percent(&x.depth), day(x.peak), day(x.trough), end,
				strconv.FormatFloat(days, 'f', 0, 64))},
		)
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	return s
}

func least(x []float64) float64 {
	low := math.Inf(1)
	for _, v := range x {
		low = min(low, v)
	}
	return low
}

// overTime is months and years, rolling numbers, returns and exposure.
func (d *run) overTime(l levels) []section {
	if len(l.time) < 2 {
		return nil
	}
	names := []string{
		"Jan",
		"Feb",
		"Mar",
		"Apr",
		"May",
		"Jun",
		"Jul",
		"Aug",
		"Sep",
		"Oct",
		"Nov",
		"Dec",
		"Year",
	}
	heat := page.Heat{Label: "Returns by month and year", Corner: "year", Columns: names, Total: true,
		Format: func(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) }}
	for _, y := range monthly(l.time, l.account) {
		heat.Rows = append(heat.Rows, page.HeatRow{Name: strconv.Itoa(y.number),
			Values: append(append([]float64{}, y.months[:]...), y.whole), Chosen: -1})
	}
	months := section{Title: "Months and years", Wide: []page.Figure{{Title: "Return by month, in percent",
		Note: "Blue is a gain, orange a loss. The first and the last month count as far as they go.",
		Body: heat.HTML()}}}
	r := d.rolling()
	ratio := page.Figure{Title: "Rolling Sharpe ratio"}
	volatility := page.Figure{Title: "Rolling volatility"}
	if r.window == 0 {
		ratio.Why = fmt.Sprintf(
			"Too few returns: a window of at least %d is needed, three times over.",
			leastWindow,
		)
		volatility.Why = ratio.Why
	} else {
		note := fmt.Sprintf("annual, over the last %d returns by the %s", r.window, d.returns.Sample)
		chart := func(label string, values []float64, format func(float64) string, zero bool) page.Chart {
			return page.Chart{Label: label + ", " + note, X: page.Axis{Time: true},
				Y:     page.Axis{Format: format, Zero: zero},
				Lines: []page.Line{{X: r.time, Y: values, Class: "c0"}}}
		}
		ratio.Note, volatility.Note = note, note
		ratio.Body = chart("Rolling Sharpe ratio", r.sharpe, nil, true).SVG()
		volatility.Body = chart("Rolling volatility", r.volatility, page.AsPercent, true).SVG()
	}
	x, y, n := drawn(l.time, l.exposure)
	exposure := page.Figure{Title: "Exposure", Note: thinned(n), Body: page.Chart{
		Label: "Value of the positions over equity", X: page.Axis{Time: true},
		Y:     page.Axis{Format: page.AsPercent, Zero: true},
		Lines: []page.Line{{X: x, Y: y, Class: "c0", Area: true}}}.SVG(),
		Why: "Mean " + page.Percent(d.number("exposure")) + ", in the market " +
			page.Percent(d.number("time_in_market")) + " of the time."}
	returns := histogram("Returns by the "+d.returns.Sample, d.returns.Return, page.AsPercent)
	return []section{
		months,
		{Title: "How it changed", Half: []page.Figure{ratio, volatility, returns, exposure}},
	}
}

// histogram counts values, with a rule at their mean.
func histogram(title string, values []float64, format func(float64) string) page.Figure {
	f := page.Figure{Title: title}
	if len(values) < 2 {
		f.Why = "There is too little to count."
		return f
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	f.Note = fmt.Sprintf("%d of them", len(values))
	f.Body = page.Chart{Label: title + ", histogram", X: page.Axis{Format: format},
		Bars: page.Histogram(values, 40), Rules: []page.Rule{{X: mean, Name: "mean"}}}.SVG()
	return f
}

// distribution is how trades have gone.
func (d *run) distribution(list []trade) section {
	var returns, held []float64
	step := max(1, (len(list)+dotPoints-1)/dotPoints)
	scatter := page.Chart{Label: "Worst and best excursion of trades, in percent of what was opened",
		X: page.Axis{Format: page.AsPercent}, Y: page.Axis{Format: page.AsPercent, Zero: true}}
	for i := range list {
		t := &list[i]
		returns, held = append(returns, t.ret), append(held, float64(t.exit-t.entry)/3600e3)
		if i%step == 0 {
			class := "c1"
			if t.pnl > 0 {
				class = "c0"
			}
			scatter.Dots = append(scatter.Dots, page.Dot{X: t.mae, Y: t.mfe, Class: class})
		}
	}
	excursion := page.Figure{
		Title: "MAE and MFE",
		Note:  "worst excursion across, best excursion up, of each trade",
		Body:  scatter.SVG(),
		Keys:  []page.Key{{Class: "c0", Text: "won"}, {Class: "c1", Text: "lost"}},
	}
	if step > 1 {
		excursion.Note += fmt.Sprintf("; one in %d trades drawn", step)
	}
	hours := func(x float64) string {
		if x >= 72 {
			return strconv.FormatFloat(x/24, 'g', 3, 64) + " d"
		}
		return strconv.FormatFloat(x, 'g', 3, 64) + " h"
	}
	return section{
		Title: "Trades",
		Half: []page.Figure{histogram("Return of a trade", returns, page.AsPercent),
			excursion, histogram("Holding time", held, hours)},
		Tables: []page.Table{tallied("By symbol",
			tallies(list, nil, func(t *trade) string { return t.symbol })), tallied("By direction",
			tallies(list, nil, func(t *trade) string { return t.direction }))},
	}
}

func tallied(label string, list []tally) page.Table {
	t := page.Table{Label: label, Head: []string{"group", "trades", "won", "gross", "fees", "net"}}
	for _, x := range list {
		won := page.NA
		if x.n > 0 {
			share := float64(x.won) / float64(x.n)
			won = page.Percent(&share)
		}
		t.Rows = append(t.Rows, page.Row{Cells: page.Cells(x.name, strconv.Itoa(x.n), won, money(x.gross),
			money(x.fees), money(x.pnl))})
	}
	return t
}

// costs are fees and slippage beside what was earned before them.
func costs(list []trade) section {
	var t tally
	for i := range list {
		t.add(&list[i])
	}
	gross := t.gross + t.slippage
	share := func(x float64) string {
		if gross <= 0 {
			return page.NA + ": no gross profit"
		}
		part := x / gross
		return page.Percent(&part)
	}
	table := page.Table{
		Label: "Closed trades, in quote currency",
		Head:  []string{"item", "amount", "share of gross"},
	}
	for _, x := range []struct {
		name   string
		amount float64
	}{{"gross, before fees and slippage", gross}, {"slippage", t.slippage}, {"fees", t.fees},
		{"fees and slippage", t.fees + t.slippage}, {"net", t.pnl}} {
		table.Rows = append(table.Rows, page.Row{Cells: page.Cells(x.name, money(x.amount), share(x.amount))})
	}
	return section{Title: "Costs", Tables: []page.Table{table}}
}

// byTime is what trades earned by the weekday and the hour in which they began.
func byTime(list []trade) section {
	weekdays := []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	var hours []string
	for h := range 24 {
		hours = append(hours, fmt.Sprintf("%02d", h))
	}
	week := tallies(list, weekdays, func(t *trade) string { return t.entry.Time().Weekday().String() })
	clock := tallies(list, hours, func(t *trade) string { return fmt.Sprintf("%02d", t.entry.Time().Hour()) })
	bars := func(title string, of []tally, names []string) page.Figure {
		c := page.Chart{Label: title, X: page.Axis{Low: -0.5, High: float64(len(of)) - 0.5, Names: names}}
		for i, x := range of {
			class := "c0"
			if x.pnl < 0 {
				class = "c1"
			}
			at := float64(i)
			c.Bars = append(c.Bars, page.Bar{From: at - 0.4, To: at + 0.4, Y: x.pnl, Class: class})
		}
		return page.Figure{Title: title, Body: c.SVG()}
	}
	short := []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	return section{
		Title: "Weekday and hour of entry",
		Text:  "UTC. With this many groups some look good by luck.",
		Half: []page.Figure{bars("Net by weekday, in quote currency", week, short),
			bars("Net by hour, in quote currency", clock, hours)},
		Tables: []page.Table{tallied("By weekday", week), tallied("By hour", clock)},
	}
}
