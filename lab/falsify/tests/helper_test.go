package tests_test

import (
	"math"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/falsify/tests/randomentry"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const y2020 = market.Time(1577836800000)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func dec(t *testing.T, x float64) decimal.Decimal {
	t.Helper()
	d, err := decimal.NewFromFloat64(x)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// walk is a random walk of daily candles: open = last close, close = open (1 + 0.03 z).
func walk(symbol market.Symbol, n int, seed uint64) *market.Series {
	s := random.New(seed, random.Calibrate, 0)
	out := &market.Series{Symbol: symbol, Timeframe: market.MustTimeframe("1d")}
	price := 100.0
	for i := range n {
		c := price * (1 + .03*s.Normal())
		out.Append(market.Candle{
			OpenTime: y2020.Add(time.Duration(i) * 24 * time.Hour), Open: price, Close: c,
			High: max(price, c) * 1.005, Low: min(price, c) * .995, Volume: 1000,
		})
		price = c
	}
	return out
}

// hold is a position from the open of one candle to that of another; exit 0 stays open.
type hold struct {
	symbol, enter, exit int
	sign, share         float64
}

const cash = 10000

// play keeps plain books over holds, which are in the order of their entry, with a cost
// per notional each way. It knows nothing of the package under test.
func play(t *testing.T, candles []*market.Series, holds []hold, cost float64) *account.Run {
	t.Helper()
	r := &account.Run{Candles: candles, Results: &artifact.Results{InitialCash: "10000"}}
	money, quantity := float64(cash), make([]float64, len(candles))
	equity := func(at func(s *market.Series) float64) float64 {
		sum := money
		for i, q := range quantity {
			sum += q * at(candles[i])
		}
		return sum
	}
	paid := make([]float64, len(candles))
	entered := make([]float64, len(candles))
	var curve metric.Curve
	for k := range candles[0].Time {
		for _, h := range holds {
			if s := candles[h.symbol]; h.exit == k && h.exit > 0 {
				q, price := quantity[h.symbol], s.Open[k]
				fee := cost * math.Abs(q*price)
				money += q*price - fee
				quantity[h.symbol] = 0
				direction := market.Long
				if h.sign < 0 {
					direction = market.Short
				}
				gross := q * (price - entered[h.symbol])
				r.Results.Trades = append(r.Results.Trades, market.Trade{
					Symbol: s.Symbol, Direction: direction, Quantity: dec(t, math.Abs(q)),
					EntryTime: s.Time[h.enter], ExitTime: s.Time[k],
					EntryPrice: dec(t, entered[h.symbol]), ExitPrice: dec(t, price), GrossPnL: dec(t, gross),
					Fees: dec(t, fee+paid[h.symbol]),
					PnL:  dec(t, gross-fee-paid[h.symbol]), CandlesHeld: h.exit - h.enter,
				})
			}
		}
		for _, h := range holds {
			if s := candles[h.symbol]; h.enter == k {
				before := equity(func(s *market.Series) float64 { return s.Close[k-1] })
				quantity[h.symbol] = h.sign * h.share * before / s.Open[k]
				entered[h.symbol], paid[h.symbol] = s.Open[k], cost*h.share*before
				money -= h.sign*h.share*before + paid[h.symbol]
			}
		}
		e := equity(func(s *market.Series) float64 { return s.Close[k] })
		curve.OpenTime, curve.CloseTime = append(curve.OpenTime, candles[0].Time[k]),
			append(curve.CloseTime, candles[0].CloseTime(k))
		curve.Equity, curve.Exposure = append(curve.Equity, e), append(curve.Exposure, math.Abs(e-money)/e)
		r.Results.Equity.PositionValue = append(r.Results.Equity.PositionValue, e-money)
	}
	r.Results.Equity.Time, r.Results.Equity.Equity = curve.CloseTime, curve.Equity
	for i, q := range quantity {
		if s := candles[i]; q != 0 {
			last := s.Close[s.Len()-1]
			r.Results.Positions = append(r.Results.Positions, market.Position{
				Symbol: s.Symbol, Quantity: dec(t, q), UnrealizedPnL: dec(t, q*(last-entered[i])),
				Fees: dec(t, paid[i]),
			})
		}
	}
	r.Results.FinalValue = dec(t, curve.Equity[len(curve.Equity)-1]).String()
	r.Input = metric.Input{Timeframe: candles[0].Timeframe, Calendar: metric.Calendar24x7,
		Curves: []metric.Curve{curve}, Trades: r.Results.Trades}
	return r
}

// sharpeOf is sharpe_ratio of metrics-v1.
func sharpeOf(t *testing.T, r *account.Run) float64 {
	t.Helper()
	report, err := metric.Compute(r.Input)
	if err != nil {
		t.Fatal(err)
	}
	x, defined := report.Metrics.Get("sharpe_ratio")
	if !defined {
		return 0
	}
	return x
}

// noise are the holds of a strategy that throws dice: it enters a free symbol with
// probability 1/8 and leaves with 1/4, as the next candle opens.
func noise(candles []*market.Series, seed uint64) []hold {
	s := random.New(seed, random.Calibrate, 1)
	var out []hold
	for i, series := range candles {
		open := -1
		for k := 1; k < series.Len()-1; k++ {
			switch {
			case open < 0 && s.Float64() < 1.0/8:
				open = k
			case open >= 0 && s.Float64() < 1.0/4:
				sign := 1.0
				if s.Float64() < .5 {
					sign = -1
				}
				out = append(out, hold{i, open, k, sign, .5})
				open = -1
			}
		}
	}
	return out
}

// sharpes are the Sharpe ratios of replicas.
func sharpes(m *randomentry.RandomEntry, seed uint64, replicas int) []*float64 {
	var out []*float64
	for _, d := range m.Draw(seed, replicas) {
		out = append(out, d.Sharpe)
	}
	return out
}
