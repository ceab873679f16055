package indicator

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// subject is one indicator behind the two things all of them do.
type subject struct {
	name  string
	add   func(market.Candle)
	lines []Line
	// remembers: how many Adds a bad value spoils; 0 = for good, -1 = it takes any value or has a test
	// of its own.
	remembers int
}

const testPeriod = 14

// subjects is every indicator, freshly made.
func subjects() []subject {
	var (
		track      Track
		sma        = NewSMA(testPeriod)
		wma        = NewWMA(testPeriod)
		ema        = NewEMA(testPeriod)
		rsi        = NewRSI(testPeriod)
		atr        = NewATR(testPeriod)
		deviation  = NewStdDev(testPeriod)
		bollinger  = NewBollinger(testPeriod, 2)
		macd       = NewMACD(12, 26, 9)
		highest    = NewHighest(testPeriod)
		lowest     = NewLowest(testPeriod)
		donchian   = NewDonchian(testPeriod)
		roc        = NewROC(testPeriod)
		vwap       = NewVWAP(testPeriod)
		session    = NewSessionVWAP(24 * time.Hour)
		cumulative = NewCumulativeVWAP()

		dema, tema           = NewDEMA(testPeriod), NewTEMA(testPeriod)
		kama, hma            = NewKAMA(testPeriod, 2, 30), NewHMA(20)
		stochastic, stochRSI = NewStochastic(testPeriod, 3, 4), NewStochRSI(testPeriod, testPeriod, 3, 4)
		williams, cci        = NewWilliamsR(testPeriod), NewCCI(testPeriod)
		adx, aroon           = NewADX(testPeriod), NewAroon(testPeriod)
		sar, super           = NewParabolicSAR(0.02, 0.2), NewSuperTrend(10, 3)
		keltner              = NewKeltner(20, 10, 2)
		cloud, base, spans   = NewIchimoku(9, 26, 52), NewIchimoku(9, 26, 52), NewIchimoku(9, 26, 52)
		mfi, obv, cmf        = NewMFI(testPeriod), NewOBV(), NewCMF(testPeriod)
		regression, score    = NewLinearRegression(testPeriod), NewZScore(testPeriod)
		correlation, beta    = NewCorrelation(testPeriod), NewBeta(testPeriod)
		quantile             = NewQuantile(testPeriod, 0.3)
		volatility           = NewRealizedVolatility(testPeriod, 365)
		smoothed, pattern    = NewHeikinAshi(), NewPattern(Harami)
		pivots               = NewPivots(24 * time.Hour)
	)
	ofClose := func(add func(float64)) func(market.Candle) {
		return func(c market.Candle) { add(c.Close) }
	}
	return []subject{
		{"Track", ofClose(track.Add), []Line{&track}, -1},
		{"SMA", ofClose(sma.Add), []Line{&sma}, testPeriod},
		{"WMA", ofClose(wma.Add), []Line{&wma}, testPeriod},
		{"EMA", ofClose(ema.Add), []Line{&ema}, 0},
		{"RSI", ofClose(rsi.Add), []Line{&rsi}, 0},
		{"ATR", atr.Add, []Line{&atr}, 0},
		{"StdDev", ofClose(deviation.Add), []Line{&deviation}, testPeriod},
		{"Bollinger", ofClose(bollinger.Add),
			[]Line{&bollinger, bollinger.UpperLine(), bollinger.LowerLine()}, testPeriod},
		{"MACD", ofClose(macd.Add), []Line{&macd, macd.SignalLine(), macd.HistogramLine()}, 0},
		{"Highest", ofClose(highest.Add), []Line{&highest}, testPeriod},
		{"Lowest", ofClose(lowest.Add), []Line{&lowest}, testPeriod},
		{"Donchian", donchian.Add, []Line{&donchian, donchian.UpperLine(), donchian.LowerLine()}, testPeriod},
		{"ROC", ofClose(roc.Add), []Line{&roc}, testPeriod + 1},
		{"VWAP", vwap.Add, []Line{&vwap}, testPeriod},
		{"SessionVWAP", session.Add, []Line{&session}, 0},
		{"CumulativeVWAP", cumulative.Add, []Line{&cumulative}, 0},
		{"DEMA", ofClose(dema.Add), []Line{&dema}, 0},
		{"TEMA", ofClose(tema.Add), []Line{&tema}, 0},
		{"KAMA", ofClose(kama.Add), []Line{&kama}, 0},
		{"HMA", ofClose(hma.Add), []Line{&hma}, 20 + 4 - 1},
		{"Stochastic", stochastic.Add, []Line{&stochastic}, testPeriod + 3 - 1},
		{"StochRSI", ofClose(stochRSI.Add), []Line{&stochRSI, stochRSI.DLine()}, 0},
		{"WilliamsR", williams.Add, []Line{&williams}, testPeriod},
		{"CCI", cci.Add, []Line{&cci}, testPeriod},
		{"ADX", adx.Add, []Line{&adx, adx.PlusLine(), adx.MinusLine()}, 0},
		{"Aroon", aroon.Add, []Line{&aroon, aroon.UpLine(), aroon.DownLine()}, testPeriod + 1},
		{"ParabolicSAR", sar.Add, []Line{&sar}, 0},
		{"SuperTrend", super.Add, []Line{&super}, 0},
		{"Keltner", keltner.Add, []Line{&keltner, keltner.UpperLine(), keltner.LowerLine()}, 0},
		{"Ichimoku", cloud.Add, []Line{&cloud}, 9},
		{"Ichimoku base", base.Add, []Line{base.BaseLine()}, 26},
		{"Ichimoku spans", spans.Add, []Line{spans.SpanBLine()}, 52 + 26},
		{"MFI", mfi.Add, []Line{&mfi}, testPeriod + 1},
		{"OBV", obv.Add, []Line{&obv}, 0},
		{"CMF", cmf.Add, []Line{&cmf}, testPeriod},
		{"LinearRegression", ofClose(regression.Add),
			[]Line{&regression, regression.SlopeLine(), regression.R2Line()}, testPeriod},
		{"ZScore", ofClose(score.Add), []Line{&score}, testPeriod},
		{"Correlation", func(c market.Candle) { correlation.Add(c.Close, c.Open) }, []Line{&correlation},
			testPeriod},
		{"Beta", func(c market.Candle) { beta.Add(c.Close, c.Open) }, []Line{&beta}, testPeriod + 1},
		{"Quantile", ofClose(quantile.Add), []Line{&quantile}, testPeriod},
		{"RealizedVolatility", ofClose(volatility.Add), []Line{&volatility}, testPeriod + 1},
		{"HeikinAshi", smoothed.Add, []Line{&smoothed, smoothed.OpenLine(), smoothed.HighLine(),
			smoothed.LowLine()}, 0},
		{"Pattern", pattern.Add, []Line{&pattern}, 13},
		{"Pivots", pivots.Add, []Line{&pivots, pivots.Resistance(1), pivots.Resistance(2),
			pivots.Resistance(3), pivots.Support(1), pivots.Support(2), pivots.Support(3)}, -1},
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	candles := walk(1, 4096, 100)
	for _, s := range subjects() {
		i := 0
		if got := testing.AllocsPerRun(3000, func() {
			s.add(candles[i])
			i++
		}); got != 0 {
			t.Errorf("%s: %g allocations per Add, want 0", s.name, got)
		}
	}
	fast, slow := NewSMA(3), NewSMA(5)
	if got := testing.AllocsPerRun(100, func() {
		fast.Add(1)
		slow.Add(1)
		_ = fast.CrossedAbove(&slow) || fast.CrossedBelow(&slow)
	}); got != 0 {
		t.Errorf("crossing: %g allocations, want 0", got)
	}
}

// A strategy decides by comparing these values, so a last bit that depended on the CPU
// or the compiler would change its trades.
func TestSameBitsEverywhere(t *testing.T) {
	const want = "abbb694975cc6d56039f7d066725b7a0de8eb8427eea246cd7e9b335a9f62aad"
	h := sha256.New()
	all := subjects()
	for _, c := range walk(42, 20_000, 100) {
		for _, s := range all {
			s.add(c)
			for _, l := range s.lines {
				_ = binary.Write(h, binary.LittleEndian, math.Float64bits(l.Value()))
			}
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("fingerprint of all values is %s, want %s: a formula or its rounding changed", got, want)
	}
}

// Previous is what Value was one Add before.
func TestPreviousFollowsValue(t *testing.T) {
	for _, s := range subjects() {
		before := make([]float64, len(s.lines))
		for i, c := range walk(11, 200, 100) {
			s.add(c)
			for k, l := range s.lines {
				if l.Previous() != before[k] {
					t.Fatalf("%s, line %d, candle %d: previous %g, want %g", s.name, k, i, l.Previous(),
						before[k])
				}
				before[k] = l.Value()
			}
		}
	}
}

// One bad candle is answered with NaN, never with a wrong number, and an indicator over
// a window is back on the undisturbed values as soon as the candle has left.
func TestBadCandle(t *testing.T) {
	const at, end = 100, 250
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		clean := subjects()
		for k, s := range subjects() {
			if s.remembers < 0 {
				continue
			}
			for i, c := range walk(13, end, 100) {
				c.OpenTime = market.Time(i) // one session
				clean[k].add(c)
				if i == at {
					c.High, c.Low, c.Close = bad, bad, bad
				}
				if s.add(c); i < at {
					continue
				}
				spoilt := s.remembers == 0 || i < at+s.remembers
				for j, l := range s.lines {
					want := clean[k].lines[j].Value()
					if spoilt != math.IsNaN(l.Value()) || !spoilt && l.Value() != want {
						t.Fatalf("%s, line %d, %g at %d, candle %d: %g, want %g, NaN: %v", s.name, j, bad, at,
							i, l.Value(), want, spoilt)
					}
				}
			}
		}
	}
}

func TestImpossibleArgumentsPanicWithTheRange(t *testing.T) {
	constructors := map[string]func(n int){
		"NewSMA": func(n int) { NewSMA(n) }, "NewWMA": func(n int) { NewWMA(n) },
		"NewEMA": func(n int) { NewEMA(n) }, "NewRSI": func(n int) { NewRSI(n) },
		"NewATR": func(n int) { NewATR(n) }, "NewROC": func(n int) { NewROC(n) },
		"NewVWAP": func(n int) { NewVWAP(n) }, "NewStdDev": func(n int) { NewStdDev(n) },
		"NewHighest": func(n int) { NewHighest(n) }, "NewLowest": func(n int) { NewLowest(n) },
		"NewDonchian": func(n int) { NewDonchian(n) }, "NewBollinger": func(n int) { NewBollinger(n, 2) },
		"NewMACD": func(n int) { NewMACD(n, 26, 9) },
		"NewDEMA": func(n int) { NewDEMA(n) }, "NewTEMA": func(n int) { NewTEMA(n) },
		"NewKAMA": func(n int) { NewKAMA(n, 2, 30) }, "NewHMA": func(n int) { NewHMA(n) },
		"NewStochastic": func(n int) { NewStochastic(n, 3, 3) },
		"NewStochRSI":   func(n int) { NewStochRSI(14, 14, 3, n) },
		"NewWilliamsR":  func(n int) { NewWilliamsR(n) }, "NewCCI": func(n int) { NewCCI(n) },
		"NewADX": func(n int) { NewADX(n) }, "NewAroon": func(n int) { NewAroon(n) },
		"NewSuperTrend": func(n int) { NewSuperTrend(n, 3) },
		"NewKeltner":    func(n int) { NewKeltner(n, 10, 2) },
		"NewIchimoku":   func(n int) { NewIchimoku(9, 26, n) },
		"NewMFI":        func(n int) { NewMFI(n) }, "NewCMF": func(n int) { NewCMF(n) },
		"NewZScore": func(n int) { NewZScore(n) }, "NewQuantile": func(n int) { NewQuantile(n, 0.5) },
		"NewRealizedVolatility": func(n int) { NewRealizedVolatility(n, 365) },
	}
	for name, make := range constructors {
		for _, n := range []int{0, -1, MaxPeriod + 1} {
			mustPanic(t, func() { make(n) }, "indicator."+name+": ", "must be 1 to 10000000")
		}
	}
	mustPanic(t, func() { NewMACD(26, 12, 9) }, "fast is 26, must be below slow (12)")
	mustPanic(t, func() { NewMACD(12, 26, 0) }, "signal is 0")
	for _, k := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		mustPanic(t, func() { NewBollinger(20, k) }, "finite number above 0")
	}
	mustPanic(t, func() { NewSessionVWAP(time.Microsecond) }, "at least 1ms")
	mustPanic(t, func() { NewPivots(0) }, "indicator.NewPivots: ", "at least 1ms")
	for _, make := range []func(){
		func() { NewLinearRegression(1) }, func() { NewCorrelation(1) }, func() { NewBeta(MaxPeriod + 1) },
	} {
		mustPanic(t, make, "must be 2 to 10000000")
	}
	mustPanic(t, func() { NewKAMA(10, 30, 30) }, "fast is 30, must be below slow (30)")
	mustPanic(t, func() { NewIchimoku(9, 53, 52) }, "base 53, must be at most span (52)")
	mustPanic(t, func() { NewParabolicSAR(0.3, 0.2) }, "step is 0.3, must be at most limit (0.2)")
	mustPanic(t, func() { NewKeltner(20, 10, math.NaN()) }, "k is NaN, must be a finite number above 0")
	mustPanic(t, func() { NewRealizedVolatility(20, 0) }, "perYear is 0")
	mustPanic(t, func() { NewQuantile(20, math.NaN()) }, "q is NaN, must be 0 to 1")
	mustPanic(t, func() { NewPattern("kicker") }, `there is no shape "kicker"`, `"dark_cloud_cover"`)
	p := NewPivots(time.Hour)
	mustPanic(t, func() { p.Support(4) }, "indicator.Pivots.Support: the level is 4, must be 1 to 3")
}

func TestZeroValueSaysHowToMakeOne(t *testing.T) {
	c := market.Candle{Close: 1}
	for _, add := range []func(){
		func() { new(SMA).Add(1) }, func() { new(WMA).Add(1) }, func() { new(EMA).Add(1) },
		func() { new(MACD).Add(1) }, func() { new(StdDev).Add(1) }, func() { new(Bollinger).Add(1) },
		func() { new(Highest).Add(1) }, func() { new(Lowest).Add(1) }, func() { new(Donchian).Add(c) },
		func() { new(ROC).Add(1) }, func() { new(VWAP).Add(c) },
		func() { r := new(RSI); r.Add(1); r.Add(2) }, func() { a := new(ATR); a.Add(c); a.Add(c) },
		func() { new(DEMA).Add(1) }, func() { new(TEMA).Add(1) }, func() { new(KAMA).Add(1) },
		func() { new(HMA).Add(1) }, func() { new(Stochastic).Add(c) },
		func() { r := new(StochRSI); r.Add(1); r.Add(2) }, func() { new(WilliamsR).Add(c) },
		func() { new(CCI).Add(c) }, func() { new(ADX).Add(c) }, func() { new(Aroon).Add(c) },
		func() { new(ParabolicSAR).Add(c) }, func() { s := new(SuperTrend); s.Add(c); s.Add(c) },
		func() { new(Keltner).Add(c) }, func() { new(Ichimoku).Add(c) },
		func() { m := new(MFI); m.Add(c); m.Add(c) }, func() { new(CMF).Add(c) },
		func() { new(LinearRegression).Add(1) }, func() { new(ZScore).Add(1) },
		func() { new(Correlation).Add(1, 1) }, func() { b := new(Beta); b.Add(1, 1); b.Add(1, 1) },
		func() { new(Quantile).Add(1) }, func() { new(RealizedVolatility).Add(1) },
		func() { new(Pattern).Add(c) }, func() { new(Pivots).Add(c) },
	} {
		mustPanic(t, add, "not made by its New function")
	}
}

func mustPanic(t *testing.T, f func(), parts ...string) {
	t.Helper()
	defer func() {
		t.Helper()
		text, _ := recover().(string)
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("panicked with %q, want it to say %q", text, part)
			}
		}
	}()
	f()
}

func BenchmarkAdd(b *testing.B) {
	candles := walk(1, 8192, 100)
	for _, s := range subjects() {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.add(candles[i%len(candles)])
			}
		})
	}
}
