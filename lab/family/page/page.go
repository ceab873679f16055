package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/design"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/family"
)

// FileName is the name of the page beside plan.json.
const FileName = "report.html"

//go:embed page.html
var source string

// mostRows bounds the table of trials: the best ones are shown, trials.csv has all.
const mostRows = 500

// View is what the page shows, as text.
type View struct {
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
func Of(s *family.Search, o *family.Outcome, run *evaluate.Answer) (*View, error) {
	r := o.Result
	v := &View{
		Slug: s.Plan.Slug, Hypothesis: s.Plan.Hypothesis, PlanID: s.ID, PlanHash: s.Hash, Status: r.Status, Verdict: "none", Words: Words(o),
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
func (v *View) Write(w io.Writer) error {
	t, err := template.New(FileName).Parse(source)
	if err != nil {
		return err
	}
	return t.Execute(w, v)
}

func (v *View) facts(s *family.Search, o *family.Outcome) {
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
		add("rungs", "first %d windows, then %d times as many for one in %d", p.SHA.MinWindows, p.SHA.Eta, p.SHA.Eta)
	}
	add("space", "%s", canonical(p.Space))
	if len(p.Constraints) > 0 {
		add("constraints", "%s", canonical(p.Constraints))
	}
	add("selection rule", "%s", p.SelectionRule)
	if sel := o.Result.Selection; sel != nil {
		add("N", "%d trials on these days (%d before this plan), %d of them of %s, counted by the registry",
			sel.NTrials, p.PriorTrials, sel.NTrialsFamily, p.FamilyID)
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
	return []string{"sharpe_ratio", "total_return", "cagr", "max_drawdown", "total_trades", "win_rate", "exposure", "fees_paid"}
}

func (v *View) optimised(o *family.Optimised) {
	if o == nil {
		return
	}
	for _, w := range o.Windows {
		chosen := "none"
		if w.ChosenTrial != nil {
			chosen = "t" + strconv.Itoa(*w.ChosenTrial)
		}
		v.Optimised = append(v.Optimised, []string{w.SplitID, chosen, Number(w.TrainObjective), Number(w.TestObjective)})
	}
	if o.Metrics != nil {
		for _, key := range shown() {
			if slices.ContainsFunc(*o.Metrics, func(x metric.Value) bool { return x.Key == key }) {
				v.OptimisedMetrics = append(v.OptimisedMetrics, Fact{key, metricText(*o.Metrics, key)})
			}
		}
	}
	v.OptimisedMetrics = append(v.OptimisedMetrics, Fact{"efficiency (test / train, information only)", Number(o.Efficiency)})
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

func (v *View) selected(o *family.Outcome, run *evaluate.Answer) {
	s := o.Result.Selected
	if s == nil {
		return
	}
	v.Selected = []Fact{{"trial", "t" + strconv.Itoa(s.TrialIndex) + ", " + s.RunID}, {"parameters", string(s.Params)}, {"rule", s.Rule}}
	if run != nil {
		v.Selected = append(v.Selected, Fact{"run", run.RunID + " (" + run.Report.Status + ", validation contaminated)"})
	}
	v.Equity = equity(o.Equity)
	v.Plateau = []Fact{{"median objective around the selected trial", Number(o.Result.Plateau.Selected)}, {"best such median", Number(o.Result.Plateau.Best)}}
}

func (v *View) table(s *family.Search, o *family.Outcome) {
	v.Columns = []string{"rank", "trial", "status", s.Plan.Objective.Metric, "windows", "parameters"}
	keys := []string{}
	for _, key := range append([]string{"sharpe_ratio", "total_return", "max_drawdown", "total_trades", "win_rate"}, s.Plan.Secondary...) {
		if key != s.Plan.Objective.Metric && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	v.Columns = append(append(v.Columns, keys...), "plateau", "failure")
	list := slices.Clone(o.Trials)
	slices.SortStableFunc(list, func(a, b *family.Trial) int { return place(a) - place(b) })
	if len(list) > mostRows {
		v.Hidden = len(list) - mostRows
		list = list[:mostRows]
	}
	for _, t := range list {
		rank := ""
		if t.Rank > 0 {
			rank = strconv.Itoa(t.Rank)
		}
		cells := []string{rank, "t" + strconv.Itoa(t.Index), t.Status, Number(t.Objective), strconv.Itoa(len(t.Windows)), string(t.Params)}
		for _, key := range keys {
			cells = append(cells, metricText(t.Metrics, key))
		}
		chosen := o.Result.Selected != nil && o.Result.Selected.TrialIndex == t.Index
		v.Rows = append(v.Rows, Row{append(cells, Number(t.Plateau), t.FailureCode), t.RunID, chosen})
	}
}

// place orders by rank; what has none comes last.
func place(t *family.Trial) int {
	if t.Rank == 0 {
		return 1 << 30
	}
	return t.Rank
}

func (v *View) parameters(s *family.Search, o *family.Outcome) error {
	for k, i := range o.Result.Importance {
		var dots []Dot
		for _, t := range o.Trials {
			if t.Status != family.Completed || t.Objective == nil || len(dots) == mostDots {
				continue
			}
			at, err := s.Plan.Space.Position(t.Params)
			if err != nil {
				return err
			}
			dots = append(dots, Dot{X: at[k], Y: *t.Objective, Chosen: o.Result.Selected != nil && o.Result.Selected.TrialIndex == t.Index})
		}
		v.Parameters = append(v.Parameters, Parameter{
			Name: i.Param, Rank: Number(i.RankCorrelation), Explained: Percent(i.VarianceExplained), Chart: scatter(i.Param, ends(s.Plan.Space, i.Param), dots),
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
