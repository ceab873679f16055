package promotion_test

import (
	"fmt"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
)

// BenchmarkSubmissions is what a further revision of a candidate of thousands costs, with
// its decisions, and BenchmarkState what a read then does.
func BenchmarkSubmissions(b *testing.B) {
	p := trusted(b)
	for i := range b.N {
		p.submit(p.good(params(fmt.Sprintf(`{"fast":%d}`, i))))
	}
}

func BenchmarkState(b *testing.B) {
	p := trusted(b)
	id := ""
	for i := range 3000 {
		id = p.submit(p.good(params(fmt.Sprintf(`{"fast":%d}`, i))))
	}
	b.ResetTimer()
	for range b.N {
		p.state(id)
	}
	b.ReportMetric(float64(len(p.facts)), "facts")
	if _, err := p.w.State(bundle.SubjectFamily, "sma-cross", p.now); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFamily is a read of a family of a thousand revisions, BenchmarkRegistry what is
// signed for one.
func BenchmarkFamily(b *testing.B) {
	p := thousand(b)
	for b.Loop() {
		if _, err := p.w.State(bundle.SubjectFamily, "sma-cross", p.now); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRegistry(b *testing.B) {
	p := thousand(b)
	for b.Loop() {
		if _, err := p.w.Registry("sma-cross", p.now); err != nil {
			b.Fatal(err)
		}
	}
}

func thousand(b *testing.B) *plane {
	p := trusted(b)
	for i := range 1000 {
		p.submit(p.good(params(fmt.Sprintf(`{"fast":%d}`, i)),
			func(c *bundle.Bundle) { c.Candidate.CandidateID = fmt.Sprintf("sma-cross.c%d", i) }))
	}
	return p
}
