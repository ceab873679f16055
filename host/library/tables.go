package library

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// splitOf returns the split that a question is about: "" is what the run is judged by, which is
// the walk-forward where there is one. It fails where that split is locked.
func (l *Library) splitOf(ctx context.Context, e *entry, split string) (string, error) {
	d := e.details()
	if split == "" {
		split = artifact.FullSplitID
		if d.report != nil && d.report.WalkForward != nil {
			split = basisWalkForward
		}
	}
	locked, err := l.locked(ctx, e)
	if err != nil {
		return "", err
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

// Curve returns the equity of a split, and the split's name. The windows of a walk-forward are
// joined: each begins with its own cash, so it is scaled to the end of the one before.
func (l *Library) Curve(ctx context.Context, runID, split string) (string, artifact.EquityCurve, error) {
	var out artifact.EquityCurve
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return "", out, err
	}
	if split, err = l.splitOf(ctx, e, split); err != nil {
		return "", out, err
	}
	scale, peak := 1.0, 0.0
	for _, id := range e.windows(split) {
		name := "splits/" + id + "/equity_curve.csv"
		text, err := l.content(e.meta, name)
		if err != nil {
			return "", out, e.gone(err)
		}
		c, err := readCurve(text)
		if err != nil {
			return "", out, &MismatchError{runID, name, err.Error()}
		}
		if n := len(out.Equity); n > 0 && len(c.Equity) > 0 && c.Equity[0] != 0 {
			scale = out.Equity[n-1] / c.Equity[0]
		}
		for i, at := range c.Time {
			equity := c.Equity[i] * scale
			peak = max(peak, equity)
			out.Time, out.Equity = append(out.Time, at), append(out.Equity, equity)
			out.Cash = append(out.Cash, c.Cash[i]*scale)
			out.PositionValue = append(out.PositionValue, c.PositionValue[i]*scale)
			out.Exposure = append(out.Exposure, c.Exposure[i])
			drawdown := 0.0
			if peak > 0 {
				drawdown = (peak - equity) / peak
			}
			out.Drawdown = append(out.Drawdown, drawdown)
		}
	}
	return split, out, nil
}

// gone says why a run has no such file: a compact one never had it.
func (e *entry) gone(err error) error {
	var missing *NotFoundError
	if errors.As(err, &missing) && e.meta.ArtifactLevel == artifact.LevelCompact {
		return &CompactError{e.row.RunID}
	}
	return err
}

// readTable reads a CSV file by its header.
func readTable(text []byte) (header []string, rows [][]string, err error) {
	r := csv.NewReader(bytes.NewReader(text))
	all, err := r.ReadAll()
	if err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		return nil, nil, errors.New("it has no header")
	}
	return all[0], all[1:], nil
}

// readCurve reads equity_curve.csv.
func readCurve(text []byte) (c artifact.EquityCurve, err error) {
	header, rows, err := readTable(text)
	if err != nil {
		return c, err
	}
	want := []string{"timestamp", "equity", "cash", "position_value", "drawdown", "exposure"}
	if len(header) < len(want) || !slices.Equal(header[:len(want)], want) {
		return c, fmt.Errorf("%.120q is not the header of an equity curve", header)
	}
	for i, row := range rows {
		at, err := time.Parse("2006-01-02T15:04:05.000Z", row[0])
		if err != nil {
			return c, fmt.Errorf("row %d: %.40q is no time", i+1, row[0])
		}
		c.Time = append(c.Time, market.FromTime(at))
		for k, column := range []*[]float64{&c.Equity, &c.Cash, &c.PositionValue, &c.Drawdown, &c.Exposure} {
			x := 0.0
			if cell := row[k+1]; cell != "" { // an empty one was not finite
				if x, err = strconv.ParseFloat(cell, 64); err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
					return c, fmt.Errorf("row %d: %.40q is no number", i+1, cell)
				}
			}
			*column = append(*column, x)
		}
	}
	return c, nil
}

// Trade is a closed round trip by the columns of trades.csv, each as JSON: numbers as they are
// written there.
type Trade map[string]json.RawMessage

// Trades returns the closed round trips of a split in their order, and the split's name.
func (l *Library) Trades(ctx context.Context, runID, split string) (string, []Trade, error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return "", nil, err
	}
	if split, err = l.splitOf(ctx, e, split); err != nil {
		return "", nil, err
	}
	out := []Trade{}
	for _, id := range e.windows(split) {
		name := "splits/" + id + "/trades.csv"
		text, err := l.content(e.meta, name)
		if err != nil {
			return "", nil, e.gone(err)
		}
		list, err := readTrades(text)
		if err != nil {
			return "", nil, &MismatchError{runID, name, err.Error()}
		}
		out = append(out, list...)
	}
	return split, out, nil
}

// readTrades reads trades.csv.
func readTrades(text []byte) ([]Trade, error) {
	header, rows, err := readTable(text)
	if err != nil {
		return nil, err
	}
	out := make([]Trade, len(rows))
	for i, row := range rows {
		t := Trade{}
		for k, cell := range row {
			if t[header[k]], err = tradeCell(header[k], cell); err != nil {
				return nil, fmt.Errorf("row %d: %w", i+1, err)
			}
		}
		out[i] = t
	}
	return out, nil
}

// tradeCell is one cell as JSON.
func tradeCell(column, cell string) (json.RawMessage, error) {
	switch column {
	case "order_ids":
		return json.Marshal(strings.FieldsFunc(cell, func(c rune) bool { return c == ';' }))
	case "ambiguous":
		b, err := strconv.ParseBool(cell)
		if err != nil {
			return nil, fmt.Errorf("%s: %.40q is neither true nor false", column, cell)
		}
		return json.Marshal(b)
	case "trade_id", "symbol", "direction", "entry_time", "exit_time", "exit_reason":
		return json.Marshal(cell)
	case "entry_tag", "exit_tag":
		if cell == "" {
			return json.RawMessage("null"), nil
		}
		return json.Marshal(cell)
	}
	if cell == "" {
		return json.RawMessage("null"), nil
	}
	if !json.Valid([]byte(cell)) || strings.ContainsAny(cell, `"[{tfn`) {
		return nil, fmt.Errorf("%s: %.40q is no number", column, cell)
	}
	return json.RawMessage(cell), nil
}

// Log returns the lines of log.jsonl, each a JSON object; none where nothing was written.
func (l *Library) Log(ctx context.Context, runID string) ([]json.RawMessage, error) {
	_, body, err := l.Open(ctx, runID, logFile)
	var missing *NotFoundError
	if errors.As(err, &missing) && missing.Kind == KindFile {
		return []json.RawMessage{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	lines := []json.RawMessage{}
	dec := json.NewDecoder(body)
	for dec.More() {
		var line json.RawMessage
		if err := dec.Decode(&line); err != nil {
			return nil, &MismatchError{runID, logFile, "a line is no JSON"}
		}
		lines = append(lines, line)
	}
	return lines, nil
}
