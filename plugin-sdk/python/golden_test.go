package python

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/internal/step"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var update = flag.Bool("update", false, "write the golden files")

// indicatorCase is one indicator of both SDKs: the name of the class in Python, its
// arguments, the members that are lines of their own, and the newest values as bits. Candles are
// hours, in the order of goldenIndicators.
type indicatorCase struct {
	Name   string     `json:"name"`
	Args   []any      `json:"args"`
	Parts  []string   `json:"parts"`
	Feed   string     `json:"feed"`   // what add takes: close, candle, or pair for close and open
	Counts []int      `json:"counts"` // how many values each line has had
	Values [][]string `json:"values"`
}

type goldenIndicators struct {
	Candles [][5]float64    `json:"candles"`
	Cases   []indicatorCase `json:"cases"`
}

const (
	candleCount = 300
	keptValues  = 40
	hour        = market.Time(3_600_000)
)

// candles are of a random walk that uses no function whose result depends on the CPU.
func candles() []market.Candle {
	r := rand.New(rand.NewPCG(1, 2))
	list, price := make([]market.Candle, candleCount), 100.0
	for i := range list {
		open := price
		price += float64(price * 0.02 * (r.Float64() - 0.5))
		high, low := max(open, price)+r.Float64(), min(open, price)-r.Float64()
		if i%50 < 5 { // quiet candles, in which all values are equal
			price, high, low = open, open, open
		}
		list[i] = market.Candle{OpenTime: market.Time(i) * hour, Open: open, High: high, Low: low,
			Close:  price,
			Volume: float64(10 * r.Float64())}
	}
	return list
}

func bits(l indicator.Line) string {
	if !l.Ready() {
		return ""
	}
	var b [8]byte
	x := math.Float64bits(l.Value())
	for i := range b {
		b[7-i] = byte(x >> (8 * i))
	}
	return hex.EncodeToString(b[:])
}

func makeIndicators() goldenIndicators {
	list := candles()
	g := goldenIndicators{}
	for _, c := range list {
		g.Candles = append(g.Candles, [5]float64{c.Open, c.High, c.Low, c.Close, c.Volume})
	}
	add := func(name string, args []any, parts string, feed string, take func(market.Candle),
		lines ...indicator.Line) {
		one := indicatorCase{Name: name, Args: args, Parts: strings.Fields(parts), Feed: feed}
		for i, c := range list {
			take(c)
			if i < candleCount-keptValues {
				continue
			}
			var row []string
			for _, l := range lines {
				row = append(row, bits(l))
			}
			one.Values = append(one.Values, row)
		}
		for _, l := range lines {
			one.Counts = append(one.Counts, l.Count())
		}
		g.Cases = append(g.Cases, one)
	}
	addPriceIndicators(add)
	addCandleIndicators(add)
	addStatistics(add)
	return g
}

// adding appends a case; args are those of the class in Python.
type adding = func(name string, args []any, parts, feed string, take func(market.Candle),
	lines ...indicator.Line)

func closes(add func(float64)) func(market.Candle) { return func(c market.Candle) { add(c.Close) } }

func addPriceIndicators(add adding) {
	for _, n := range []int{1, 14} {
		args, name := []any{n}, "/"+strconv.Itoa(n)
		sma, ema, wma := indicator.NewSMA(n), indicator.NewEMA(n), indicator.NewWMA(n)
		rsi, roc, dev := indicator.NewRSI(n), indicator.NewROC(n), indicator.NewStdDev(n)
		high, low, band := indicator.NewHighest(n), indicator.NewLowest(n), indicator.NewBollinger(n, 2.5)
		dema, tema, hma := indicator.NewDEMA(n), indicator.NewTEMA(n), indicator.NewHMA(n)
		kama, stoch := indicator.NewKAMA(n, 2, 30), indicator.NewStochRSI(n, 5, 1, 3)
		add("SMA"+name, args, "", "close", closes(sma.Add), &sma)
		add("EMA"+name, args, "", "close", closes(ema.Add), &ema)
		add("WMA"+name, args, "", "close", closes(wma.Add), &wma)
		add("RSI"+name, args, "", "close", closes(rsi.Add), &rsi)
		add("ROC"+name, args, "", "close", closes(roc.Add), &roc)
		add("StdDev"+name, args, "", "close", closes(dev.Add), &dev)
		add("Highest"+name, args, "", "close", closes(high.Add), &high)
		add("Lowest"+name, args, "", "close", closes(low.Add), &low)
		add("Bollinger"+name, []any{n, 2.5}, "upper lower", "close", closes(band.Add), &band,
			band.UpperLine(), band.LowerLine())
		add("DEMA"+name, args, "", "close", closes(dema.Add), &dema)
		add("TEMA"+name, args, "", "close", closes(tema.Add), &tema)
		add("HMA"+name, args, "", "close", closes(hma.Add), &hma)
		add("KAMA"+name, []any{n, 2, 30}, "", "close", closes(kama.Add), &kama)
		add("StochRSI"+name, []any{n, 5, 1, 3}, "d", "close", closes(stoch.Add), &stoch, stoch.DLine())
	}
	macd := indicator.NewMACD(12, 26, 9)
	add("MACD/12", []any{12, 26, 9}, "signal histogram", "close", closes(macd.Add), &macd, macd.SignalLine(),
		macd.HistogramLine())
}

func addCandleIndicators(add adding) {
	for _, n := range []int{1, 14} {
		args, name := []any{n}, "/"+strconv.Itoa(n)
		atr, don, vwap := indicator.NewATR(n), indicator.NewDonchian(n), indicator.NewVWAP(n)
		stoch, will, cci := indicator.NewStochastic(n, 3, 4), indicator.NewWilliamsR(n), indicator.NewCCI(n)
		adx, aroon, super := indicator.NewADX(n), indicator.NewAroon(n), indicator.NewSuperTrend(n, 1.5)
		kelt, cloud := indicator.NewKeltner(n, 10, 2.5), indicator.NewIchimoku(n, 2*n, 3*n)
		mfi, cmf := indicator.NewMFI(n), indicator.NewCMF(n)
		add("ATR"+name, args, "", "candle", atr.Add, &atr)
		add("Donchian"+name, args, "upper lower", "candle", don.Add, &don, don.UpperLine(), don.LowerLine())
		add("VWAP"+name, args, "", "candle", vwap.Add, &vwap)
		add("Stochastic"+name, []any{n, 3, 4}, "d", "candle", stoch.Add, &stoch, stoch.DLine())
		add("WilliamsR"+name, args, "", "candle", will.Add, &will)
		add("CCI"+name, args, "", "candle", cci.Add, &cci)
		add("ADX"+name, args, "plus minus", "candle", adx.Add, &adx, adx.PlusLine(), adx.MinusLine())
		add("Aroon"+name, args, "up down", "candle", aroon.Add, &aroon, aroon.UpLine(), aroon.DownLine())
		add("SuperTrend"+name, []any{n, 1.5}, "", "candle", super.Add, &super)
		add("Keltner"+name, []any{n, 10, 2.5}, "upper lower", "candle", kelt.Add, &kelt, kelt.UpperLine(),
			kelt.LowerLine())
		add("Ichimoku"+name, []any{n, 2 * n, 3 * n}, "base span_a span_b", "candle", cloud.Add, &cloud,
			cloud.BaseLine(), cloud.SpanALine(), cloud.SpanBLine())
		add("MFI"+name, args, "", "candle", mfi.Add, &mfi)
		add("CMF"+name, args, "", "candle", cmf.Add, &cmf)
	}
	sar, obv := indicator.NewParabolicSAR(0.03, 0.2), indicator.NewOBV()
	add("ParabolicSAR/0.03", []any{0.03, 0.2}, "", "candle", sar.Add, &sar)
	add("OBV/", []any{}, "", "candle", obv.Add, &obv)
	day, smooth := indicator.NewSessionVWAP(24*time.Hour), indicator.NewHeikinAshi()
	add("SessionVWAP/day", []any{"day"}, "", "candle", day.Add, &day)
	add("HeikinAshi/", []any{}, "open high low", "candle", smooth.Add, &smooth, smooth.OpenLine(),
		smooth.HighLine(), smooth.LowLine())
	pivots := indicator.NewPivots(24 * time.Hour)
	add("Pivots/day", []any{"day"}, "r1 r2 r3 s1 s2 s3", "candle", pivots.Add, &pivots, pivots.Resistance(1),
		pivots.Resistance(2), pivots.Resistance(3), pivots.Support(1), pivots.Support(2), pivots.Support(3))
	for _, s := range []indicator.Shape{indicator.Doji, indicator.Hammer, indicator.HangingMan,
		indicator.ShootingStar, indicator.Engulfing, indicator.Harami, indicator.Piercing,
		indicator.DarkCloudCover, indicator.MorningStar, indicator.EveningStar} {
		p := indicator.NewPattern(s)
		add("Pattern/"+string(s), []any{s}, "", "candle", p.Add, &p)
	}
}

func addStatistics(add adding) {
	for _, n := range []int{2, 14} {
		args, name := []any{n}, "/"+strconv.Itoa(n)
		line, score := indicator.NewLinearRegression(n), indicator.NewZScore(n)
		both, beta := indicator.NewCorrelation(n), indicator.NewBeta(n)
		low, vol := indicator.NewQuantile(n, 0.3), indicator.NewRealizedVolatility(n, 8760)
		pairs := func(add func(x, y float64)) func(market.Candle) {
			return func(c market.Candle) { add(c.Close, c.Open) }
		}
		add("LinearRegression"+name, args, "slope r2", "close", closes(line.Add), &line, line.SlopeLine(),
			line.R2Line())
		add("ZScore"+name, args, "", "close", closes(score.Add), &score)
		add("Correlation"+name, args, "", "pair", pairs(both.Add), &both)
		add("Beta"+name, args, "", "pair", pairs(beta.Add), &beta)
		add("Quantile"+name, []any{n, 0.3}, "", "close", closes(low.Add), &low)
		add("RealizedVolatility"+name, []any{n, 8760.0}, "", "close", closes(vol.Add), &vol)
	}
}

type goldenRandom struct {
	Uint64  []string  `json:"uint64"`
	Float64 []float64 `json:"float64"`
	Int10   []int     `json:"int10"`
	Int8    []int     `json:"int8"`
}

func makeRandom() goldenRandom {
	r := rand.New(drive.Source(42, "strategy", 0))
	var g goldenRandom
	for range 3 {
		g.Uint64 = append(g.Uint64, new(big.Int).SetUint64(r.Uint64()).String())
	}
	for range 3 {
		g.Float64 = append(g.Float64, r.Float64())
	}
	for range 20 {
		g.Int10 = append(g.Int10, r.IntN(10))
	}
	for range 5 {
		g.Int8 = append(g.Int8, r.IntN(8))
	}
	return g
}

// frameCase is candles of one symbol, a step each, and the larger candle that shows after each step.
type frameCase struct {
	Base    string       `json:"base"`
	Larger  string       `json:"larger"`
	Candles [][7]float64 `json:"candles"`
	Shown   []frameShown `json:"shown"`
}

type frameShown struct {
	Step   int        `json:"step"`
	Candle [7]float64 `json:"candle"`
}

func row(c market.Candle) [7]float64 {
	return [7]float64{float64(c.OpenTime), float64(c.CloseTime), c.Open, c.High, c.Low, c.Close, c.Volume}
}

// makeFrames are candles with gaps, put together to larger ones. Those without volume stand for a step of
// another symbol.
func makeFrames() (cases []frameCase) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, pair := range [][2]string{{"1h", "4h"}, {"1h", "1d"}, {"1d", "1w"}, {"1d", "2M"}, {"15m", "45m"}} {
		base, larger := market.MustTimeframe(pair[0]), market.MustTimeframe(pair[1])
		one := frameCase{Base: pair[0], Larger: pair[1]}
		f := step.Frame{Base: base, Timeframe: larger}
		at := base.Bucket(1_583_000_000_000).OpenTime
		for i := range 60 {
			for range r.IntN(8) / 7 * r.IntN(40) {
				at = base.Next(at)
			}
			c := market.Candle{OpenTime: at, CloseTime: base.Next(at), Open: 1 + r.Float64(),
				High: 3 + r.Float64(), Low: r.Float64(), Close: 1 + r.Float64(), Volume: 1 + r.Float64()}
			if r.IntN(9) == 0 {
				c.Volume = 0
				f.Advance(c.CloseTime, nil)
			} else {
				f.Advance(c.CloseTime, &c)
			}
			one.Candles = append(one.Candles, row(c))
			if f.Closed {
				one.Shown = append(one.Shown, frameShown{i, row(f.Candle)})
			}
			at = c.CloseTime
		}
		cases = append(cases, one)
	}
	return cases
}

// TestGolden holds the values that the tests of the Python package compare with.
func TestGolden(t *testing.T) {
	for name, v := range map[string]any{"indicators.json": makeIndicators(), "random.json": makeRandom(),
		"frames.json": makeFrames()} {
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("tests", "golden", name)
		if *update {
			if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(old) != string(text)+"\n" {
			t.Errorf("%s differs: run go test -update ./plugin-sdk/python", path)
		}
	}
}
