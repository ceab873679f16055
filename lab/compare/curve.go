package compare

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// curveHeader begins every equity_curve.csv; further columns are not read.
const curveHeader = "timestamp,equity,"

// CurveError says which line of an equity curve cannot be read.
type CurveError struct {
	Line   int
	Reason string
}

// Error is line and reason.
func (e *CurveError) Error() string {
	return fmt.Sprintf("equity curve, line %d: %s", e.Line, e.Reason)
}

// readCurve reads equity_curve.csv: step closes that ascend, each with the equity there.
// step is the length of a candle, to know when it opened; 0 leaves the open times out.
// limit is how many rows to read, 0 all. The error is a *CurveError.
func readCurve(r io.Reader, step market.Time, limit int) (metric.Curve, error) {
	var c metric.Curve
	s := bufio.NewScanner(r)
	line := 0
	fail := func(format string, args ...any) (metric.Curve, error) {
		return metric.Curve{}, &CurveError{line, fmt.Sprintf(format, args...)}
	}
	var clock clockReader
	for s.Scan() {
		line++
		text := s.Bytes()
		if line == 1 {
			if !bytes.HasPrefix(text, []byte(curveHeader)) {
				return fail("%.40q is not the header %s...", text, curveHeader)
			}
			continue
		}
		timestamp, rest, _ := bytes.Cut(text, []byte{','})
		number, _, _ := bytes.Cut(rest, []byte{','})
		at, ok := clock.read(timestamp)
		if !ok {
			return fail("%.40q is no time", timestamp)
		}
		equity, err := strconv.ParseFloat(string(number), 64)
		if err != nil || math.IsNaN(equity) || math.IsInf(equity, 0) {
			return fail("%.40q is no equity", number)
		}
		if n := len(c.CloseTime); n > 0 && at <= c.CloseTime[n-1] {
			return fail("%s is not after %s", at, c.CloseTime[n-1])
		}
		c.CloseTime, c.Equity = append(c.CloseTime, at), append(c.Equity, equity)
		if limit > 0 && len(c.Equity) == limit {
			break
		}
	}
	if err := s.Err(); err != nil {
		line++
		return fail("%v", err)
	}
	if line == 0 {
		return fail("the file is empty")
	}
	if step > 0 {
		for _, at := range c.CloseTime {
			c.OpenTime = append(c.OpenTime, at-step)
		}
	}
	// Returns do not depend on the exposure, which Input wants to be there.
	c.Exposure = make([]float64, len(c.Equity))
	return c, nil
}

// clockReader reads times like 2024-01-01T00:00:00.000Z and remembers the day, which
// most neighbours share.
type clockReader struct {
	day  [10]byte
	from market.Time
	set  bool
}

func (c *clockReader) read(b []byte) (market.Time, bool) {
	const form = "2006-01-02T15:04:05.000Z"
	if len(b) != len(form) || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return 0, false
	}
	if !c.set || string(c.day[:]) != string(b[:10]) {
		from, err := market.ParseTime(string(b[:10]))
		if err != nil {
			return 0, false
		}
		c.from, c.set = from, true
		copy(c.day[:], b)
	}
	hour, minute, second := digits(b[11:13]), digits(b[14:16]), digits(b[17:19])
	milli := digits(b[20:23])
	if min(hour, minute, second, milli) < 0 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	return c.from + market.Time(((hour*60+minute)*60+second)*1000+milli), true
}

// digits is a number without a sign, -1 if it is none.
func digits(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// returns is the daily returns of a split of the run, those of all windows for the
// walk-forward. why says why there are none.
func (x *loaded) returns(splitID string) (r metric.Returns, why metric.Reason, err error) {
	m, has := x.measured(splitID)
	if !has {
		return r, metric.NotApplicable, nil
	}
	if m.status == failed {
		return r, metric.NotApplicable, nil
	}
	if m.status == locked {
		return r, locked, nil
	}
	in := metric.Input{}
	if in.Timeframe, err = market.ParseTimeframe(x.meta.Timeframe); err != nil {
		return r, "", x.broken(err)
	}
	for _, s := range x.report.Splits {
		if s.ID != splitID && !(splitID == walkForward && s.Role == split.RoleWalkForward) {
			continue
		}
		curve, err := x.curve(s.ID, in.Timeframe)
		if err != nil {
			return r, "", x.broken(err)
		}
		in.Curves = append(in.Curves, curve)
	}
	in.Calendar = x.calendar(splitID)
	if r, err = metric.MainReturns(in); err != nil {
		return r, "", x.broken(err)
	}
	return r, "", nil
}

func (x *loaded) broken(err error) error {
	return &Error{Code: "ARTIFACT_MISMATCH", Message: fmt.Sprintf("run %s: %v", x.row.RunID, err), Details: map[string]any{"run_id": x.row.RunID}}
}

func (x *loaded) curve(splitID string, tf market.Timeframe) (metric.Curve, error) {
	f, err := os.Open(filepath.Join(x.dir, "splits", splitID, "equity_curve.csv"))
	if err != nil {
		return metric.Curve{}, err
	}
	defer f.Close()
	return readCurve(f, market.Time(tf.Approx().Milliseconds()), 0)
}

// calendar is the one that the metrics of the split were computed with.
func (x *loaded) calendar(splitID string) string {
	var meta metric.Meta
	switch s := x.split(splitID); {
	case splitID == walkForward:
		meta = x.report.WalkForward.Meta
	case s.Status == locked && x.test != nil:
		meta = x.test.Meta
	default:
		meta = s.Meta
	}
	return meta.Calendar
}
