package run

import (
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestRoomy: a list of a run of known length is copied a few times, and has little room left at its end; a
// burst takes no more than mostGrowth times what is there.
func TestRoomy(t *testing.T) {
	play := func(steps int, atStep func(step int) int) (copies int, list []int64) {
		r := NewRecord(RecordOptions{Steps: int64(steps), NoMemoryLimit: true})
		for step := range 1_000_000 {
			for range atStep(step) {
				before := cap(list)
				if list = append(roomy(r, 8, list), int64(len(list))); cap(list) != before {
					copies++
				}
			}
			r.curve.Time = append(r.curve.Time, market.Time(step+1))
		}
		for i, v := range list {
			if v != int64(i) {
				t.Fatalf("entry %d is %d", i, v)
			}
		}
		return copies, list
	}
	steady := func(step int) int { return (step%20 + 1) / 20 }
	if copies, list := play(1_000_000, steady); copies > 4 || cap(list) > len(list)*5/4 {
		t.Errorf("known length: %d copies, room for %d of %d", copies, cap(list), len(list))
	}
	if copies, list := play(0, steady); copies > 7 || cap(list) > 2*len(list) {
		t.Errorf("unknown length: %d copies, room for %d of %d", copies, cap(list), len(list))
	}
	burst := func(step int) int { return max(0, min(1, 2000-step)) }
	if _, list := play(1_000_000, burst); cap(list) > mostGrowth*len(list) {
		t.Errorf("a burst: room for %d of %d", cap(list), len(list))
	}
	late := func(step int) int { return max(0, min(1, step-900_000)) }
	if copies, list := play(1_000_000, late); copies > 22 {
		t.Errorf("a late burst: %d copies of %d", copies, len(list))
	}
}
