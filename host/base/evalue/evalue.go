// Package evalue has sequential tests that may be looked at after each day: their errors do
// not grow with the number of looks.
//
// A [Process] weighs evidence that a mean daily return is above 0. Under "it is at most 0" the
// probability that it ever reaches 1/a is at most a (Ville 1939), for daily losses within twice
// the declared bound. A [Drift] weighs evidence that new days are not exchangeable with those
// that were promised (conformal test martingales: Vovk, Gammerman, Shafer 2005).
//
// Everything is a pure function of float64 by + - * / alone, each product rounded by itself, so
// that every CPU makes the same number: the control plane recomputes them from its log.
package evalue

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// Bars of decisions. Each is the reciprocal of the probability of a false one.
const (
	// LiveBar is how large a Process must be for the first claim; the i-th needs i times that.
	LiveBar = 20
	// DriftBar is the size at which a Drift of returns means that the promise is not kept.
	DriftBar = 20
	// FillsBar is the size at which a Drift of daily fills warns.
	FillsBar = 40
)

// largest is where products are cut off: a smaller factor of an e-process is one too.
const largest = 1e300

// fixed is how many constant bets there are, prior how many days the promise weighs.
const (
	fixed = 6
	prior = 30
)

// Process is the e-process of one claim. The zero value is of no use: see [NewProcess].
type Process struct {
	bound, top  float64 // b, and L = 1/(2b)
	sumX, sumXX float64 // with the prior in them
	adaptive    float64
	constant    [fixed]float64
	days        int
	ruined      bool
}

// NewProcess begins a process. bound is the declared largest daily loss as a share of the
// account, above 0 and at most 1; promised are daily returns out of sample from before the
// claim was sealed, as fractions. They choose the first bets only: no promise makes the process
// larger than Ville's bound allows.
//
// With l_s = clip((30 m + sum x) / (30 v + sum x^2), 0, L) over earlier days, m and v mean and
// variance (n-1) of the promised days, it is
//
//	E_t = 1/2 prod(1 + l_s x_s) + 1/12 sum_{j=0..5} prod(1 + 2^-j L x_s), L = 1/(2 bound)
//
// (Waudby-Smith and Ramdas, JRSSB 2024: betting, with a mixture over bets).
func NewProcess(bound float64, promised []float64) (*Process, error) {
	if !(bound > 0 && bound <= 1) {
		return nil, fmt.Errorf("the largest daily loss is %v: not above 0 and at most 1", bound)
	}
	for i, x := range promised {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("the promised return of day %d is not a number", i)
		}
	}
	p := &Process{bound: bound, top: 1 / (2 * bound), adaptive: 1}
	for j := range p.constant {
		p.constant[j] = 1
	}
	mean, variance := moments(promised)
	p.sumX, p.sumXX = float64(prior*mean), float64(prior*variance)
	return p, nil
}

// moments are mean and variance (n-1) of a sample; of fewer than two values the variance is 0.
func moments(list []float64) (mean, variance float64) {
	if len(list) == 0 {
		return 0, 0
	}
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	mean = sum / float64(len(list))
	if len(list) == 1 {
		return mean, 0
	}
	squares := 0.0
	for _, x := range list {
		squares += float64((x - mean) * (x - mean))
	}
	return mean, squares / float64(len(list)-1)
}

// Add takes the net return of the next day as a fraction, 0 for an idle one. Of a day that
// came late only a loss counts, since whoever delays may choose. A loss of more than twice the
// bound ends the process at 0: the claim that the bound makes was not kept. So does a value
// that is no number.
func (p *Process) Add(x float64, late bool) {
	p.days++
	if math.IsNaN(x) || math.IsInf(x, 0) || x < -2*p.bound {
		p.ruined = true
		return
	}
	if late && x > 0 {
		x = 0
	}
	p.adaptive = grow(p.adaptive, p.bet(), x)
	for j := range p.constant {
		p.constant[j] = grow(p.constant[j], p.top/float64(int(1)<<j), x)
	}
	p.sumX += x
	p.sumXX += float64(x * x)
}

// bet is l_s for the next day.
func (p *Process) bet() float64 {
	switch {
	case p.sumX <= 0:
		return 0
	case p.sumXX <= 0:
		return p.top
	}
	return min(p.sumX/p.sumXX, p.top)
}

func grow(wealth, bet, x float64) float64 {
	factor := 1 + float64(bet*x)
	return min(float64(wealth*max(factor, 0)), largest)
}

// Value is E_t, the evidence so far: 1 at the start, 0 for ever after a day beyond the bound.
func (p *Process) Value() float64 {
	if p.ruined {
		return 0
	}
	sum := 0.0
	for _, w := range p.constant {
		sum += w
	}
	return p.adaptive/2 + sum/(2*fixed)
}

// Ruined reports whether a day has lost more than twice the declared bound.
func (p *Process) Ruined() bool { return p.ruined }

// Days is how many days were added.
func (p *Process) Days() int { return p.days }

// Ranks are the randomised ranks of days among those before them. The zero value knows none.
type Ranks struct{ known []float64 } // ascending

// NewRanks begins with the days of a reference.
func NewRanks(reference []float64) *Ranks {
	r := &Ranks{}
	for _, x := range reference {
		r.insert(x)
	}
	return r
}

// Add takes the next day with a random number in [0, 1) and returns its rank p: the share of
// known days below it, with a random part of those equal to it, itself among them. If days go
// on as they were, p is uniform in [0, 1). A value that is no number ranks lowest.
func (r *Ranks) Add(x, random float64) (p float64) {
	if math.IsNaN(x) {
		x = math.Inf(-1)
	}
	below, upto := r.search(x, false), r.search(x, true)
	p = (float64(below) + float64(random*float64(upto-below+1))) / float64(len(r.known)+1)
	r.insert(x)
	return p
}

// search is how many known days are below x, or not above it.
func (r *Ranks) search(x float64, equal bool) int {
	low, high := 0, len(r.known)
	for low < high {
		middle := (low + high) / 2
		if r.known[middle] < x || equal && r.known[middle] == x {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (r *Ranks) insert(x float64) {
	at := r.search(x, true)
	r.known = append(r.known, 0)
	copy(r.known[at+1:], r.known[at:])
	r.known[at] = x
}

// Drift is a conformal test of whether days go on as they were, by their [Ranks]: the mean over
// its bets k of prod(1 + k (1 - 2 p_s)). The zero value is of no use.
type Drift struct{ bets, wealth []float64 }

// NewDrift tests daily returns: it grows when new days are worse (k = 1/8, 1/4, 1/2).
func NewDrift() *Drift { return newDrift(1./8, 1./4, 1./2) }

// NewFillsDrift tests the daily number of fills: it grows when there are other numbers than
// before, fewer (k = 1/2) or more (k = -1/2).
func NewFillsDrift() *Drift { return newDrift(1./2, -1./2) }

func newDrift(bets ...float64) *Drift {
	d := &Drift{bets: bets, wealth: make([]float64, len(bets))}
	for i := range d.wealth {
		d.wealth[i] = 1
	}
	return d
}

// Add takes the rank of the next day.
func (d *Drift) Add(p float64) {
	for i, k := range d.bets {
		d.wealth[i] = min(float64(d.wealth[i]*(1+float64(k*(1-float64(2*p))))), largest)
	}
}

// Value is D_t: 1 at the start.
func (d *Drift) Value() float64 {
	sum := 0.0
	for _, w := range d.wealth {
		sum += w
	}
	return sum / float64(len(d.wealth))
}

// Uniform is a number in [0, 1) that follows from texts alone, with 53 random bits: the first 8
// bytes of the SHA-256 of all of them, each behind its length of 8 bytes.
func Uniform(texts ...string) float64 {
	h := sha256.New()
	var size [8]byte
	for _, text := range texts {
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:])
		h.Write([]byte(text))
	}
	return float64(binary.BigEndian.Uint64(h.Sum(nil)[:8])>>11) / (1 << 53)
}
