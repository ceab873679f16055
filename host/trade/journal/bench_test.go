package journal

import (
	"testing"
)

// BenchmarkCommit is one commit of each kind: 0.3 to 1.3 ms with a disk behind it.
func BenchmarkCommit(b *testing.B) {
	for _, c := range []struct {
		name string
		k    int
	}{{"step", 0}, {"intent", 1}, {"events", 2}, {"fill", 3}, {"log", 4}} {
		b.Run(c.name, func(b *testing.B) {
			r := begin(b, openAt(b, b.TempDir()).Journal, 1)
			for i := range b.N {
				if c.k == 2 || c.k == 3 {
					b.StopTimer()
					if err := operate(b.Context(), r, 1, i, 1); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				if err := operate(b.Context(), r, 1, i, c.k); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen is the verification of a journal of 2,000 steps with an order each.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	o := openAt(b, dir)
	fill(b, begin(b, o.Journal, 1), 1, 2000)
	if err := o.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o := openAt(b, dir)
		if o.Quarantined != nil {
			b.Fatal(o.Quarantined)
		}
		if err := o.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
