package family

import (
	_ "embed" // the template
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
)

//go:embed page.html
var content string

// mostRows bounds the table of trials: the best ones are shown, trials.csv has all.
const mostRows = 500

// Page is the page of a family.
type Page struct {
	view page.View
	body *body
}

// body is what the template shows.
type body struct {
	Verdict        page.Verdict
	More           []string
	Hypothesis     string
	Facts          []page.Fact
	Optimised      *page.Table
	OptimisedFacts []page.Fact
	Selected       []page.Fact
	Equity, Luck   *page.Figure
	Heat           *page.Figure
	Parameters     []page.Figure
	Trials         page.Table
}

// PageOf makes the page of a family. run is the evaluation of the selected parameters, nil
// without one; holding is what one unit of money held in the first symbol has become on the days
// of the outcome's equity, nil where it is not known.
func PageOf(s *Search, o *Outcome, run *request.Result, holding []float64) (*Page, error) {
	b := &body{Hypothesis: s.Plan.Hypothesis, Verdict: page.Verdict{Class: "none"}}
	v := &Page{
		body: b,
		view: page.View{Kind: "Family, " + o.Result.Status, Heading: s.Plan.Slug + ": " + s.ID,
			Title: s.Plan.Slug + ": family " + s.ID, Content: b},
	}
	words := Sentences(o)
	b.Verdict.Sentence, b.More = words[0], words[1:]
	if o.Verdict != nil {
		b.Verdict.Class = o.Verdict.Verdict
	}
	if sel := o.Result.Selection; sel != nil && sel.DSRMax != nil {
		b.Verdict.Points = append(b.Verdict.Points, page.Point{Class: b.Verdict.Class,
			Mark: page.Mark(b.Verdict.Class), Text: believe(sel)})
	}
	if run != nil {
		v.view.Links = []page.Anchor{
			{Href: page.Link(run.RunID), Text: "Tear sheet of the selected run, " + run.RunID},
		}
		b.Verdict.Points = append(b.Verdict.Points, page.Point{Class: "none", Mark: page.Mark("none"),
			Text: "The selected parameters as a run of their own: " + run.RunID, Href: page.Link(run.RunID)})
	}
	b.facts(s, o)
	b.optimised(o.Result.Optimised)
	b.selected(o, run, holding)
	b.table(s, o)
	b.luck(o)
	return v, b.dependence(s, o)
}

// Write writes the page.
func (v *Page) Write(w io.Writer) error { return page.Write(w, content, v.view) }

// believe is what it would take to believe the search.
func believe(s *selection.Selection) string {
	text := "To believe it, a search without skill may reach this ratio in at most 5 % of all cases; it " +
		"does in " + Percent(s.DSRMaxTest.P) + "."
	if s.MinBTLYears != nil {
		text += " With as many trials, a backtest shorter than " + Number(s.MinBTLYears) +
			" years reaches it by luck."
	}
	return text
}

func (b *body) facts(s *Search, o *Outcome) {
	p := s.Plan
	add := func(name, format string, args ...any) {
		b.Facts = append(b.Facts, page.Fact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	add("plan", "%s", s.ID)
	add("plan_hash", "%s", s.Hash)
	if p.Amends != nil {
		add("amends", "%s", *p.Amends)
	}
	add("objective", "%s of %s, %s", p.Objective.Metric, p.Objective.On, p.Objective.Direction)
	add("search", "%s, %d trials, seed %s", p.Method, len(p.Trials), p.Seed)
	if p.SHA != nil {
		add("rungs", "first %d windows, then %d times as many for one in %d", p.SHA.MinWindows, p.SHA.Eta,
			p.SHA.Eta)
	}
	add("space", "%s", canonical(p.Space))
	if len(p.Constraints) > 0 {
		add("constraints", "%s", canonical(p.Constraints))
	}
	add("selection rule", "%s", p.SelectionRule)
	if sel := o.Result.Selection; sel != nil {
		add("N", "%d trials on these days (%d before this plan), %d of them of %s; %s",
			sel.NTrials, p.PriorTrials, sel.NTrialsFamily, p.FamilyID, registry.NotCounted)
	} else {
		add("N before", "%d", p.PriorTrials)
	}
	c := o.Result.Counts
	add("trials", "%d completed, %d failed, %d pruned", c.Completed, c.Failed, c.Pruned)
	add("result_hash", "%s", o.Result.ResultHash)
}

// canonical is a value as the plan has it.
func canonical(v any) string {
	text, err := digest.JCS(v)
	if err != nil { // the plan itself was made of it
		return page.NA
	}
	return string(text)
}

// shown are the metrics of the walk-forward-optimised series.
func shown() []string {
	return []string{"sharpe_ratio", "total_return", "cagr", "max_drawdown", "total_trades", "win_rate",
		"exposure", "fees_paid"}
}

func (b *body) optimised(o *Optimised) {
	if o == nil {
		return
	}
	b.Optimised = &page.Table{Label: "Windows of the search",
		Head: []string{"window", "chosen", "objective in training", "objective in test"}}
	for _, w := range o.Windows {
		chosen := "none"
		if w.ChosenTrial != nil {
			chosen = "t" + strconv.Itoa(*w.ChosenTrial)
		}
		b.Optimised.Rows = append(b.Optimised.Rows, page.Row{Cells: page.Cells(w.SplitID, chosen,
			Number(w.TrainObjective), Number(w.TestObjective))})
	}
	if o.Metrics != nil {
		for _, key := range shown() {
			if slices.ContainsFunc(*o.Metrics, func(x metric.Value) bool { return x.Key == key }) {
				b.OptimisedFacts = append(
					b.OptimisedFacts,
					page.Fact{Name: key, Value: metricText(*o.Metrics, key)},
				)
			}
		}
	}
	b.OptimisedFacts = append(b.OptimisedFacts,
		page.Fact{Name: "efficiency (test / train, information only)", Value: Number(o.Efficiency)})
}

// metricText is a metric in its unit.
func metricText(values metric.Values, key string) string {
	x, defined := values.Get(key)
	if !defined {
		return page.NA
	}
	for _, m := range metric.All() {
		switch {
		case m.Key != key:
		case m.Unit == metric.Fraction:
			return Percent(&x)
		case m.Unit == metric.Count:
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
	}
	return Number(&x)
}

func (b *body) selected(o *Outcome, run *request.Result, holding []float64) {
	s := o.Result.Selected
	if s == nil {
		return
	}
	b.Selected = []page.Fact{{Name: "trial", Value: "t" + strconv.Itoa(s.TrialIndex) + ", " + s.RunID},
		{Name: "parameters", Value: string(s.Params)}, {Name: "rule", Value: s.Rule}}
	if run != nil {
		b.Selected = append(b.Selected, page.Fact{Name: "run",
			Value: run.RunID + " (" + run.Report.Status + ", validation contaminated)"})
	}
	b.Selected = append(b.Selected,
		page.Fact{Name: "median objective around it", Value: Number(o.Result.Plateau.Selected)},
		page.Fact{Name: "best such median", Value: Number(o.Result.Plateau.Best)})
	b.Equity = equity(o.Equity, holding)
}

// mostPoints are more than can be told apart.
const mostPoints = 800

// equity draws levels against holding, thinned evenly, the last one always there; nil below two.
func equity(levels []Level, holding []float64) *page.Figure {
	if len(levels) < 2 {
		return nil
	}
	held := len(holding) == len(levels)
	account := page.Line{Class: "c0"}
	hold := page.Line{Class: "c1", Dashed: true}
	step := max(1, (len(levels)+mostPoints-1)/mostPoints)
	for i := 0; i < len(levels); i++ {
		if i%step != 0 && i != len(levels)-1 {
			continue
		}
		at, err := time.Parse(time.DateOnly, levels[i].Date)
		if err != nil {
			continue
		}
		x := float64(at.UnixMilli())
		account.X, account.Y = append(account.X, x), append(account.Y, levels[i].Value)
		if held {
			hold.X, hold.Y = append(hold.X, x), append(hold.Y, holding[i])
		}
	}
	c := page.Chart{Label: "equity of the selected trial over the stitched walk-forward, from 1", Wide: true,
		Height: 280, X: page.Axis{Time: true}, Y: page.Axis{Log: slices.Min(account.Y) > 0}}
	f := &page.Figure{Title: "The selected trial over the stitched walk-forward, from 1",
		Keys: []page.Key{{Class: "c0", Text: "selected trial"}}}
	if held {
		c.Lines = append(c.Lines, hold)
		f.Keys = append(f.Keys, page.Key{Class: "c1", Text: "holding the first symbol"})
	} else {
		f.Why = "No line of holding: the candles are not at hand."
	}
	if c.Y.Log {
		f.Note = "logarithmic scale"
	}
	c.Lines = append(c.Lines, account)
	f.Body = c.SVG()
	return f
}

func (b *body) table(s *Search, o *Outcome) {
	b.Trials.Label = "Trials, best first"
	keys := []string{}
	for _, key := range append([]string{"sharpe_ratio", "total_return", "max_drawdown", "total_trades",
		"win_rate"}, s.Plan.Secondary...) {
		if key != s.Plan.Objective.Metric && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	b.Trials.Head = append(append([]string{"rank", "trial", "status", s.Plan.Objective.Metric, "windows",
		"parameters"}, keys...), "plateau", "failure")
	list := slices.Clone(o.Trials)
	slices.SortStableFunc(list, func(a, b *Trial) int { return place(a) - place(b) })
	if len(list) > mostRows {
		b.Trials.Hidden = fmt.Sprintf("%d more are in trials.csv.", len(list)-mostRows)
		list = list[:mostRows]
	}
	for _, t := range list {
		rank := ""
		if t.Rank > 0 {
			rank = strconv.Itoa(t.Rank)
		}
		row := page.Row{Cells: page.Cells(rank, "t"+strconv.Itoa(t.Index), t.Status, Number(t.Objective),
			strconv.Itoa(len(t.Windows)), string(t.Params))}
		if t.RunID != "" { // its folder: hundreds of trials have no page until lab report makes one
			row.Cells[1].Href = "../../runs/" + t.RunID + "/"
		}
		for _, key := range keys {
			row.Cells = append(row.Cells, page.Cell{Text: metricText(t.Metrics, key)})
		}
		row.Cells = append(row.Cells, page.Cells(Number(t.Plateau), t.FailureCode)...)
		if o.Result.Selected != nil && o.Result.Selected.TrialIndex == t.Index {
			row.Class = "chosen"
		}
		b.Trials.Rows = append(b.Trials.Rows, row)
	}
}

// place orders by rank; what has none comes last.
func place(t *Trial) int {
	if t.Rank == 0 {
		return math.MaxInt32
	}
	return t.Rank
}

// luck is the distribution of the trials' ratios against what the best of as many without skill
// is expected to reach.
func (b *body) luck(o *Outcome) {
	var ratios []float64
	var chosen *float64
	for _, t := range o.Trials {
		x, defined := t.Metrics.Get("sharpe_ratio")
		if !defined || t.Status != Completed {
			continue
		}
		ratios = append(ratios, x)
		if o.Result.Selected != nil && o.Result.Selected.TrialIndex == t.Index {
			chosen = &x
		}
	}
	if len(ratios) < 2 {
		return
	}
	c := page.Chart{Wide: true, Height: 240, Bars: page.Histogram(ratios, 40),
		Label: fmt.Sprintf("Sharpe ratios of %d trials from %.2f to %.2f", len(ratios), slices.Min(ratios),
			slices.Max(ratios))}
	f := &page.Figure{Title: "The trials against luck", Note: "annual Sharpe ratios of the trials"}
	if chosen != nil {
		c.Rules = append(c.Rules, page.Rule{X: *chosen, Name: "selected"})
	}
	if luck, n := o.Result.Luck(); luck != nil {
		c.Rules = append(c.Rules, page.Rule{X: *luck, Name: "best by luck"})
		f.Why = fmt.Sprintf(
			"Without any skill, the best of %s independent trials with this spread is expected at %.2f.",
			Number(&n), *luck)
	}
	f.Body = c.SVG()
	b.Luck = f
}

// mostDots bounds a scatter.
const mostDots = 2000

// dependence is the objective along each parameter, and over the two that matter most.
func (b *body) dependence(s *Search, o *Outcome) error {
	var points []point
	for _, t := range o.Trials {
		if t.Status != Completed || t.Objective == nil || len(points) == mostDots {
			continue
		}
		at, err := s.Plan.Space.Position(t.Params)
		if err != nil {
			return err
		}
		points = append(points, point{at: at, params: values(t.Params), objective: *t.Objective,
			chosen: o.Result.Selected != nil && o.Result.Selected.TrialIndex == t.Index})
	}
	for k, i := range o.Result.Importance {
		c := page.Chart{Label: "objective along " + i.Param, Height: 180, X: page.Axis{Low: -0.02, High: 1.02,
			Names: ends(s.Plan.Space, i.Param)}}
		for _, p := range points {
			c.Dots = append(c.Dots, page.Dot{X: p.at[k], Y: p.objective, Class: "c0", Chosen: p.chosen})
		}
		b.Parameters = append(b.Parameters, page.Figure{Title: i.Param, Body: c.SVG(),
			Note: "rank correlation " + Number(i.RankCorrelation) + ", variance explained " +
				Percent(i.VarianceExplained)})
	}
	b.Heat = heat(s.Plan.Space, o.Result.Importance, points)
	return nil
}
