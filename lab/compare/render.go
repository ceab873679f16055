package compare

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

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
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "~", `\~`, "_", `\_`, "<", "&lt;", "\n", " ").Replace(strings.TrimSpace(s))
}

// WriteCSV writes a line per run: RFC 4180 with line feeds and a header, numbers with
// 12 significant digits, an empty field for null.
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
		"test_peeks", "test_peeks_now", "post_peek", "plan_id", "deviation", "n_trials_family", "trial_position",
		"falsification", "refuted", "request_hash", "result_hash", "plugin_sha256", "engine_sha256")
}

func (c *Comparison) csvRow(r *Run, params []string) []string {
	row := []string{r.RunID, r.Kind, r.Status, orEmpty(r.Provenance.CompletedAt), strconv.FormatBool(r.RunID == c.Baseline), strconv.FormatBool(r.Comparable), c.Split}
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
		strconv.Itoa(s.TestPeeks), strconv.Itoa(s.TestPeeksNow), strconv.FormatBool(s.PostPeek), orEmpty(s.PlanID),
		strconv.FormatBool(s.Deviation), strconv.Itoa(s.NTrialsFamily))
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
		return []string{strconv.Itoa(p.Days), digits12(p.MeanDifference), digits12(low), digits12(high), digits12(p.P), digits12(p.PSharpeBetter), needed}
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
