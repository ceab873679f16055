package fetch

import "testing"

// FuzzPage: what is taken for a page has candles whose times ascend, and can be read by the importer.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"version":1,"candles":[[0,1,2,1,1,0],[9,1,2,1,1,0]]}`))
	f.Add([]byte(`{"version":1,"candles":[[1e300,1,2,1,1,0]]}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decodePage(text)
		if err != nil {
			return
		}
		for i, c := range p.Candles[1:] {
			if c[0] <= p.Candles[i][0] {
				t.Fatal("times do not ascend")
			}
		}
		if p.last() < 0 || len(p.csv()) == 0 {
			t.Fatal("no page")
		}
	})
}
