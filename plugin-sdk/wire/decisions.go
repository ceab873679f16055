package wire

import (
	"crypto/sha256"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// TraceBytes is how much of a ledger digest a trace point keeps.
const TraceBytes = 8

// Decision is what a strategy asks for at one step.
type Decision struct {
	Step    int64
	Intents []market.Intent
}

// TracePoint is the beginning of the ledger digest after a step that changed it.
type TracePoint struct {
	Step   int64
	Digest [TraceBytes]byte
}

// Decisions is a batch of answers in co-simulation.
type Decisions struct {
	Decisions []Decision // steps with intents only, ascending
	// Watermark is the last step that is decided, Digest the ledger digest when the
	// strategy was asked about it: after matching, before its intents.
	Watermark int64
	Digest    [sha256.Size]byte
	Trace     []TracePoint
	// Broken is why the intents of BrokenStep, which are left out, are none. What comes before it counts.
	Broken     error
	BrokenStep int64
}

// DecisionToProto converts the answer to one step.
func DecisionToProto(step int64, intents []market.Intent, symbols []market.Symbol) *strategypb.Decision {
	p := &strategypb.Decision{Step: step}
	for i := range intents {
		p.Intents = append(p.Intents, IntentToProto(&intents[i], symbols))
	}
	return p
}

// Batch collects the answers of a co-simulation in the form in which they are sent,
// so that nothing of the strategy's memory is kept.
type Batch struct {
	message *strategypb.Decisions
	bytes   int
}

// Add appends the intents of a step.
func (b *Batch) Add(step int64, intents []market.Intent, symbols []market.Symbol) {
	for i := range intents {
		in := &intents[i]
		b.bytes += intentBytes + len(in.Tag) + len(in.ClientRef) + len(in.Ref) + targetBytes*len(in.Targets)
	}
	b.open().Decisions = append(b.open().Decisions, DecisionToProto(step, intents, symbols))
}

// intentBytes and targetBytes are more than an intent and one of its targets take in a message without texts:
// to count them one by one would take as long as to write them.
const (
	intentBytes = 512
	targetBytes = 160
)

// Trace appends a step that changed the ledger digest.
func (b *Batch) Trace(step int64, digest [sha256.Size]byte) {
	m := b.open()
	m.TraceSteps = append(m.TraceSteps, step)
	m.TraceDigests = append(m.TraceDigests, digest[:TraceBytes]...)
}

// Bytes is more than the size of the batch as a message.
func (b *Batch) Bytes() int { return b.bytes }

// Message hands over the batch, decided up to the watermark, and begins the next one.
func (b *Batch) Message(watermark int64, digest [sha256.Size]byte) *strategypb.Decisions {
	m := b.open()
	m.Watermark, m.Digest = watermark, digest[:]
	b.message, b.bytes = nil, 0
	return m
}

func (b *Batch) open() *strategypb.Decisions {
	if b.message == nil {
		b.message = &strategypb.Decisions{}
	}
	return b.message
}

// DecisionFromProto converts and checks the answer to one step.
func DecisionFromProto(p *strategypb.Decision, symbols []market.Symbol) (Decision, error) {
	d := Decision{Step: p.GetStep()}
	if n := len(p.GetIntents()); n > MaxIntents {
		return d, wrong("intents", "%d intents at one step, at most %d are allowed", n, MaxIntents)
	}
	d.Intents = make([]market.Intent, len(p.GetIntents()))
	for i, one := range p.GetIntents() {
		intent, err := IntentFromProto(one, symbols)
		if err != nil {
			return d, under(at("intents", i), err)
		}
		d.Intents[i] = intent
	}
	return d, nil
}

// AdvancedFromProto converts and checks the answer to a script: the intents of the last step that it
// decides, which is one from first to last.
func AdvancedFromProto(p *strategypb.Advanced, symbols []market.Symbol, first, last int64) (Decision, error) {
	if p.GetStep() < first || p.GetStep() > last {
		return Decision{}, wrong("step", "%d is not between %d and %d", p.GetStep(), first, last)
	}
	return DecisionFromProto(&strategypb.Decision{Step: p.GetStep(), Intents: p.GetIntents()}, symbols)
}

// DecisionsFromProto converts and checks a batch of answers. previous is the last
// watermark, -1 before the first; total is the number of steps of the run.
func DecisionsFromProto(p *strategypb.Decisions, symbols []market.Symbol, previous,
	total int64) (Decisions, error) {
	d := Decisions{Watermark: p.GetWatermark()}
	if d.Watermark <= previous || d.Watermark >= total {
		return d, wrong("watermark", "%d is not between %d and %d", d.Watermark, previous+1, total-1)
	}
	if len(p.GetDigest()) != sha256.Size {
		return d, wrong("digest", "%d bytes, not %d", len(p.GetDigest()), sha256.Size)
	}
	copy(d.Digest[:], p.GetDigest())
	last := previous
	for i, one := range p.GetDecisions() {
		decision, err := DecisionFromProto(one, symbols)
		if decision.Step <= last || decision.Step > d.Watermark {
			return d, wrong(at("decisions", i)+".step", "%d is not between %d and the watermark %d",
				decision.Step, last+1, d.Watermark)
		}
		if err != nil {
			d.Broken, d.BrokenStep = under(at("decisions", i), err), decision.Step
			break
		}
		last = decision.Step
		d.Decisions = append(d.Decisions, decision)
	}
	return d, d.readTrace(p, previous)
}

func (d *Decisions) readTrace(p *strategypb.Decisions, previous int64) error {
	steps, digests := p.GetTraceSteps(), p.GetTraceDigests()
	if len(digests) != len(steps)*TraceBytes {
		return wrong("trace_digests", "%d bytes for %d steps", len(digests), len(steps))
	}
	d.Trace = make([]TracePoint, len(steps))
	for i, step := range steps {
		if step <= previous || step > d.Watermark {
			return wrong(at("trace_steps", i), "%d is not between %d and the watermark %d", step, previous+1,
				d.Watermark)
		}
		previous = step
		d.Trace[i] = TracePoint{step, [TraceBytes]byte(digests[i*TraceBytes:])}
	}
	return nil
}
