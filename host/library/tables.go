package library

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// splitOf returns the split that a question is about: "" is what the run is judged by, which is
// the walk-forward or all candles, else the last split that is open. It fails where that split is locked.
func (l *Library) splitOf(ctx context.Context, e *entry, split string) (string, error) {
	d := e.details()
	locked, err := l.locked(ctx, e)
	if err != nil {
		return "", err
	}
	switch {
	case split != "":
	case d.report != nil && d.report.WalkForward != nil:
		split = basisWalkForward
	default:
		split = artifact.FullSplitID
		for _, s := range d.splits {
			if !slices.Contains(locked, s.ID) {
				split = s.ID
			}
		}
	}
	if slices.Contains(locked, split) {
		return "", &LockedError{e.row.RunID, "split " + split}
	}
	known := slices.ContainsFunc(d.splits, func(s artifact.SplitRange) bool { return s.ID == split })
	if !known && (split != basisWalkForward || d.report == nil || d.report.WalkForward == nil) {
		return "", &NotFoundError{KindSplit, split}
	}
	return split, nil
}

// windows are the splits that a name stands for.
func (e *entry) windows(split string) []string {
	if split != basisWalkForward {
		return []string{split}
	}
	var ids []string
	for _, s := range e.details().splits {
		if s.Role == basisWalkForward {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// Curve returns the equity of each window of a split, and the split's name: a walk-forward has several.
func (l *Library) Curve(ctx context.Context, runID, split string) (string, []*artifact.EquityCurve, error) {
	split, texts, err := l.tables(ctx, runID, split, "equity_curve.csv")
	if err != nil {
		return "", nil, err
	}
	windows := make([]*artifact.EquityCurve, len(texts))
	for i, t := range texts {
		if windows[i], err = artifact.ReadEquity(t.text); err != nil {
			return "", nil, damaged(runID, t.name, err)
		}
	}
	return split, windows, nil
}

// Data returns the exchange and the candles of a run.
func (l *Library) Data(ctx context.Context, runID string) (exchange string, data []artifact.Dataset,
	err error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return "", nil, err
	}
	return e.meta.Exchange, e.meta.Data, nil
}

// table is the text of one file.
type table struct {
	name string
	text []byte
}

// damaged is the error of a file whose content cannot be read.
func damaged(runID, name string, err error) error {
	return &artifact.MismatchError{RunID: runID, Problems: []string{name + ": " + err.Error()}}
}

// tables reads a file of each window of a split; it returns the split's name too.
func (l *Library) tables(ctx context.Context, runID, split, file string) (string, []table, error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return "", nil, err
	}
	if split, err = l.splitOf(ctx, e, split); err != nil {
		return "", nil, err
	}
	var out []table
	for _, id := range e.windows(split) {
		name := "splits/" + id + "/" + file
		_, listed := e.meta.File(name)
		switch {
		case !listed && (e.meta.ArtifactLevel == artifact.LevelCompact ||
			file == artifact.OrdersFile || file == artifact.FillsFile):
			return "", nil, &CompactError{runID}
		case !listed && file == artifact.SeriesFile:
			continue // nothing was published
		}
		text, err := l.store.Read(e.meta, name)
		if err != nil {
			return "", nil, kept(err)
		}
		out = append(out, table{name, text})
	}
	return split, out, nil
}

// Entry is a row of a table by its columns, each as JSON: numbers as they are written there.
type Entry map[string]json.RawMessage

// Time is the time in a column, 0 where there is none.
func (e Entry) Time(column string) market.Time {
	at, err := market.ParseTime(strings.Trim(string(e[column]), `"`))
	if err != nil {
		return 0
	}
	return at
}

// Entries returns the rows of a table of a split (artifact.TradesFile, OrdersFile or FillsFile) in their
// order, and the split's name.
func (l *Library) Entries(ctx context.Context, runID, split, file string) (string, []Entry, error) {
	split, texts, err := l.tables(ctx, runID, split, file)
	if err != nil {
		return "", nil, err
	}
	out := []Entry{}
	for _, t := range texts {
		list, err := readEntries(t.text)
		if err != nil {
			return "", nil, damaged(runID, t.name, err)
		}
		out = append(out, list...)
	}
	return split, out, nil
}

// SortEntries orders rows by a column, downwards after a "-". Rows that have nothing there come last, equal
// ones stay in their order.
func SortEntries(rows []Entry, by string) {
	column, down := strings.CutPrefix(by, "-")
	slices.SortStableFunc(rows, func(a, b Entry) int {
		x, y := string(a[column]), string(b[column])
		if x == "null" || y == "null" {
			return cmp.Compare(strconv.FormatBool(x == "null"), strconv.FormatBool(y == "null"))
		}
		n, errX := strconv.ParseFloat(x, 64)
		m, errY := strconv.ParseFloat(y, 64)
		order := cmp.Compare(n, m)
		if errX != nil || errY != nil {
			order = cmp.Compare(x, y)
		}
		if down {
			return -order
		}
		return order
	})
}

// readEntries reads a table.
func readEntries(text []byte) ([]Entry, error) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("it has no header")
	}
	header, rows := rows[0], rows[1:]
	out := make([]Entry, len(rows))
	for i, row := range rows {
		t := Entry{}
		for k, cell := range row {
			if t[header[k]], err = readCell(header[k], cell); err != nil {
				return nil, fmt.Errorf("row %d: %w", i+1, err)
			}
		}
		out[i] = t
	}
	return out, nil
}

// readCell is one cell as JSON.
func readCell(column, cell string) (json.RawMessage, error) {
	switch column {
	case "order_ids":
		return json.Marshal(strings.FieldsFunc(cell, func(c rune) bool { return c == ';' }))
	case "ambiguous", "reduce_only":
		b, err := strconv.ParseBool(cell)
		if err != nil {
			return nil, fmt.Errorf("%s: %.40q is neither true nor false", column, cell)
		}
		return json.Marshal(b)
	case "trade_id", "symbol", "direction", "exit_reason", "order_id", "client_order_id", "fill_id", "side",
		"type", "role", "time_in_force", "status", "fee_currency", "liquidity":
		return json.Marshal(cell)
	}
	if cell == "" {
		return json.RawMessage("null"), nil
	}
	switch column {
	case "entry_time", "exit_time", "created_at", "updated_at", "filled_at", "timestamp", "entry_tag",
		"exit_tag", "tag", "parent_order_id", "reject_reason", "exchange_order_id":
		return json.Marshal(cell)
	}
	if !json.Valid([]byte(cell)) || strings.ContainsAny(cell, `"[{tfn`) {
		return nil, fmt.Errorf("%s: %.40q is not a number", column, cell)
	}
	return json.RawMessage(cell), nil
}

// Published is what a strategy has published in the windows of a split. Of a series there are the points of
// one window after those of the one before.
type Published struct {
	artifact.Published
	Split   string
	Symbols []string // of the run
	Program string   // hash
}

// Series returns what a strategy has published in a split.
func (l *Library) Series(ctx context.Context, runID, split string) (all Published, err error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return all, err
	}
	all.Symbols, all.Program = e.meta.Symbols, e.meta.Plugin.SHA256
	var files []table
	if all.Split, files, err = l.tables(ctx, runID, split, artifact.SeriesFile); err != nil {
		return all, err
	}
	at := map[[2]string]int{}
	for _, f := range files {
		window, err := artifact.ReadSeries(f.text)
		if err != nil {
			return all, damaged(runID, f.name, err)
		}
		all.LeftOut += window.LeftOut
		for _, a := range window.Annotations {
			key := [2]string{a.Name, string(a.Symbol)}
			i, known := at[key]
			if !known {
				at[key], all.Annotations = len(all.Annotations), append(all.Annotations, a)
				continue
			}
			s := &all.Annotations[i]
			s.Time, s.Values = append(s.Time, a.Time...), append(s.Values, a.Values...)
		}
	}
	return all, nil
}

// Log returns the lines of log.jsonl, each a JSON object, and whether lines are missing there; none where
// nothing was written. The log of a run with a locked test is locked, whether or not it has a line.
func (l *Library) Log(ctx context.Context, runID string) (lines []json.RawMessage, cut bool, err error) {
	lines = []json.RawMessage{}
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return nil, false, err
	}
	locked, err := l.locked(ctx, e)
	if err != nil {
		return nil, false, err
	}
	if len(locked) > 0 {
		return nil, false, &LockedError{runID, "the log"}
	}
	_, body, err := l.Open(ctx, runID, logFile)
	var missing *NotFoundError
	if errors.As(err, &missing) && missing.Kind == KindFile {
		return lines, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer body.Close()
	dec := json.NewDecoder(body)
	for dec.More() {
		var line json.RawMessage
		if err := dec.Decode(&line); err != nil {
			return nil, false, damaged(runID, logFile, err)
		}
		cut = cut || leavesOut(line)
		lines = append(lines, line)
	}
	return lines, cut, nil
}

// leavesOut reports whether a line is the host's, about lines that are missing.
func leavesOut(line json.RawMessage) bool {
	var l struct{ Source string }
	return bytes.Contains(line, []byte(`"lines_left_out"`)) && json.Unmarshal(line, &l) == nil &&
		l.Source == "host"
}
