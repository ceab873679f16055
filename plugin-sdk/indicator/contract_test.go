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
	// remembers: how many Adds a bad value spoils; 0 = for good, -1 = it takes any value.
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
	const want = "f957d708c4c74b256a2a91be2cf32cc7f8eeecae409903e8331d902426c99aad"
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
	const at, end = 60, 200
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
}

func TestZeroValueSaysHowToMakeOne(t *testing.T) {
	c := market.Candle{Close: 1}
	for _, add := range []func(){
		func() { new(SMA).Add(1) }, func() { new(WMA).Add(1) }, func() { new(EMA).Add(1) },
		func() { new(MACD).Add(1) }, func() { new(StdDev).Add(1) }, func() { new(Bollinger).Add(1) },
		func() { new(Highest).Add(1) }, func() { new(Lowest).Add(1) }, func() { new(Donchian).Add(c) },
		func() { new(ROC).Add(1) }, func() { new(VWAP).Add(c) },
		func() { r := new(RSI); r.Add(1); r.Add(2) }, func() { a := new(ATR); a.Add(c); a.Add(c) },
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
