package metric

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

var tradeMetrics = []Metric{
	{Key: "total_trades", Unit: Count,
		eval: always(func(f *facts) float64 { return float64(f.trades.count) }),
		Doc:  "Closed round trips, flat to flat."},
	{Key: "win_rate", Unit: Fraction, Estimate: true,
		eval: func(f *facts) (float64, Reason) { return f.trades.mean(float64(f.trades.wins)) },
		Doc:  "Share of closed trades with a profit after fees."},
	{Key: "profit_factor", Unit: Ratio, Estimate: true, eval: onTrades((*tradeFacts).profitFactor),
		Doc: "Sum of the winning trades' profits over the sum of the losing trades' losses."},
	{Key: "expectancy", Unit: Quote, Estimate: true,
		eval: func(f *facts) (float64, Reason) { return f.trades.mean(f.trades.pnl()) },
		Doc:  "Mean profit of a closed trade."},
	{Key: "average_win", Unit: Quote, Estimate: true, eval: onTrades((*tradeFacts).averageWin),
		Doc: "Mean profit of the winning trades."},
	{Key: "average_loss", Unit: Quote, Estimate: true, eval: onTrades((*tradeFacts).averageLoss),
		Doc: "Mean result of the losing trades, a negative number."},
	{Key: "best_trade", Unit: Quote,
		eval: func(f *facts) (float64, Reason) { return f.trades.extreme(f.trades.best) },
		Doc:  "Largest profit of a closed trade."},
	{Key: "worst_trade", Unit: Quote,
		eval: func(f *facts) (float64, Reason) { return f.trades.extreme(f.trades.worst) },
		Doc:  "Smallest profit of a closed trade, negative if it is a loss."},
	{Key: "average_trade_return", Unit: Fraction, Estimate: true,
		eval: func(f *facts) (float64, Reason) { return f.trades.mean(f.trades.returns.value()) },
		Doc:  "Mean over the closed trades of profit over opening notional."},
	{Key: "average_candles_held", Unit: Candles, Estimate: true,
		eval: func(f *facts) (float64, Reason) { return f.trades.mean(f.trades.held.value()) },
		Doc:  "Mean number of candles from entry to exit; the same candle is 0."},
	{Key: "sqn", Unit: Ratio, Estimate: true,
		eval: func(f *facts) (float64, Reason) { return f.trades.sqn(f.in.Trades) },
		Doc: "System quality number: mean over standard deviation of the trades' profits, times the root " +
			"of their number."},
}

// tradeFacts is what one pass over the trades finds. Money is added exactly and
// becomes float64 only as a finished sum.
type tradeFacts struct {
	count, wins, losses int
	won, lost           Sum // lost is negative
	best, worst         decimal.Decimal
	returns, held       compensated
}

func newTradeFacts(trades []market.Trade) tradeFacts {
	t := tradeFacts{count: len(trades)}
	for i := range trades {
		pnl := trades[i].PnL
		switch pnl.Sign() {
		case 1:
			t.wins++
			t.won.Add(pnl)
		case -1:
			t.losses++
			t.lost.Add(pnl)
		}
		if i == 0 || pnl.Cmp(t.best) > 0 {
			t.best = pnl
		}
		if i == 0 || pnl.Cmp(t.worst) < 0 {
			t.worst = pnl
		}
		t.returns.add(trades[i].Return)
		t.held.add(float64(trades[i].CandlesHeld))
	}
	return t
}

func (t *tradeFacts) pnl() float64 {
	all := t.won
	all.AddSum(&t.lost)
	return all.Float64()
}

// mean divides a sum over all trades by their number.
func (t *tradeFacts) mean(sum float64) (float64, Reason) {
	return sum / float64(t.count), t.have(t.count, NoTrades)
}

// have is why there are none of the n trades that a metric needs.
func (t *tradeFacts) have(n int, none Reason) Reason {
	switch {
	case t.count == 0:
		return NoTrades
	case n == 0:
		return none
	}
	return ""
}

func (t *tradeFacts) extreme(d decimal.Decimal) (float64, Reason) {
	return sim.Float(d), t.have(t.count, NoTrades)
}

func (t *tradeFacts) profitFactor() (float64, Reason) {
	return t.won.Float64() / -t.lost.Float64(), t.have(t.losses, NoLosses)
}

func (t *tradeFacts) averageWin() (float64, Reason) {
	return t.won.Float64() / float64(t.wins), t.have(t.wins, NoWins)
}

func (t *tradeFacts) averageLoss() (float64, Reason) {
	return t.lost.Float64() / float64(t.losses), t.have(t.losses, NoLosses)
}

func (t *tradeFacts) sqn(trades []market.Trade) (float64, Reason) {
	switch {
	case t.count == 0:
		return 0, NoTrades
	case t.count == 1:
		return 0, TooFewReturns
	case t.best.Cmp(t.worst) == 0:
		return 0, ZeroVariance
	}
	k := float64(t.count)
	mean := t.pnl() / k
	var squares compensated
	for i := range trades {
		d := sim.Float(trades[i].PnL) - mean
		squares.add(float64(d * d))
	}
	return math.Sqrt(k) * mean / math.Sqrt(squares.value()/(k-1)), ""
}

// compensated is a float64 sum that carries the rounding error of every addition
// (Neumaier's sum; the error term is Knuth's branch-free one, which is the same number).
type compensated struct{ sum, lost float64 }

func (s *compensated) add(x float64) {
	t := s.sum + x
	b := t - s.sum
	s.lost += (s.sum - (t - b)) + (x - b)
	s.sum = t
}

func (s *compensated) value() float64 { return s.sum + s.lost }

// Round is x with 12 significant digits, the precision of every reported number.
// -0 becomes 0.
func Round(x float64) float64 {
	if x == 0 {
		return 0
	}
	// Cannot fail: 12 digits of even the largest float are still in range.
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 11, 64), 64)
	return r
}

const (
	sumScale = 38 // decimals of a Sum: those of a product of two decimals
	limbs    = 5  // a product takes 254 bits at most, which leaves room for 2^65 of them
)

// Sum is an exact sum of decimals: nothing is rounded until Float64. The zero value
// is 0; copies are independent.
type Sum struct {
	// Little-endian two's complement in units of 10^-38.
	words [limbs]uint64
}

// Add adds d.
func (s *Sum) Add(d decimal.Decimal) { s.add(0, d.Coef(), d.Scale(), d.IsNeg()) }

// AddProduct adds a x b.
func (s *Sum) AddProduct(a, b decimal.Decimal) {
	hi, lo := bits.Mul64(a.Coef(), b.Coef())
	s.add(hi, lo, a.Scale()+b.Scale(), a.IsNeg() != b.IsNeg())
}

// AddSum adds another sum.
func (s *Sum) AddSum(o *Sum) { s.accumulate(o.words, false) }

// MarshalText writes the words of the sum as hex digits.
func (s Sum) MarshalText() ([]byte, error) {
	var b [8 * limbs]byte
	for i, w := range s.words {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	return hex.AppendEncode(nil, b[:]), nil
}

// UnmarshalText reads what MarshalText has written.
func (s *Sum) UnmarshalText(text []byte) error {
	var b [8 * limbs]byte
	if len(text) != hex.EncodedLen(len(b)) {
		return fmt.Errorf("a sum has %d hex digits, not %d", hex.EncodedLen(len(b)), len(text))
	}
	if _, err := hex.Decode(b[:], text); err != nil {
		return fmt.Errorf("a sum: %w", err)
	}
	for i := range s.words {
		s.words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return nil
}

// Float64 returns the float64 nearest to the sum.
func (s *Sum) Float64() float64 {
	v := s.words
	neg := v[limbs-1]>>63 == 1
	if neg {
		var zero Sum
		zero.accumulate(v, true)
		v = zero.words
	}
	num := new(big.Int)
	for i := limbs - 1; i >= 0; i-- {
		num.Lsh(num, 64)
		num.Or(num, new(big.Int).SetUint64(v[i]))
	}
	if neg {
		num.Neg(num)
	}
	f, _ := new(big.Rat).SetFrac(num, new(big.Int).Exp(big.NewInt(10), big.NewInt(sumScale), nil)).Float64()
	return f
}

func (s *Sum) add(hi, lo uint64, scale int, neg bool) {
	x := [limbs]uint64{lo, hi}
	for shift := sumScale - scale; shift > 0; shift -= maxPower {
		x = times(x, pow10(min(shift, maxPower)))
	}
	s.accumulate(x, neg)
}

func (s *Sum) accumulate(x [limbs]uint64, subtract bool) {
	var carry uint64
	for i := range s.words {
		if subtract {
			s.words[i], carry = bits.Sub64(s.words[i], x[i], carry)
		} else {
			s.words[i], carry = bits.Add64(s.words[i], x[i], carry)
		}
	}
}

func times(x [limbs]uint64, m uint64) [limbs]uint64 {
	var carry uint64
	for i, w := range x {
		hi, lo := bits.Mul64(w, m)
		var c uint64
		x[i], c = bits.Add64(lo, carry, 0)
		carry = hi + c
	}
	return x
}

// maxPower is the largest power of ten that fits a word.
const maxPower = 19

func pow10(n int) uint64 {
	p := uint64(1)
	for ; n > 0; n-- {
		p *= 10
	}
	return p
}
