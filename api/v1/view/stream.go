package view

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/runner"
)

// ResultsDocument writes the Results of a run field by field, so that a long run
// needs no second copy in memory.
type ResultsDocument struct {
	rep   runner.Report
	curve Curve
	info  metric.Thinning
	rows  int
}

// NewResultsDocument shows a report of a run that has ended. Negative rows or
// points show all.
func NewResultsDocument(rep runner.Report, rows, points int) *ResultsDocument {
	d := &ResultsDocument{rep: rep, rows: rows}
	d.curve, d.info = thinned(rep.Results.Equity, points)
	return d
}

// Write writes the document. The order and names of the fields are those of
// Results, which a test holds.
func (d *ResultsDocument) Write(out io.Writer) error {
	r, s := d.rep.Results, StatusOf(d.rep.Snapshot)
	m := metricsOf(r)
	w := &fieldWriter{w: bufio.NewWriterSize(out, 64<<10)}
	w.field("run_id", s.RunID)
	w.field("config", ConfigOf(d.rep))
	w.field("status", s.Status)
	w.field("start_time", s.StartTime)
	w.field("end_time", s.EndTime)
	writeList(w, "orders", d.tail(len(r.Orders)), r.Orders, OrderOf)
	writeList(w, "trades", d.tail(len(r.Trades)), r.Trades, TradeOf)
	writeList(w, "positions", 0, r.Positions, PositionOf)
	w.curve("equity_curve", d.curve)
	w.field("performance_metrics", m.Metrics)
	w.field("final_value", Plain(r.FinalValue))
	w.field("error", s.Error)
	writeList(w, "fills", d.tail(len(r.Fills)), r.Fills, FillOf)
	w.field("mode", s.Mode)
	w.field("stop_reason", d.rep.Snapshot.StopReason)
	w.field("partial", s.Partial)
	w.field("error_details", s.ErrorDetails)
	w.field("initial_cash", Plain(r.InitialCash))
	w.field("performance_metrics_undefined", m.Undefined)
	w.field("metrics_meta", m.Meta)
	w.field("equity_curve_sampling", d.info)
	w.field("rows_total", rowsOf(r))
	w.field("assumptions", notes(r.Assumptions))
	w.field("warnings", notes(r.Warnings))
	w.field("request_hash", r.RequestHash)
	w.field("result_hash", r.ResultHash)
	w.field("artifacts", d.rep.Artifacts)
	w.field("trials", d.rep.Trials)
	return w.close()
}

// tail is the index of the first of the newest entries to show.
func (d *ResultsDocument) tail(n int) int {
	if d.rows < 0 {
		return 0
	}
	return max(0, n-d.rows)
}

// fieldWriter writes one object; the first error sticks.
type fieldWriter struct {
	w   *bufio.Writer
	any bool
	err error
	buf []byte
}

func (f *fieldWriter) name(name string) {
	f.buf = append(f.buf[:0], ',', '"')
	if !f.any {
		f.any, f.buf[0] = true, '{'
	}
	f.buf = append(append(f.buf, name...), '"', ':')
	f.put(f.buf)
}

func (f *fieldWriter) put(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
}

func (f *fieldWriter) value(v any) {
	if f.err != nil {
		return
	}
	enc := json.NewEncoder(noNewline{f.w})
	enc.SetEscapeHTML(false)
	f.err = enc.Encode(v)
}

func (f *fieldWriter) field(name string, v any) {
	f.name(name)
	f.value(v)
}

func (f *fieldWriter) curve(name string, c Curve) {
	f.name(name)
	f.put([]byte{'['})
	for i := range c.Len() {
		f.buf = f.buf[:0]
		if i > 0 {
			f.buf = append(f.buf, ',')
		}
		f.buf = c.AppendPoint(f.buf, i)
		f.put(f.buf)
	}
	f.put([]byte{']'})
}

func (f *fieldWriter) close() error {
	f.put([]byte{'}'})
	if f.err == nil {
		f.err = f.w.Flush()
	}
	return f.err
}

// writeList writes the entries from index from on.
func writeList[T, V any](f *fieldWriter, name string, from int, in []T, show func(*T) V) {
	f.name(name)
	f.put([]byte{'['})
	for i := from; i < len(in) && f.err == nil; i++ {
		if i > from {
			f.put([]byte{','})
		}
		f.value(show(&in[i]))
	}
	f.put([]byte{']'})
}

// noNewline drops the line end that json.Encoder adds to each value.
type noNewline struct{ w io.Writer }

// Write implements io.Writer.
func (n noNewline) Write(p []byte) (int, error) {
	if _, err := n.w.Write(p[:len(p)-1]); err != nil {
		return 0, err
	}
	return len(p), nil
}
