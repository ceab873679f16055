package play

import (
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

func TestPublishedIsBounded(t *testing.T) {
	s := Said{Limits: Limits{Series: 2, Each: 5, All: 8}}
	points := func(name string, n int) wire.Series {
		return wire.Series{Name: name, Times: make([]market.Time, n), Values: make([]float64, n)}
	}
	for _, p := range []wire.Series{points("a", 4), points("a", 4), points("b", 4), points("c", 1)} {
		s.addPoints(p)
	}
	if len(s.series) != 2 || len(s.series[0].Time) != 5 || len(s.series[1].Time) != 3 || s.lost != 5 {
		t.Errorf("%d series, %d points, %d lost", len(s.series), s.points, s.lost)
	}
}
