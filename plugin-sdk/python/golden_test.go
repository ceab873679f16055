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
	"testing"

	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var update = flag.Bool("update", false, "write the golden files")

// indicatorCase is one indicator of both SDKs: the name of the class in Python, its
// arguments, the members that are lines of their own, and the newest values as bits.
type indicatorCase struct {
	Name    string     `json:"name"`
	Args    []any      `json:"args"`
	Parts   []string   `json:"parts"`
	Candles bool       `json:"candles"`
	Values  [][]string `json:"values"`
}

type goldenIndicators struct {
	Candles [][5]float64    `json:"candles"`
	Cases   []indicatorCase `json:"cases"`
}

const (
	candleCount = 300
	keptValues  = 40
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
		list[i] = market.Candle{Open: open, High: high, Low: low, Close: price,
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
	add := func(name string, args []any, parts []string, whole bool, feed func(market.Candle),
		lines ...indicator.Line) {
		one := indicatorCase{Name: name, Args: args, Parts: append([]string{}, parts...), Candles: whole}
		for i, c := range list {
			feed(c)
			if i < candleCount-keptValues {
				continue
			}
			var row []string
			for _, l := range lines {
				row = append(row, bits(l))
			}
			one.Values = append(one.Values, row)
		}
		g.Cases = append(g.Cases, one)
	}
	for _, n := range []int{1, 14} {
		sma, ema, wma := indicator.NewSMA(n), indicator.NewEMA(n), indicator.NewWMA(n)
		rsi, roc, dev, atr := indicator.NewRSI(n), indicator.NewROC(n), indicator.NewStdDev(n), indicator.NewATR(n)
		high, low := indicator.NewHighest(n), indicator.NewLowest(n)
		don, band := indicator.NewDonchian(n), indicator.NewBollinger(n, 2.5)
		args, name := []any{n}, "/"+strconv.Itoa(n)
		closes := func(add func(float64)) func(market.Candle) {
			return func(c market.Candle) { add(c.Close) }
		}
		add("SMA"+name, args, nil, false, closes(sma.Add), &sma)
		add("EMA"+name, args, nil, false, closes(ema.Add), &ema)
		add("WMA"+name, args, nil, false, closes(wma.Add), &wma)
		add("RSI"+name, args, nil, false, closes(rsi.Add), &rsi)
		add("ROC"+name, args, nil, false, closes(roc.Add), &roc)
		add("StdDev"+name, args, nil, false, closes(dev.Add), &dev)
		add("Highest"+name, args, nil, false, closes(high.Add), &high)
		add("Lowest"+name, args, nil, false, closes(low.Add), &low)
		add("Bollinger"+name, []any{n, 2.5}, []string{"upper", "lower"}, false, closes(band.Add), &band,
			band.UpperLine(), band.LowerLine())
		add("ATR"+name, args, nil, true, atr.Add, &atr)
		add("Donchian"+name, args, []string{"upper", "lower"}, true, don.Add, &don, don.UpperLine(),
			don.LowerLine())
	}
	macd := indicator.NewMACD(12, 26, 9)
	add("MACD/12", []any{12, 26, 9}, []string{"signal", "histogram"}, false,
		func(c market.Candle) { macd.Add(c.Close) }, &macd, macd.SignalLine(), macd.HistogramLine())
	return g
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

// TestGolden holds the values that the tests of the Python package compare with.
func TestGolden(t *testing.T) {
	for name, v := range map[string]any{"indicators.json": makeIndicators(), "random.json": makeRandom()} {
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
