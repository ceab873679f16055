package indicator

import (
	"fmt"
	"math"
	"slices"
)

// moments are the last n values with their sum and that of their squares.
type moments struct {
	rolling
	squares sum
	run     run
}

func newMoments(n int) moments { return moments{rolling: newRolling(n)} }

// add takes x in and returns it with the value that x pushed out.
func (m *moments) add(x float64) (in, out float64) {
	in, out = m.rolling.add(x)
	m.squares.addProduct(-out, out)
	m.squares.addProduct(in, in)
	m.run.add(in)
	return in, out
}

// scatter is n*sum(x^2) - sum(x)^2, exactly 0 when all values are equal. The difference is
// taken in double-double: in float64 nothing is left of it when prices are large and quiet.
func (m *moments) scatter() float64 {
	if m.run.length >= m.filled {
		return 0
	}
	return max(joint(float64(m.filled), m.squares, m.sum, m.sum), 0)
}

// variance is that of the population.
func (m *moments) variance() float64 {
	n := float64(m.filled)
	return m.scatter() / (n * n)
}

// joint is n*products - x*y in double-double.
func joint(n float64, products, x, y sum) float64 {
	var d sum
	d.addProduct(n, products.hi)
	d.addProduct(-x.hi, y.hi)
	d.addProduct(n, products.lo)
	d.addProduct(-x.hi, y.lo)
	d.addProduct(-x.lo, y.hi)
	d.addProduct(-x.lo, y.lo)
	return d.hi
}

// ZScore is how many population standard deviations of the last n values the newest is
// above their average. Ready with the n-th; 0 when all of them are equal.
type ZScore struct {
	line
	moments
}

// NewZScore compares with n values, 1 to MaxPeriod.
func NewZScore(n int) ZScore { return ZScore{moments: newMoments(checkPeriod("NewZScore", "n", n))} }

// Add takes the next value.
func (z *ZScore) Add(x float64) {
	x, _ = z.moments.add(x)
	if !z.full() {
		return
	}
	score := 0.0
	if d := math.Sqrt(z.variance()); d > 0 {
		score = (x - z.mean()) / d
	}
	z.set(z.trusted(score))
}

// LinearRegression is the least-squares line through the last n values: Value is its end at the
// newest (LINEARREG in TA-Lib), Slope its rise per value, R2 the share of the variance
// that it explains, 0 to 1. All three are ready with the n-th value. When all values are equal
// Slope and R2 are 0.
type LinearRegression struct {
	line
	moments
	weighted        sum // the oldest counts once, the newest n times
	weights, spread float64
	slope, r2       line
}

// NewLinearRegression fits n values, 2 to MaxPeriod.
func NewLinearRegression(n int) LinearRegression {
	x := float64(checkFrom(2, "NewLinearRegression", "n", n))
	return LinearRegression{moments: newMoments(n), weights: x * (x + 1) / 2,
		spread: x * x * (float64(x*x) - 1) / 12}
}

// Add takes the next value.
func (r *LinearRegression) Add(x float64) {
	if r.full() {
		// Every value loses one of its weight; the oldest had one left.
		r.weighted.add(-r.sum.hi)
		r.weighted.add(-r.sum.lo)
	}
	in, _ := r.moments.add(x)
	r.weighted.addProduct(float64(r.filled), in)
	if !r.full() {
		return
	}
	end, slope, fit := in, 0.0, 0.0
	if scatter := r.scatter(); scatter > 0 {
		both := joint(float64(r.filled), r.weighted, sum{hi: r.weights}, r.sum)
		slope = both / r.spread
		end = r.mean() + float64(slope*float64(r.filled-1)/2)
		fit = min(slope*(both/scatter), 1)
	}
	r.set(r.trusted(end))
	r.slope.set(r.trusted(slope))
	r.r2.set(r.trusted(fit))
}

// Slope is the rise of the line per value.
func (r *LinearRegression) Slope() float64 { return r.slope.value }

// R2 is the share of the variance that the line explains.
func (r *LinearRegression) R2() float64 { return r.r2.value }

// SlopeLine is Slope as a line, for crossings.
func (r *LinearRegression) SlopeLine() Line { return &r.slope }

// R2Line is R2 as a line, for crossings.
func (r *LinearRegression) R2Line() Line { return &r.r2 }

// pair is the last n pairs of values.
type pair struct {
	x, y     moments
	products sum
}

func newPair(n int) pair { return pair{x: newMoments(n), y: newMoments(n)} }

func (p *pair) add(x, y float64) {
	inX, outX := p.x.add(x)
	inY, outY := p.y.add(y)
	p.products.addProduct(-outX, outY)
	p.products.addProduct(inX, inY)
}

func (p *pair) joint() float64 { return joint(float64(p.x.filled), p.products, p.x.sum, p.y.sum) }

func (p *pair) trusted(x float64) float64 { return p.x.trusted(p.y.trusted(x)) }

// Correlation is Pearson's, -1 to 1, of the last n pairs of values, ready with the n-th.
// As in TA-Lib it is 0 where all values of one side are equal.
type Correlation struct {
	line
	pair pair
}

// NewCorrelation looks back over n pairs, 2 to MaxPeriod.
func NewCorrelation(n int) Correlation {
	return Correlation{pair: newPair(checkFrom(2, "NewCorrelation", "n", n))}
}

// Add takes the next value of both.
func (c *Correlation) Add(x, y float64) {
	c.pair.add(x, y)
	if !c.pair.x.full() {
		return
	}
	r, scatterX, scatterY := 0.0, c.pair.x.scatter(), c.pair.y.scatter()
	if scatterX > 0 && scatterY > 0 {
		r = c.pair.joint() / math.Sqrt(scatterX) / math.Sqrt(scatterY)
	}
	c.set(c.pair.trusted(max(-1, min(r, 1))))
}

// Beta is the slope of an asset's returns on those of a market over the last n candles, each
// price / price before - 1. Ready with candle n+1; 0 where the market's returns are equal.
// TA-Lib has the market first.
type Beta struct {
	line
	pair          pair
	asset, market Track
}

// NewBeta looks back over n returns, 2 to MaxPeriod.
func NewBeta(n int) Beta { return Beta{pair: newPair(checkFrom(2, "NewBeta", "n", n))} }

// Add takes the next price of both.
func (b *Beta) Add(asset, market float64) {
	b.asset.Add(orNaN(asset))
	b.market.Add(orNaN(market))
	if b.asset.count == 1 {
		return
	}
	b.pair.add(change(b.market), change(b.asset))
	if !b.pair.x.full() {
		return
	}
	slope := 0.0
	if scatter := b.pair.x.scatter(); scatter > 0 {
		slope = b.pair.joint() / scatter
	}
	b.set(b.pair.trusted(slope))
}

// change is the return of a price, 0 where the one before is 0, as in TA-Lib.
func change(price Track) float64 {
	if price.previous == 0 {
		return price.value * 0
	}
	return price.value/price.previous - 1
}

// Quantile is the value below which a share q of the last n values is, between two of them
// by linear interpolation (NumPy's and pandas' default): 0 is the smallest, 0.5 the median,
// 1 the largest. Ready with the n-th value; the work per value grows with log n.
type Quantile struct {
	line
	window
	part float64 // of the way from the last of low to the first of high
	low  []int   // slots of the window, the largest value on top of a heap
	high []int   // the others, the smallest on top
	at   []int   // where a slot is: i in low, -1-i in high
}

// NewQuantile looks back over n values, 1 to MaxPeriod; q is 0 to 1.
func NewQuantile(n int, q float64) Quantile {
	checkPeriod("NewQuantile", "n", n)
	if !(q >= 0 && q <= 1) {
		panic(fmt.Sprintf("indicator.NewQuantile: q is %g, must be 0 to 1", q))
	}
	place := q * float64(n-1)
	below := int(place)
	slots := make([]int, n)
	return Quantile{window: newWindow(n), part: place - float64(below), low: slots[:below+1],
		high: slots[below+1:], at: make([]int, n)}
}

// Add takes the next value.
func (q *Quantile) Add(x float64) {
	slot, wasFull := q.next, q.full()
	q.push(x)
	switch {
	case !q.full():
		return
	case !wasFull:
		q.sort()
	default:
		q.fix(slot)
	}
	under := q.buf[q.low[0]]
	over := under
	if len(q.high) > 0 {
		over = q.buf[q.high[0]]
	}
	q.set(q.trusted(under + float64((over-under)*q.part)))
}

// sort makes the heaps of the first n values: sorted slots are heaps.
func (q *Quantile) sort() {
	all := q.low[:len(q.buf)]
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(a, b int) int {
		switch {
		case q.buf[a] < q.buf[b]:
			return -1
		case q.buf[a] > q.buf[b]:
			return 1
		}
		return 0
	})
	slices.Reverse(q.low)
	for i, slot := range q.low {
		q.at[slot] = i
	}
	for i, slot := range q.high {
		q.at[slot] = -1 - i
	}
}

// fix restores the order after the value of a slot has changed: within its heap, and, as
// that may have brought the slot to the wrong side, between the tops.
func (q *Quantile) fix(slot int) {
	if i := q.at[slot]; i >= 0 {
		q.sift(q.low, i, 1)
	} else {
		q.sift(q.high, -1-i, -1)
	}
	if len(q.high) > 0 && q.buf[q.low[0]] > q.buf[q.high[0]] {
		q.low[0], q.high[0] = q.high[0], q.low[0]
		q.sift(q.low, 0, 1)
		q.sift(q.high, 0, -1)
	}
}

// sift moves entry i of a heap up or down to where it belongs. side is 1 for low, -1 for high.
func (q *Quantile) sift(heap []int, i int, side float64) {
	slot := heap[i]
	x := side * q.buf[slot]
	for i > 0 && side*q.buf[heap[(i-1)/2]] < x {
		i = q.move(heap, (i-1)/2, i, side)
	}
	for {
		child := 2*i + 1
		if child+1 < len(heap) && side*q.buf[heap[child+1]] > side*q.buf[heap[child]] {
			child++
		}
		if child >= len(heap) || side*q.buf[heap[child]] <= x {
			break
		}
		i = q.move(heap, child, i, side)
	}
	heap[i] = slot
	q.place(slot, i, side)
}

// move takes the entry at from to to, and returns where it left a gap.
func (q *Quantile) move(heap []int, from, to int, side float64) int {
	heap[to] = heap[from]
	q.place(heap[to], to, side)
	return from
}

func (q *Quantile) place(slot, i int, side float64) {
	if side < 0 {
		i = -1 - i
	}
	q.at[slot] = i
}

// RealizedVolatility is sqrt(sum(r^2) * perYear / n) of the last n logarithmic returns r, as a
// fraction: 0.5 is 50 % a year. Ready with value n+1. No mean is subtracted.
type RealizedVolatility struct {
	line
	squares rolling
	perYear float64
	before  float64
	seen    bool
}

// NewRealizedVolatility looks back over n returns, 1 to MaxPeriod; perYear is how many
// candles a year has: 365 for days, 8760 for hours, 1 for the volatility of one candle.
func NewRealizedVolatility(n int, perYear float64) RealizedVolatility {
	return RealizedVolatility{squares: newRolling(checkPeriod("NewRealizedVolatility", "n", n)),
		perYear: checkWidth("NewRealizedVolatility", "perYear", perYear)}
}

// Add takes the next price. One that is not above 0 is no number here.
func (v *RealizedVolatility) Add(x float64) {
	if len(v.squares.buf) == 0 {
		panic(notMade)
	}
	before := v.before
	v.before = logarithm(orNaN(x))
	if !v.seen {
		v.seen = true
		return
	}
	r := v.before - before
	v.squares.add(float64(r * r))
	if v.squares.full() {
		v.set(v.squares.trusted(math.Sqrt(max(v.squares.total(), 0) / float64(v.squares.filled) * v.perYear)))
	}
}

// logarithm is the natural one, NaN below 0 and at 0. math.Log has instructions of its own
// on some CPUs; this is FreeBSD's e_log.c, in operations that are the same on all.
func logarithm(x float64) float64 {
	if !(x > 0) {
		return math.NaN()
	}
	f, exponent := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f *= 2
		exponent--
	}
	f--
	k, s := float64(exponent), f/(2+f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := float64(s4*1.479819860511658591e-01) + 1.818357216161805012e-01
	odd = float64(s4*odd) + 2.857142874366239149e-01
	odd = float64(s4*odd) + 6.666666666666735130e-01
	even := float64(s4*1.531383769920937332e-01) + 2.222219843214978396e-01
	even = float64(s4*even) + 3.999999999940941908e-01
	r := float64(s2*odd) + float64(s4*even)
	half := float64(0.5 * float64(f*f))
	low := float64(s*(half+r)) + float64(k*1.90821492927058770002e-10)
	return float64(k*6.93147180369123816490e-01) - ((half - low) - f)
}
