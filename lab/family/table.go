package family

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// metricColumns are the metrics of trials.csv.
func metricColumns() []string {
	return []string{"sharpe_ratio", "total_return", "max_drawdown", "total_trades", "win_rate"}
}

// writeTrials writes trials.csv: a row per trial that counts, by index.
func (s *Search) writeTrials(w io.Writer, trials []*Trial) error {
	b := bufio.NewWriter(w)
	header := []string{"trial_index", "run_id", "status", "rank", "objective", "windows_done"}
	names := s.names()
	for _, name := range names {
		header = append(header, "param:"+name)
	}
	header = append(append(header, metricColumns()...), "plateau_score", "failure_code")
	writeRow(b, header)
	for _, t := range trials {
		var params map[string]json.RawMessage
		if err := json.Unmarshal(t.Params, &params); err != nil {
			return err
		}
		rank := ""
		if t.Rank > 0 {
			rank = strconv.Itoa(t.Rank)
		}
		row := []string{strconv.Itoa(t.Index), t.RunID, t.Status, rank, cell(t.Objective), strconv.Itoa(len(t.Windows))}
		for _, name := range names {
			row = append(row, plain(params[name]))
		}
		for _, key := range metricColumns() {
			row = append(row, cell(value(t.Metrics, key)))
		}
		writeRow(b, append(row, cell(t.Plateau), t.FailureCode))
	}
	return b.Flush()
}

// names are the parameters of the space, sorted.
func (s *Search) names() []string {
	var list []string
	for _, p := range s.Plan.Space.Parameters() {
		list = append(list, p.Name)
	}
	return list
}

// plain is a JSON value as a field: a text without its quotes.
func plain(text json.RawMessage) string {
	var s string
	if json.Unmarshal(text, &s) == nil {
		return s
	}
	return string(text)
}

// cell is a number with as many digits as it has, empty if it is undefined: numbers of
// reports are rounded to 12 digits already.
func cell(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x+0, 'f', -1, 64)
}

// writeRow writes a record of RFC 4180, ended by LF.
func writeRow(b *bufio.Writer, fields []string) {
	for i, f := range fields {
		if i > 0 {
			_ = b.WriteByte(',') // Flush tells
		}
		if strings.ContainsAny(f, ",\"\r\n") {
			f = `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
		}
		_, _ = b.WriteString(f)
	}
	_ = b.WriteByte('\n')
}

// dated is a return with its day; windows that overlap repeat days, so nth counts them.
type dated struct {
	at  market.Time
	nth int
}

// writeReturns writes returns.csv: a row per day that any trial has a return on, a column
// per trial that counts; empty where a trial has none.
func writeReturns(w io.Writer, trials []*Trial, of map[int]*series.Series) error {
	b := bufio.NewWriterSize(w, 64<<10)
	header := []string{"date"}
	for _, t := range trials {
		header = append(header, "t"+strconv.Itoa(t.Index))
	}
	writeRow(b, header)
	days, place := calendar(trials, of)
	var number []byte
	for row, d := range days {
		_, _ = b.WriteString(d.at.String()[:len("2006-01-02")])
		for k, t := range trials {
			_ = b.WriteByte(',')
			if place[k] == nil || place[k][row] < 0 {
				continue
			}
			x := metric.Round(of[t.Index].Return[place[k][row]])
			number = strconv.AppendFloat(number[:0], x, 'f', -1, 64)
			_, _ = b.Write(number)
		}
		_ = b.WriteByte('\n')
	}
	return b.Flush()
}

// calendar is every day of every trial, in order, and for each trial which of its returns
// stands in which row, -1 for none; nil for a trial without returns. Trials with the same
// days, as nearly all are, share that list.
func calendar(trials []*Trial, of map[int]*series.Series) (days []dated, place [][]int32) {
	seen := map[dated]bool{}
	type group struct {
		date  []market.Time
		dated []dated
		place []int32
	}
	var groups []*group
	member := make([]*group, len(trials))
	for i, t := range trials {
		x := of[t.Index]
		if x == nil {
			continue
		}
		k := slices.IndexFunc(groups, func(g *group) bool { return slices.Equal(g.date, x.Date) })
		if k < 0 {
			k = len(groups)
			groups = append(groups, &group{date: x.Date, dated: datesOf(x)})
			for _, d := range groups[k].dated {
				seen[d] = true
			}
		}
		member[i] = groups[k]
	}
	days = slices.SortedFunc(maps.Keys(seen), func(a, b dated) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.nth, b.nth)) })
	index := make(map[dated]int, len(days))
	for i, d := range days {
		index[d] = i
	}
	for _, g := range groups {
		g.place = slices.Repeat([]int32{-1}, len(days))
		for i, d := range g.dated {
			g.place[index[d]] = int32(i)
		}
	}
	place = make([][]int32, len(trials))
	for i, g := range member {
		if g != nil {
			place[i] = g.place
		}
	}
	return days, place
}

func datesOf(x *series.Series) []dated {
	nth := map[market.Time]int{}
	out := make([]dated, len(x.Date))
	for i, at := range x.Date {
		out[i] = dated{at, nth[at]}
		nth[at]++
	}
	return out
}
