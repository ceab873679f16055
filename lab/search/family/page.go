package family

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/selection"
)

// FileName is the name of the page beside plan.json.
const PageFile = "report.html"

//go:embed page.html
var source string

// mostRows bounds the table of trials: the best ones are shown, trials.csv has all.
const mostRows = 500

// View is what the page shows, as text.
type Page struct {
	Slug, Hypothesis, PlanID, PlanHash, Status string
	Verdict                                    string // pass, warn, fail, inconclusive or none
	Words                                      []string
	Facts                                      []Fact
	Optimised                                  [][]string
	OptimisedMetrics                           []Fact
	Selected                                   []Fact
	Equity                                     *Chart
	Parameters                                 []Parameter
	Plateau                                    []Fact
	Columns                                    []string
	Rows                                       []Row
	Hidden                                     int
}

// Fact is a name and what it is.
type Fact struct{ Name, Value string }

// Row is a trial: its cells, the second of which leads to the folder of its run, if it has one.
type Row struct {
	Cells  []string
	RunID  string
	Chosen bool
}

// Parameter is one dimension of the search: how much depends on it, and the objective of
// every trial along it.
type Parameter struct {
	Name, Rank, Explained string
	Chart                 *Chart
}

// Of makes the view of a family; run is the evaluation of the selected parameters, nil
// without one.
func PageOf(s *Search, o *Outcome, run *request.Answer) (*Page, error) {
	r := o.Result
	v := &Page{
		Slug: s.Plan.Slug, Hypothesis: s.Plan.Hypothesis, PlanID: s.ID, PlanHash: s.Hash, Status: r.Status,
		Verdict: "none", Words: Sentences(o),
	}
	if o.Verdict != nil {
		v.Verdict = o.Verdict.Verdict
	}
	v.facts(s, o)
	v.optimised(r.Optimised)
	v.selected(o, run)
	v.table(s, o)
	return v, v.parameters(s, o)
}

// Write writes the page.
func (v *Page) Write(w io.Writer) error {
	t, err := template.New(PageFile).Parse(source)
	if err != nil {
		return err
	}
	return t.Execute(w, v)
}

func (v *Page) facts(s *Search, o *Outcome) {
	p := s.Plan
	add := func(name, format string, args ...any) {
		v.Facts = append(v.Facts, Fact{name, fmt.Sprintf(format, args...)})
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
		return "n/a"
	}
	return string(text)
}

// shown are the metrics of the walk-forward-optimised series.
func shown() []string {
	return []string{"sharpe_ratio", "total_return", "cagr", "max_drawdown", "total_trades", "win_rate",
		"exposure", "fees_paid"}
}

func (v *Page) optimised(o *Optimised) {
	if o == nil {
		return
	}
	for _, w := range o.Windows {
		chosen := "none"
		if w.ChosenTrial != nil {
			chosen = "t" + strconv.Itoa(*w.ChosenTrial)
		}
		v.Optimised = append(v.Optimised,
			[]string{w.SplitID, chosen, Number(w.TrainObjective), Number(w.TestObjective)})
	}
	if o.Metrics != nil {
		for _, key := range shown() {
			if slices.ContainsFunc(*o.Metrics, func(x metric.Value) bool { return x.Key == key }) {
				v.OptimisedMetrics = append(v.OptimisedMetrics, Fact{key, metricText(*o.Metrics, key)})
			}
		}
	}
	v.OptimisedMetrics = append(v.OptimisedMetrics,
		Fact{"efficiency (test / train, information only)", Number(o.Efficiency)})
}

// metricText is a metric in its unit.
func metricText(values metric.Values, key string) string {
	x, defined := values.Get(key)
	if !defined {
		return "n/a"
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

func (v *Page) selected(o *Outcome, run *request.Answer) {
	s := o.Result.Selected
	if s == nil {
		return
	}
	v.Selected = []Fact{{"trial", "t" + strconv.Itoa(s.TrialIndex) + ", " + s.RunID},
		{"parameters", string(s.Params)}, {"rule", s.Rule}}
	if run != nil {
		v.Selected = append(v.Selected,
			Fact{"run", run.RunID + " (" + run.Report.Status + ", validation contaminated)"})
	}
	v.Equity = equity(o.Equity)
	v.Plateau = []Fact{{"median objective around the selected trial", Number(o.Result.Plateau.Selected)},
		{"best such median", Number(o.Result.Plateau.Best)}}
}

func (v *Page) table(s *Search, o *Outcome) {
	v.Columns = []string{"rank", "trial", "status", s.Plan.Objective.Metric, "windows", "parameters"}
	keys := []string{}
	for _, key := range append([]string{"sharpe_ratio", "total_return", "max_drawdown", "total_trades",
		"win_rate"}, s.Plan.Secondary...) {
		if key != s.Plan.Objective.Metric && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	v.Columns = append(append(v.Columns, keys...), "plateau", "failure")
	list := slices.Clone(o.Trials)
	slices.SortStableFunc(list, func(a, b *Trial) int { return place(a) - place(b) })
	if len(list) > mostRows {
		v.Hidden = len(list) - mostRows
		list = list[:mostRows]
	}
	for _, t := range list {
		rank := ""
		if t.Rank > 0 {
			rank = strconv.Itoa(t.Rank)
		}
		cells := []string{rank, "t" + strconv.Itoa(t.Index), t.Status, Number(t.Objective),
			strconv.Itoa(len(t.Windows)), string(t.Params)}
		for _, key := range keys {
			cells = append(cells, metricText(t.Metrics, key))
		}
		chosen := o.Result.Selected != nil && o.Result.Selected.TrialIndex == t.Index
		v.Rows = append(v.Rows, Row{append(cells, Number(t.Plateau), t.FailureCode), t.RunID, chosen})
	}
}

// place orders by rank; what has none comes last.
func place(t *Trial) int {
	if t.Rank == 0 {
		return 1 << 30
	}
	return t.Rank
}

func (v *Page) parameters(s *Search, o *Outcome) error {
	for k, i := range o.Result.Importance {
		var dots []Dot
		for _, t := range o.Trials {
			if t.Status != Completed || t.Objective == nil || len(dots) == mostDots {
				continue
			}
			at, err := s.Plan.Space.Position(t.Params)
			if err != nil {
				return err
			}
			dots = append(dots,
				Dot{X: at[k], Y: *t.Objective, Chosen: o.Result.Selected != nil &&
					o.Result.Selected.TrialIndex == t.Index})
		}
		v.Parameters = append(v.Parameters, Parameter{
			Name: i.Param, Rank: Number(i.RankCorrelation), Explained: Percent(i.VarianceExplained),
			Chart: scatter(i.Param, ends(s.Plan.Space, i.Param), dots),
		})
	}
	return nil
}

// ends are the values at the two ends of a parameter.
func ends(space design.Space, name string) [2]string {
	p, _ := space.Find(name)
	switch {
	case p.Kind == design.Bool:
		return [2]string{"false", "true"}
	case p.Kind == design.Choice:
		return [2]string{string(p.Values[0]), string(p.Values[len(p.Values)-1])}
	}
	return [2]string{Number(&p.Low), Number(&p.High)}
}

// The sizes of charts, in units of their view boxes.
const (
	wide, high   = 900.0, 240.0
	small        = 150.0
	smallWide    = 280.0
	margin       = 6.0
	mostPoints   = 600
	mostDots     = 2000
	radius       = 2.2
	radiusChosen = 4.5
)

// Chart is an inline SVG: a line, or dots, with the ends of its axes as text.
type Chart struct {
	Label         string
	Width, Height string
	Path          string
	// Base is the height of the level where the line began, empty without one.
	Base        string
	Dots        []Mark
	Low, High   string
	First, Last string
}

// Mark is a drawn dot.
type Mark struct {
	X, Y, R string
	Chosen  bool
}

// Dot is a point of a scatter: X in [0, 1).
type Dot struct {
	X, Y   float64
	Chosen bool
}

// equity draws levels as a line, thinned evenly, the last one always there; nil below two.
func equity(levels []Level) *Chart {
	if len(levels) < 2 {
		return nil
	}
	low, top := 1.0, 1.0
	for _, l := range levels {
		low, top = min(low, l.Value), max(top, l.Value)
	}
	c := &Chart{
		Label: "equity of the selected trial over the stitched walk-forward, from 1", Width: unit(wide),
		Height: unit(high),
		Low:    Number(&low), High: Number(&top), First: levels[0].Date, Last: levels[len(levels)-1].Date,
		Base: unit(vertical(1, low, top, high)),
	}
	var path strings.Builder
	step := max(1, (len(levels)+mostPoints-1)/mostPoints)
	for i := 0; i < len(levels); i += step {
		draw(&path, i, levels, low, top)
	}
	if (len(levels)-1)%step != 0 {
		draw(&path, len(levels)-1, levels, low, top)
	}
	c.Path = path.String()
	return c
}

func draw(path *strings.Builder, i int, levels []Level, low, top float64) {
	letter := "L"
	if path.Len() == 0 {
		letter = "M"
	}
	x := margin + float64(i)/float64(len(levels)-1)*(wide-2*margin)
	path.WriteString(letter + unit(x) + " " + unit(vertical(levels[i].Value, low, top, high)))
}

// vertical is where a value lies in a chart, from the top.
func vertical(y, low, top, height float64) float64 {
	if top <= low {
		return height / 2
	}
	return margin + (top-y)/(top-low)*(height-2*margin)
}

// scatter draws the objective along one parameter; nil without dots.
func scatter(name string, ends [2]string, dots []Dot) *Chart {
	if len(dots) == 0 {
		return nil
	}
	low, top := dots[0].Y, dots[0].Y
	for _, d := range dots {
		low, top = min(low, d.Y), max(top, d.Y)
	}
	c := &Chart{Label: "objective along " + name, Width: unit(smallWide), Height: unit(small),
		Low: Number(&low), High: Number(&top), First: ends[0], Last: ends[1]}
	var last []Mark
	for _, d := range dots {
		m := Mark{X: unit(margin + d.X*(smallWide-2*margin)), Y: unit(vertical(d.Y, low, top, small)),
			R: unit(radius), Chosen: d.Chosen}
		if d.Chosen {
			m.R = unit(radiusChosen)
			last = append(last, m) // above the others
			continue
		}
		c.Dots = append(c.Dots, m)
	}
	c.Dots = append(c.Dots, last...)
	return c
}

// unit is a coordinate with a tenth of a unit.
func unit(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// Number is a value with four significant digits, n/a where it is undefined.
func Number(x *float64) string {
	if x == nil {
		return "n/a"
	}
	if a := math.Abs(*x); a != 0 && (a < 1e-3 || a >= 1e6) {
		return strconv.FormatFloat(*x, 'e', 2, 64)
	}
	if a := math.Abs(*x); a >= 1000 {
		return strconv.FormatFloat(*x, 'f', 0, 64)
	}
	return strconv.FormatFloat(*x, 'g', 4, 64)
}

// Percent is a fraction as a percentage, n/a where it is undefined.
func Percent(x *float64) string {
	if x == nil {
		return "n/a"
	}
	return strconv.FormatFloat(100**x, 'f', 1, 64) + " %"
}

// Words says what the search has done to the numbers of the selected trial, one sentence
// each; the first is the verdict.
func Sentences(o *Outcome) []string {
	s := o.Result.Selection
	if s == nil || o.Verdict == nil {
		return []string{noSelection(o)}
	}
	list := []string{verdict(o.Verdict)}
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if s.NTrials == 1 {
		say("One trial was made, so nothing was chosen among others.")
	} else if s.NEff != nil {
		say("%d trials were made on these days, %d of them of this family; they are so alike that they "+
			"count as %s independent ones.",
			s.NTrials, s.NTrialsFamily, Number(s.NEff))
	}
	if o.Again > 0 {
		say("Besides, %d runs of the selected parameters differ only in their seed or splits: they are "+
			"one trial in this count, so choosing among them is not paid for.", o.Again)
	}
	if s.DSRMax != nil {
		say(
			"If no trial had any skill, the best of a search like this would have a ratio as high in %s "+
				"of all"+
				" cases (1 - DSR_max; at most 5 %% is needed).",
			Percent(s.DSRMaxTest.P),
		)
		if n := s.DSRMaxTest.WithoutSeries; n > 0 {
			say("Trials without a return on each of its days: %d. They count as independent ones there.", n)
		}
	}
	if s.DSR2025 != nil && s.DSR2014 != nil {
		say(
			"By formula, which decides nothing, the chance that its true ratio is above what the best of "+
				"so many"+
				" trials reaches by luck is %s (deflated Sharpe ratio of 2025), or %s by the stricter "+
				"form of 2014.",
			Percent(s.DSR2025),
			Percent(s.DSR2014),
		)
	}
	if s.PBO.Value != nil {
		say("When the best trial is chosen on one half of the days, it is below the median of all trials "+
			"on the other half in %s of the ways to halve them (PBO; chance gives 50 %%).",
			Percent(s.PBO.Value))
	}
	if h := s.Haircut.Holm; h != nil {
		say("Counting the trials takes %s off its Sharpe ratio (Holm).", Percent(h))
	}
	if s.MinBTLYears != nil {
		say("A backtest must be %s years long before the best of %d trials is not expected to reach this "+
			"ratio by luck.", Number(s.MinBTLYears), s.NTrials)
	}
	if p := s.SPAP.Consistent; p != nil {
		say("Whether any trial beats holding at the same exposure: p = %s (Hansen), at least %s is "+
			"possible; %d trials do so one by one (Romano and Wolf).",
			Number(p), Number(&o.SmallestP), len(o.Result.StepM.Rejected))
	}
	if s.TestPeeks > 0 {
		say("The test split of this family has been revealed %d times.", s.TestPeeks)
	}
	say("The parameters were chosen on candles that validation is part of: only test is clean.")
	return list
}

// reasons are those of a verdict in words.
var reasons = map[string]string{
	selection.ReasonDSRMax:    "a search without skill finds a ratio as high in more than 5 % of all cases",
	selection.ReasonDSRMaxLow: "a search without skill finds a ratio as high in most cases",
	selection.ReasonPBO:       "choosing the best overfits too often",
	selection.ReasonPBOHigh:   "choosing the best overfits more often than not",
	selection.ReasonShort:     "there are too few days",
}

func verdict(v *selection.Verdict) string {
	why, known := reasons[v.ReasonCode]
	if !known {
		why = v.ReasonCode
	}
	switch v.Verdict {
	case selection.Pass:
		if v.Strong {
			return "Shown: that the selected trial survives the search (pass, strong)."
		}
		return "Shown: that the selected trial survives the search (pass)."
	case selection.Warn, selection.Fail:
		return "Not shown: that the selected trial survives the search (" + v.Verdict + "), because " + why +
			"."
	}
	return "Not known: whether the selected trial survives the search (inconclusive), because of " + why + "."
}

func noSelection(o *Outcome) string {
	if o.Aborted != "" {
		return "The family was ended by its stop rule: nothing is selected."
	}
	return "No trial has an objective: nothing is selected."
}
