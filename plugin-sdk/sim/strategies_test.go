package sim_test

import (
	"fmt"
	"math"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// The bundled strategies, written from their rules against the bare engine: they
// drive the reference tests without anything between them and the simulator.

// window is a moving sum in double-double, as a plain running sum drifts.
type window struct {
	values   []float64
	next     int
	high, lo float64
}

func (w *window) push(x float64, n int) {
	w.add(x)
	if len(w.values) < n {
		w.values = append(w.values, x)
		return
	}
	w.add(-w.values[w.next])
	w.values[w.next] = x
	if w.next++; w.next == n {
		w.next = 0
	}
}

func (w *window) add(x float64) {
	s := w.high + x
	b := s - w.high
	low := w.lo + ((w.high - (s - b)) + (x - b))
	w.high = s + low
	w.lo = low - (w.high - s)
}

func (w *window) mean(n int) float64 { return w.high / float64(n) }

type smaCross struct {
	fast, slow   int
	stake        float64
	quick, calm  window
	lastF, lastS float64
	i            int
	out          [1]market.Intent
}

func (s *smaCross) Decide(e *sim.Engine) ([]market.Intent, error) {
	i := s.i
	s.i++
	c := e.Candle(0).Close
	s.quick.push(c, s.fast)
	s.calm.push(c, s.slow)
	f, m := s.quick.mean(s.fast), s.calm.mean(s.slow)
	lastF, lastS := s.lastF, s.lastS
	s.lastF, s.lastS = f, m
	if i < s.slow {
		return nil, nil
	}
	q, _, _ := e.Holding(0)
	switch {
	case q == 0 && lastF <= lastS && f > m:
		s.out[0] = market.Intent{Size: market.Size{Kind: market.SizeCashFraction, Value: 1}}
		if s.stake > 0 {
			s.out[0].Size = market.Size{Kind: market.SizeQuoteAmount, Value: s.stake}
		}
		return s.out[:], nil
	case q > 0 && lastF >= lastS && f < m:
		s.out[0] = market.Intent{Action: market.Close}
		return s.out[:], nil
	}
	return nil, nil
}

type buyHold struct{ i int }

func (s *buyHold) Decide(*sim.Engine) ([]market.Intent, error) {
	s.i++
	if s.i-1 != 1 {
		return nil, nil
	}
	return []market.Intent{{Size: market.Size{Kind: market.SizeCashFraction, Value: 1}}}, nil
}

type rsiBracket struct {
	i             int
	last          float64
	gain, loss    float64
	period        int
	low, high     float64
	stopLoss, aim float64
}

func newRSIBracket() *rsiBracket {
	return &rsiBracket{period: 14, low: 30, high: 70, stopLoss: 0.02, aim: 0.04}
}

func (s *rsiBracket) push(c float64) float64 {
	d := c - s.last
	s.last = c
	n := float64(s.period)
	u, w := max(d, 0), max(-d, 0)
	if s.i == 0 {
		return math.NaN()
	}
	if s.i <= s.period {
		s.gain += u / n
		s.loss += w / n
	} else {
		s.gain = (float64(s.gain*(n-1)) + u) / n
		s.loss = (float64(s.loss*(n-1)) + w) / n
	}
	if s.loss == 0 {
		return 100
	}
	return 100 - 100/(1+s.gain/s.loss)
}

func (s *rsiBracket) Decide(e *sim.Engine) ([]market.Intent, error) {
	c := e.Candle(0).Close
	rsi := s.push(c)
	i := s.i
	s.i++
	if i < s.period+1 {
		return nil, nil
	}
	q, _, _ := e.Holding(0)
	switch {
	case q == 0 && rsi < s.low:
		return []market.Intent{{
			Size:       market.Size{Kind: market.SizeCashFraction, Value: 1},
			StopLoss:   &market.Child{Price: c * (1 - s.stopLoss)},
			TakeProfit: &market.Child{Price: c * (1 + s.aim)},
		}}, nil
	case q > 0 && rsi > s.high:
		return []market.Intent{{Action: market.Close}}, nil
	}
	return nil, nil
}

type limitEntry struct{ i int }

func (s *limitEntry) Decide(e *sim.Engine) ([]market.Intent, error) {
	i := s.i
	s.i++
	q, _, _ := e.Holding(0)
	if i < 1 || i%5 != 0 || q != 0 || len(e.OpenOrders()) > 0 {
		return nil, nil
	}
	c := e.Candle(0).Close
	limit := c * (1 - 0.01)
	size := steps(e, 0.5*e.Equity()/c)
	if size <= 0 {
		return nil, nil
	}
	return []market.Intent{{
		Type: market.Limit, Size: market.Size{Kind: market.SizeQuantity, Value: size}, LimitPrice: limit,
		TimeInForce: market.GTD, ExpireAfter: 3,
		StopLoss:   &market.Child{Price: limit * (1 - 0.03)},
		TakeProfit: &market.Child{Price: limit * (1 + 0.02)},
	}}, nil
}

func steps(e *sim.Engine, quantity float64) float64 {
	step, _ := e.Options().QuantityStep.Float64()
	return math.Floor(quantity/step) * step
}

type breakout struct {
	i     int
	highs []float64
	order int
}

func (s *breakout) Decide(e *sim.Engine) ([]market.Intent, error) {
	i := s.i
	s.i++
	s.highs = append(s.highs, e.Candle(0).High)
	if i < 20 {
		return nil, nil
	}
	q, _, held := e.Holding(0)
	if q > 0 {
		if held >= 10 {
			return []market.Intent{{Action: market.Close}}, nil
		}
		return nil, nil
	}
	var out []market.Intent
	if len(e.OpenOrders()) > 0 {
		out = append(out, market.Intent{Action: market.Cancel, Ref: fmt.Sprint("stop", s.order)})
	}
	top := 0.0
	for _, h := range s.highs[i-19 : i+1] {
		top = max(top, h)
	}
	if size := steps(e, 0.5*e.Equity()/e.Candle(0).Close); size > 0 {
		s.order++
		out = append(out, market.Intent{
			Type: market.Stop, Size: market.Size{Kind: market.SizeQuantity, Value: size}, StopPrice: top,
			ClientRef: fmt.Sprint("stop", s.order),
		})
	}
	return out, nil
}
