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
