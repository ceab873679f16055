package indicator

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sample"
)

//ring:no-detector what is asked runs in another process

var update = flag.Bool("update", false, "write the golden file")

// answer is a series as the referee names it. A Line that is nil stands for number.
type answer struct {
	name   string
	line   Line
	number func() float64
	add    func(market.Candle) // nil: fed by the answer before
}

// answers is every series that the referee knows, in its order.
func answers() []answer {
	var all []answer
	put := func(name string, add func(market.Candle), l Line, others ...any) {
		all = append(all, answer{name: name, line: l, number: l.Value, add: add})
		for i := 0; i < len(others); i += 2 {
			a := answer{name: name + " " + others[i].(string)}
			switch x := others[i+1].(type) {
			case Line:
				a.line, a.number = x, x.Value
			case func() bool:
				a.line, a.number = l, func() float64 {
					if x() {
						return 1
					}
					return 0
				}
			}
			all = append(all, a)
		}
	}
	ofClose := func(add func(float64)) func(market.Candle) {
		return func(c market.Candle) { add(c.Close) }
	}
	averageAnswers(ofClose, put)
	momentumAnswers(ofClose, put)
	trendAnswers(put)
	volumeAnswers(put)
	statisticsAnswers(ofClose, put)
	candleAnswers(put)
	return all
}

type (
	putting = func(name string, add func(market.Candle), l Line, others ...any)
	closes  = func(func(float64)) func(market.Candle)
)

func averageAnswers(ofClose closes, put putting) {
	for _, n := range []int{3, 20} {
		d, t, k := NewDEMA(n), NewTEMA(n), NewKAMA(n, 2, 30)
		put(fmt.Sprint("DEMA ", n), ofClose(d.Add), &d)
		put(fmt.Sprint("TEMA ", n), ofClose(t.Add), &t)
		put(fmt.Sprint("KAMA ", n), ofClose(k.Add), &k)
	}
	for _, n := range []int{4, 9, 20} {
		h := NewHMA(n)
		put(fmt.Sprint("HMA ", n), ofClose(h.Add), &h)
	}
}

func momentumAnswers(ofClose closes, put putting) {
	slow, fast := NewStochastic(14, 3, 3), NewStochastic(5, 1, 3)
	put("Stochastic 14 3 3", slow.Add, &slow, "D", slow.DLine())
	put("Stochastic 5 1 3", fast.Add, &fast, "D", fast.DLine())
	one, three := NewStochRSI(14, 5, 1, 3), NewStochRSI(14, 14, 3, 3)
	put("StochRSI 14 5 1 3", ofClose(one.Add), &one, "D", one.DLine())
	put("StochRSI 14 14 3 3", ofClose(three.Add), &three, "D", three.DLine())
	for _, n := range []int{2, 14} {
		w, c := NewWilliamsR(n), NewCCI(n)
		put(fmt.Sprint("WilliamsR ", n), w.Add, &w)
		put(fmt.Sprint("CCI ", n), c.Add, &c)
	}
}

func trendAnswers(put putting) {
	for _, n := range []int{2, 14} {
		a := NewADX(n)
		put(fmt.Sprint("ADX ", n), a.Add, &a, "plus", a.PlusLine(), "minus", a.MinusLine())
	}
	for _, n := range []int{2, 25} {
		a := NewAroon(n)
		put(fmt.Sprint("Aroon ", n), a.Add, &a, "up", a.UpLine(), "down", a.DownLine())
	}
	for _, p := range [][2]float64{{0.02, 0.2}, {0.1, 0.15}} {
		s := NewParabolicSAR(p[0], p[1])
		put(fmt.Sprintf("ParabolicSAR %g %g", p[0], p[1]), s.Add, &s)
	}
	wide, narrow := NewKeltner(20, 10, 2), NewKeltner(3, 14, 1.5)
	put("Keltner 20 10 2", wide.Add, &wide, "upper", wide.UpperLine(), "lower", wide.LowerLine())
	put("Keltner 3 14 1.5", narrow.Add, &narrow, "upper", narrow.UpperLine(), "lower",
		narrow.LowerLine())
	s, i := NewSuperTrend(10, 3), NewIchimoku(9, 26, 52)
	put("SuperTrend 10 3", s.Add, &s, "long", s.Long)
	put("Ichimoku 9 26 52", i.Add, &i, "base", i.BaseLine(), "A", i.SpanALine(), "B", i.SpanBLine())
}

func volumeAnswers(put putting) {
	for _, n := range []int{3, 14} {
		m, c := NewMFI(n), NewCMF(n)
		put(fmt.Sprint("MFI ", n), m.Add, &m)
		put(fmt.Sprint("CMF ", n), c.Add, &c)
	}
	o := NewOBV()
	put("OBV", o.Add, &o)
}

func statisticsAnswers(ofClose closes, put putting) {
	for _, n := range []int{3, 20} {
		l, c, b := NewLinearRegression(n), NewCorrelation(n), NewBeta(n)
		z, v := NewZScore(n), NewRealizedVolatility(n, 365)
		put(fmt.Sprint("LinearRegression ", n), ofClose(l.Add), &l, "slope", l.SlopeLine(), "R2", l.R2Line())
		put(fmt.Sprint("Correlation ", n), func(x market.Candle) { c.Add(x.Close, x.Open) }, &c)
		put(fmt.Sprint("Beta ", n), func(x market.Candle) { b.Add(x.Close, x.Open) }, &b)
		put(fmt.Sprint("ZScore ", n), ofClose(z.Add), &z)
		put(fmt.Sprintf("RealizedVolatility %d 365", n), ofClose(v.Add), &v)
	}
	for _, p := range []struct {
		n int
		q float64
	}{{3, 0.5}, {20, 0.9}, {50, 0.25}, {10, 0}, {10, 1}} {
		q := NewQuantile(p.n, p.q)
		put(fmt.Sprintf("Quantile %d %g", p.n, p.q), ofClose(q.Add), &q)
	}
}

func candleAnswers(put putting) {
	for _, s := range []Shape{Doji, Hammer, HangingMan, ShootingStar, Engulfing, Harami, Piercing,
		DarkCloudCover, MorningStar, EveningStar} {
		p := NewPattern(s)
		put("Pattern "+string(s), p.Add, &p)
	}
	h := NewHeikinAshi()
	put("HeikinAshi open", h.Add, h.OpenLine())
	put("HeikinAshi high", nil, h.HighLine())
	put("HeikinAshi low", nil, h.LowLine())
	put("HeikinAshi close", nil, &h)
	p, i := NewPivots(7*24*time.Hour), market.Time(0)
	put("Pivots", func(c market.Candle) {
		c.OpenTime, i = i*24*hour, i+1
		p.Add(c)
	}, &p, "r1", p.Resistance(1), "r2", p.Resistance(2), "r3", p.Resistance(3), "s1", p.Support(1), "s2",
		p.Support(2), "s3", p.Support(3))
}

// realCandles are the first ones of a series of the sample.
func realCandles(t *testing.T, read func() (*market.Series, error), most int) []market.Candle {
	t.Helper()
	series, err := read()
	if err != nil {
		t.Fatal(err)
	}
	var candles []market.Candle
	for i := range min(most, series.Len()) {
		candles = append(candles, series.At(i))
	}
	return candles
}

// ours is a table of name, first candle with a value, mean, and the values at the candles
// asked for, "" where there is none.
func ours(candles []market.Candle, at []int) [][]string {
	all := answers()
	rows, sums, keep := make([][]string, len(all)), make([]sum, len(all)), 0
	for k, a := range all {
		rows[k] = []string{a.name, "", ""}
	}
	for i, c := range candles {
		kept := keep < len(at) && at[keep] == i
		for k, a := range all {
			if a.add != nil {
				a.add(c)
			}
			text := ""
			if a.line.Ready() {
				if rows[k][1] == "" {
					rows[k][1] = strconv.Itoa(i)
				}
				sums[k].add(a.number())
				text = strconv.FormatFloat(a.number(), 'g', -1, 64)
			}
			if kept {
				rows[k] = append(rows[k], text)
			}
		}
		if kept {
			keep++
		}
	}
	for k, a := range all {
		rows[k][2] = strconv.FormatFloat(sums[k].hi/float64(a.line.Count()), 'g', -1, 64)
	}
	return rows
}

// compareTables fails where a value is not that of the referee.
func compareTables(t *testing.T, got, want [][]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d series, the referee has %d", len(got), len(want))
	}
	for k, row := range got {
		if len(row) != len(want[k]) || row[0] != want[k][0] || row[1] != want[k][1] {
			t.Errorf("%s from candle %s on, %d cells; the referee has %s from %s, %d", row[0], row[1],
				len(row), want[k][0], want[k][1], len(want[k]))
			continue
		}
		tolerance := 1e-9
		if strings.HasPrefix(row[0], "Correlation ") {
			tolerance = 1e-6 // TA-Lib subtracts large sums in float64
		}
		for i := 2; i < len(row); i++ {
			if row[i] == want[k][i] {
				continue
			}
			g, err1 := strconv.ParseFloat(row[i], 64)
			w, err2 := strconv.ParseFloat(want[k][i], 64)
			if err1 != nil || err2 != nil || !(math.Abs(g-w) <= tolerance*max(1, math.Abs(w))) {
				t.Errorf("%s, cell %d: %s, the referee has %s", row[0], i, row[i], want[k][i])
				break
			}
		}
	}
}

// goldenCandles are those of the days whose values the golden file has.
func goldenCandles(n int) (at []int) {
	for i := 20; i < n; i += 90 {
		at = append(at, i)
	}
	return at
}

const goldenFile = "testdata/referee.csv"

// TestReferee compares with what TA-Lib and pandas said to TestProveIndicators.
func TestReferee(t *testing.T) {
	text, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	candles := realCandles(t, sample.ETHUSDT, math.MaxInt)
	compareTables(t, ours(candles, goldenCandles(len(candles))), rowsOf(t, bytes.NewReader(text)))
}

func rowsOf(t *testing.T, in io.Reader) [][]string {
	t.Helper()
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestProveIndicators asks TA-Lib and pandas about real candles.
func TestProveIndicators(t *testing.T) {
	ring.Proof(t, "it installs Python packages")
	referees := filepath.Join("testdata", "referee")
	interpreter := hosttest.Python(t, filepath.Join(referees, "requirements.txt"))
	for name, candles := range map[string][]market.Candle{
		"days":  realCandles(t, sample.ETHUSDT, math.MaxInt),
		"hours": realCandles(t, sample.BTCUSDT, 9_000),
	} {
		var question, said, complaint bytes.Buffer
		fmt.Fprintln(&question, "open,high,low,close,volume")
		for _, c := range candles {
			fmt.Fprintf(&question, "%v,%v,%v,%v,%v\n", c.Open, c.High, c.Low, c.Close, c.Volume)
		}
		cmd := exec.CommandContext(t.Context(), interpreter, filepath.Join(referees, "referee.py"))
		cmd.Env = append(os.Environ(), hosttest.CompiledPython(t))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = &question, &said, &complaint
		if err := cmd.Run(); err != nil || complaint.Len() > 0 {
			t.Fatalf("%s: %v\n%s", name, err, complaint.String())
		}
		want, every := rowsOf(t, &said), make([]int, len(candles))
		for i := range every {
			every[i] = i
		}
		compareTables(t, ours(candles, every), want)
		if name == "days" {
			compareGolden(t, want, goldenCandles(len(candles)))
		}
	}
}

// compareGolden holds the golden file to what the referee says, at the candles it keeps.
func compareGolden(t *testing.T, said [][]string, at []int) {
	t.Helper()
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	for _, row := range said {
		short := slices.Clone(row[:3])
		for _, i := range at {
			short = append(short, row[3+i])
		}
		for i, cell := range short {
			if x, err := strconv.ParseFloat(cell, 64); i > 1 && err == nil {
				short[i] = strconv.FormatFloat(x, 'g', 12, 64)
			}
		}
		_ = out.Write(short)
	}
	if out.Flush(); *update {
		if err := os.WriteFile(goldenFile, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(old, text.Bytes()) {
		t.Errorf("%s differs: run ASSAY_RING=prove go test -run TestProveIndicators -update", goldenFile)
	}
}
