package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/split"
)

// Section is a part of a comparison for people: notes, then a table whose first row is
// the header. It has nothing that the Comparison has not.
type Section struct {
	Title string
	Notes []string
	Rows  [][]string
	// Code are texts that are shown as they are.
	Code []string
}

// none is what is shown for null.
const none = "n/a"

// Sections is the comparison for people, part by part. What one run alone cannot have
// is left out.
func (c *Comparison) Sections() []Section {
	list := []Section{c.runsSection()}
	if len(c.Runs) > 1 || len(c.Pairs) > 0 {
		list = append(list, c.comparabilitySection(), c.differsSection())
		list = append(list, c.sourceSections()...)
	}
	list = append(list, c.metricSections()...)
	if len(c.Pairs) > 0 {
		list = append(list, c.pairsSection())
	}
	return append(list, c.selectionSection(), c.falsificationSection(), c.provenanceSection())
}

// mark is a run's name with * for the baseline and ~ for one whose numbers mean
// something else.
func (c *Comparison) mark(runID string) string {
	if runID == c.Baseline {
		return "* " + runID
	}
	for _, r := range c.Runs {
		if r.RunID == runID && !r.Comparable {
			return "~ " + runID
		}
	}
	return "  " + runID
}

func (c *Comparison) runsSection() Section {
	s := Section{Title: "runs", Rows: [][]string{{"  RUN", "KIND", "STATUS", "COMPLETED", "PARAMETERS"}}}
	for _, r := range c.Runs {
		s.Rows = append(s.Rows,
			[]string{c.mark(r.RunID), r.Kind, r.Status, orNone(r.Provenance.CompletedAt), string(r.Params)})
	}
	return s
}

func (c *Comparison) comparabilitySection() Section {
	s := Section{Title: "comparability"}
	if c.Comparability.Comparable {
		s.Notes = []string{"data, splits, execution and metrics are equal in all runs"}
	} else {
		s.Notes = []string{
			"~ the numbers of these runs do not mean the same as those of the baseline " + c.Baseline}
	}
	if len(c.Comparability.Differences) == 0 {
		return s
	}
	s.Rows = [][]string{{"  ASPECT", "OTHER THAN IN THE BASELINE"}}
	for _, d := range c.Comparability.Differences {
		sign := "! "
		if d.strict {
			sign = "~ "
		}
		var others []string
		for _, r := range c.Runs {
			if !bytes.Equal(d.Values[r.RunID], d.Values[c.Baseline]) {
				others = append(others, r.RunID)
			}
		}
		s.Rows = append(s.Rows, []string{sign + d.Aspect, strings.Join(others, " ")})
	}
	return s
}

func (c *Comparison) differsSection() Section {
	s := Section{Title: "what differs", Notes: []string{"from the baseline " + c.Baseline}}
	rows := [][]string{{"  RUN", "POINTER", "CHANGE"}}
	for _, r := range c.Runs {
		for _, d := range c.Differs {
			if before, now := d.Values[c.Baseline], d.Values[r.RunID]; !bytes.Equal(before, now) {
				rows = append(rows, []string{c.mark(r.RunID), d.Pointer, brief(before) + " -> " + brief(now)})
			}
		}
	}
	if len(rows) == 1 {
		s.Notes = []string{"nothing"}
		return s
	}
	s.Rows = rows
	return s
}

// brief is a JSON value for a table: hashes with 8 characters, text without quotes.
func brief(value json.RawMessage) string {
	var text string
	switch {
	case len(value) == 0 || string(value) == "null":
		return "none"
	case json.Unmarshal(value, &text) != nil:
		return string(value)
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return string(value)
	}
	return short(text)
}

// short is a hash with 8 characters, any other text as it is.
func short(text string) string {
	if digest.IsSHA256(text) {
		return text[:8]
	}
	return text
}

// column is how a metric is shown.
type column struct {
	title, key, format string
	factor             float64
}

func columns() []column {
	return []column{
		{"RETURN", "total_return", "%+.2f %%", 100}, {"SHARPE", "sharpe_ratio", "%.2f", 1},
		{"MAX DRAWDOWN", "max_drawdown", "%.2f %%", 100},
		{"WIN RATE", "win_rate", "%.1f %%", 100}, {"TRADES", "total_trades", "%.0f", 1},
		{"EXPOSURE", "exposure", "%.2f", 1},
		{"TURNOVER", "turnover", "%.1f", 1}, {"FEE SHARE", feeShare, "%.1f %%", 100},
	}
}

// metricSections has the split of the comparison first, then those that every run has
// by role; the windows of a walk-forward only if one was asked for.
func (c *Comparison) metricSections() []Section {
	ids := []string{c.Split}
	for _, r := range c.Runs {
		for _, s := range r.Splits {
			window := s.Role == split.RoleWalkForward && s.ID != walkForward
			if !window && !slices.Contains(ids, s.ID) {
				ids = append(ids, s.ID)
			}
		}
	}
	var list []Section
	for _, id := range ids {
		list = append(list, c.metricSection(id))
	}
	return list
}

func (c *Comparison) metricSection(id string) Section {
	s := Section{Title: "metrics: " + id}
	used := c.columnsOf(id)
	header := []string{"  RUN"}
	for _, col := range used {
		header = append(header, col.title)
	}
	s.Rows = [][]string{append(header, "STATUS")}
	for _, r := range c.Runs {
		at := slices.IndexFunc(r.Splits, func(m SplitMetrics) bool { return m.ID == id })
		row := []string{c.mark(r.RunID)}
		if at < 0 {
			s.Rows = append(s.Rows,
				append(append(row, slices.Repeat([]string{none}, len(used))...), "missing"))
			continue
		}
		m := r.Splits[at]
		for _, col := range used {
			row = append(row, col.cell(m, r.RunID != c.Baseline))
		}
		status := m.Status
		if id == split.RoleValidation && r.Selection.ValidationContaminated {
			status += ", contaminated"
		}
		s.Rows = append(s.Rows, append(row, status))
	}
	return s
}

// columnsOf are the columns whose metrics are there, and the one that was sorted by.
func (c *Comparison) columnsOf(id string) []column {
	present := map[string]bool{}
	var extra []column
	for _, r := range c.Runs {
		for _, s := range r.Splits {
			if s.ID != id {
				continue
			}
			for _, v := range s.Metrics {
				isNew := !present[v.Key] && !slices.Contains(shownKeys(), v.Key)
				present[v.Key] = true
				if isNew {
					extra = append(extra, column{strings.ToUpper(v.Key), v.Key, "%.6g", 1})
				}
			}
		}
	}
	kept := slices.DeleteFunc(columns(), func(col column) bool { return !present[col.key] })
	return append(kept, extra...)
}

// cell is a number, for the Sharpe ratio with its standard error, and the difference to
// the baseline.
func (col column) cell(m SplitMetrics, delta bool) string {
	x, defined := m.Metrics.Get(col.key)
	if !defined {
		return none
	}
	text := fmt.Sprintf(col.format, col.factor*x)
	if se, has := m.Metrics.Get("sharpe_stderr"); has && col.key == "sharpe_ratio" {
		text += fmt.Sprintf(" +- %.2f", se)
	}
	if d, has := m.Delta.Get(col.key); has && delta {
		format := "%+" + strings.TrimPrefix(strings.TrimSuffix(col.format, " %%")[1:], "+")
		text += fmt.Sprintf(" ("+format+")", col.factor*d)
	}
	return text
}

func (c *Comparison) pairsSection() Section {
	s := Section{Title: "is it real",
		Rows: [][]string{{"  RUN", "DAYS", "MEAN DIFFERENCE", "CI 95 %", "P", "P(SHARPE BETTER)",
			"DAYS NEEDED"}}}
	s.Notes = []string{fmt.Sprintf("daily return less that of %s on %s, %d replicas, smallest p %.3f",
		c.Baseline, c.Split, replicas, c.Pairs[0].SmallestP)}
	for _, p := range c.Pairs {
		if p.Days > 0 && p.Days < shortSample {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: only %d days, too few to rely on", p.RunID, p.Days))
		}
		ci, needed := none, none
		if p.CI95 != nil {
			ci = fmt.Sprintf("%+.4f .. %+.4f %%", 100*p.CI95[0], 100*p.CI95[1])
		}
		if p.DaysNeeded != nil {
			needed = strconv.FormatInt(*p.DaysNeeded, 10)
		} else if why := p.Undefined["days_needed"]; why != "" {
			needed = none + " (" + string(why) + ")"
		}
		s.Rows = append(s.Rows, []string{
			c.mark(p.RunID), strconv.Itoa(p.Days), number(p.MeanDifference, "%+.4f %%", 100), ci,
			number(p.P, "%.3f", 1), number(p.PSharpeBetter, "%.3f", 1), needed,
		})
	}
	return s
}

func (c *Comparison) selectionSection() Section {
	s := Section{Title: "selection", Rows: [][]string{{
		"  RUN", "TRIAL", "OF N", "OF FAMILY", "N_EFF", "DSR MAX", "DSR 2014", "DSR 2025", "PBO", "PEEKS",
		"POST PEEK", "PLAN", "DEVIATION",
	}}}
	for _, r := range c.Runs {
		v := r.Selection
		s.Rows = append(s.Rows, []string{
			c.mark(r.RunID), position(v.Trials), counted(v.NTrials, v.NTrialsNow),
			strconv.Itoa(v.NTrialsFamily), number(v.NEff, "%.1f", 1), number(v.DSRMax, "%.3f", 1),
			number(v.DSR2014, "%.3f", 1), number(v.DSR2025, "%.3f", 1), number(v.PBO, "%.2f", 1),
			counted(v.TestPeeks, v.TestPeeksNow), yes(v.PostPeek), orNone(v.PlanID), yes(v.Deviation),
		})
	}
	return s
}

// position is which trial a run was.
func position(p *registry.Place) string {
	if p == nil {
		return none
	}
	return strconv.Itoa(p.Position)
}

// counted is a count that the numbers beside it were computed with, and what it is now
// where that is another.
func counted(then, now int) string {
	if then == now {
		return strconv.Itoa(then)
	}
	return fmt.Sprintf("%d (now %d)", then, now)
}

func (c *Comparison) falsificationSection() Section {
	s := Section{Title: "falsification"}
	header, overall, refuted := []string{"TEST"}, []string{"overall"}, []string{"first refuted"}
	var ids []string
	var attacked []*Falsification
	for _, r := range c.Runs {
		if r.Falsification == nil {
			continue
		}
		attacked = append(attacked, r.Falsification)
		header, overall = append(header, r.RunID), append(overall, r.Falsification.Overall)
		refuted = append(refuted, orNone(r.Falsification.Refuted))
		for _, t := range r.Falsification.Tests {
			if !slices.Contains(ids, t.ID) {
				ids = append(ids, t.ID)
			}
		}
	}
	if len(attacked) == 0 {
		s.Notes = []string{"none of these runs has been falsified"}
		return s
	}
	s.Rows = [][]string{header}
	for _, id := range ids {
		row := []string{id}
		for _, f := range attacked {
			verdict := "-"
			for _, t := range f.Tests {
				if t.ID == id {
					verdict = t.Verdict
				}
			}
			row = append(row, verdict)
		}
		s.Rows = append(s.Rows, row)
	}
	s.Rows = append(s.Rows, overall, refuted)
	return s
}

func (c *Comparison) provenanceSection() Section {
	s := Section{Title: "provenance",
		Rows: [][]string{{"  RUN", "ORIGIN", "SEED", "PLUGIN", "ENGINE", "DATA", "SPLITS", "REQUEST",
			"RESULT"}}}
	for _, r := range c.Runs {
		p := r.Provenance
		var data []string
		for _, d := range p.Data {
			data = append(data, fmt.Sprintf("%s %s %s", d.Symbol, d.Timeframe, short(d.SHA256)))
		}
		result := none
		if p.ResultHash != nil {
			result = short(*p.ResultHash)
		}
		s.Rows = append(s.Rows, []string{
			c.mark(r.RunID), p.Origin, p.Seed, short(p.PluginSHA256), short(p.Engine.SHA256),
			strings.Join(data, ", "), short(p.SplitsSHA256), short(p.RequestHash), result,
		})
	}
	return s
}

func number(x *float64, format string, factor float64) string {
	if x == nil {
		return none
	}
	return fmt.Sprintf(format, factor**x)
}

func orNone(s *string) string {
	if s == nil {
		return none
	}
	return *s
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// find is a metric of a list as a number, nil if it is undefined.
func find(values metric.Values, key string) *float64 {
	if x, defined := values.Get(key); defined {
		return &x
	}
	return nil
}

// WriteJSON writes compare/v1, indented.
func (c *Comparison) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// WriteMarkdown writes the sections with their tables as Markdown.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", c.Slug)
	for _, s := range c.Sections() {
		fmt.Fprintf(&b, "\n## %s\n\n", cell(s.Title))
		for _, note := range s.Notes {
			fmt.Fprintf(&b, "%s\n\n", cell(note))
		}
		for _, text := range s.Code {
			fmt.Fprintf(&b, "%s\n", fence(text))
		}
		for i, row := range s.Rows {
			cells := make([]string, len(s.Rows[0]))
			for k := range min(len(cells), len(row)) {
				cells[k] = cell(row[k])
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
			if i == 0 {
				fmt.Fprintf(&b, "|%s\n", strings.Repeat(" --- |", len(cells)))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell is text that Markdown shows as it is.
func cell(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "~", `\~`, "_", `\_`, "<", "&lt;", "\n",
		" ").Replace(strings.TrimSpace(s))
}

// WriteCSV writes a line per run: RFC 4180 with line feeds and a header, numbers with 12
// significant digits, an empty field for null.
func (c *Comparison) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	params := c.paramNames()
	if err := out.Write(c.csvHeader(params)); err != nil {
		return err
	}
	for i := range c.Runs {
		if err := out.Write(c.csvRow(&c.Runs[i], params)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// paramNames are the parameters that any run has, sorted.
func (c *Comparison) paramNames() []string {
	names := map[string]bool{}
	for _, r := range c.Runs {
		for name := range paramsOf(r) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func paramsOf(r Run) map[string]json.RawMessage {
	var params map[string]json.RawMessage
	if json.Unmarshal(r.Params, &params) != nil {
		return nil
	}
	return params
}

func (c *Comparison) csvHeader(params []string) []string {
	h := []string{"run_id", "kind", "status", "completed_at", "baseline", "comparable", "split"}
	for _, p := range params {
		h = append(h, "param:"+p)
	}
	for _, v := range c.Runs[0].Metrics {
		h = append(h, v.Key)
	}
	for _, v := range c.Runs[0].Delta {
		h = append(h, "delta:"+v.Key)
	}
	return append(h,
		"days", "mean_difference", "ci95_low", "ci95_high", "p", "p_sharpe_better", "days_needed",
		"n_trials", "n_trials_now", "n_eff", "dsr_max", "dsr_2014", "dsr_2025", "pbo",
		"test_peeks", "test_peeks_now", "post_peek", "plan_id", "deviation", "n_trials_family",
		"trial_position",
		"falsification", "refuted", "request_hash", "result_hash", "plugin_sha256", "engine_sha256")
}

func (c *Comparison) csvRow(r *Run, params []string) []string {
	row := []string{r.RunID, r.Kind, r.Status, orEmpty(r.Provenance.CompletedAt),
		strconv.FormatBool(r.RunID == c.Baseline), strconv.FormatBool(r.Comparable), c.Split}
	own := paramsOf(*r)
	for _, name := range params {
		row = append(row, plain(own[name]))
	}
	for _, v := range r.Metrics {
		row = append(row, digits12(find(r.Metrics, v.Key)))
	}
	for _, v := range r.Delta {
		row = append(row, digits12(find(r.Delta, v.Key)))
	}
	row = append(row, c.csvPair(r.RunID)...)
	s := r.Selection
	row = append(row, strconv.Itoa(s.NTrials), strconv.Itoa(s.NTrialsNow), digits12(s.NEff),
		digits12(s.DSRMax), digits12(s.DSR2014), digits12(s.DSR2025), digits12(s.PBO),
		strconv.Itoa(s.TestPeeks), strconv.Itoa(s.TestPeeksNow), strconv.FormatBool(s.PostPeek),
		orEmpty(s.PlanID), strconv.FormatBool(s.Deviation), strconv.Itoa(s.NTrialsFamily))
	if s.Trials != nil {
		row = append(row, strconv.Itoa(s.Trials.Position))
	} else {
		row = append(row, "")
	}
	if f := r.Falsification; f != nil {
		row = append(row, f.Overall, orEmpty(f.Refuted))
	} else {
		row = append(row, "", "")
	}
	p := r.Provenance
	return append(row, p.RequestHash, orEmpty(p.ResultHash), p.PluginSHA256, p.Engine.SHA256)
}

func (c *Comparison) csvPair(runID string) []string {
	for _, p := range c.Pairs {
		if p.RunID != runID {
			continue
		}
		var low, high *float64
		if p.CI95 != nil {
			low, high = &p.CI95[0], &p.CI95[1]
		}
		needed := ""
		if p.DaysNeeded != nil {
			needed = strconv.FormatInt(*p.DaysNeeded, 10)
		}
		return []string{strconv.Itoa(p.Days), digits12(p.MeanDifference), digits12(low), digits12(high),
			digits12(p.P), digits12(p.PSharpeBetter), needed}
	}
	return make([]string, 7) // the baseline
}

// plain is a parameter: text without quotes, everything else as JSON, nothing for null.
func plain(value json.RawMessage) string {
	var text *string
	if len(value) == 0 || json.Unmarshal(value, &text) == nil {
		return orEmpty(text)
	}
	return string(value)
}

// digits12 is a number that has been rounded already, written in full.
func digits12(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
