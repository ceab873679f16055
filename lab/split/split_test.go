package split_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestDefault(t *testing.T) {
	// The bundled BTC/USDT hours.
	s := split.Scheme{Scheme: split.Default}
	got, err := s.Ranges(58419, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"train train 0 35051", "validation validation 35051 46734", "test test 46734 58419",
		"search search 0 46734",
		"wf-00-train train 0 17522", "wf-00 walk_forward 17523 23364", "wf-01-train train 5841 23363",
		"wf-01 walk_forward 23364 29205",
		"wf-02-train train 11682 29204", "wf-02 walk_forward 29205 35046", "wf-03-train train 17523 35045",
		"wf-03 walk_forward 35046 40887",
		"wf-04-train train 23364 40886", "wf-04 walk_forward 40887 46728",
	}
	if lines := show(got); !slices.Equal(lines, want) {
		t.Errorf("got  %q\nwant %q", lines, want)
	}
}

func show(ranges []split.Range) []string {
	var lines []string
	for _, r := range ranges {
		lines = append(lines, fmt.Sprintf("%s %s %d %d", r.ID, r.Role, r.From, r.To))
	}
	return lines
}

func TestWalkForward(t *testing.T) {
	for _, c := range []struct {
		scheme split.Scheme
		n      int
		want   []string
	}{
		{split.Scheme{Train: 50, Test: 20}, 115,
			[]string{"wf-00-train train 0 50", "wf-00 walk_forward 51 71", "wf-01-train train 20 70",
				"wf-01 walk_forward 71 91", "wf-02-train train 40 90", "wf-02 walk_forward 91 111"}},
		{split.Scheme{Train: 50, Test: 20, Anchored: true, Purge: new(int)}, 100,
			[]string{"wf-00-train train 0 50", "wf-00 walk_forward 50 70", "wf-01-train train 0 70",
				"wf-01 walk_forward 70 90"}},
		{split.Scheme{Train: 60, Test: 30, Step: 30, KeepPartial: true, Purge: new(int)}, 100,
			[]string{"wf-00-train train 0 60", "wf-00 walk_forward 60 90", "wf-01-train train 30 90",
				"wf-01 walk_forward 90 100"}},
		{split.Scheme{Train: 60, Test: 30, Step: 10, KeepPartial: true, Purge: new(int)}, 100,
			[]string{"wf-00-train train 0 60", "wf-00 walk_forward 60 90", "wf-01-train train 10 70",
				"wf-01 walk_forward 70 100", "wf-02-train train 20 80", "wf-02 walk_forward 80 100"}},
	} {
		c.scheme.Scheme = split.WalkForward
		got, err := c.scheme.Ranges(c.n, 1)
		if err != nil {
			t.Fatal(err)
		}
		if lines := show(got); !slices.Equal(lines, c.want) {
			t.Errorf("%+v over %d\ngot  %q\nwant %q", c.scheme, c.n, lines, c.want)
		}
	}
}

// Windows are those of Ranges, and work on fewer candles than an evaluation may have.
func TestWindows(t *testing.T) {
	s := split.Scheme{Scheme: split.WalkForward, Train: 3, Test: 2, KeepPartial: true, Purge: new(int)}
	got, err := s.Windows(6, 1)
	if want := []string{"wf-00-train train 0 3", "wf-00 walk_forward 3 5", "wf-01-train train 2 5",
		"wf-01 walk_forward 5 6"}; err != nil || !slices.Equal(show(got), want) {
		t.Errorf("%q %v", show(got), err)
	}
	long, err := s.Windows(200, 1)
	ranges, other := s.Ranges(200, 1)
	if err != nil || other != nil || !slices.Equal(show(long), show(ranges)) {
		t.Error(err, other)
	}
	var short *split.TooShortError
	if _, err := s.Windows(3, 1); !errors.As(err, &short) {
		t.Error(err)
	}
	s.Train = 0
	var field *split.FieldError
	if _, err := s.Windows(6, 1); !errors.As(err, &field) || field.Pointer != "/train" {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	one := 1
	minus := -1
	for _, c := range []struct {
		scheme  split.Scheme
		n       int
		pointer string // "" means too short
	}{
		{split.Scheme{Scheme: "sometimes"}, 1000, "/scheme"},
		{split.Scheme{Scheme: split.Default}, 99, ""},
		{split.Scheme{Scheme: split.Default, Train: 5}, 1000, "/train"},
		{split.Scheme{Scheme: split.Default, Purge: &minus}, 1000, "/purge"},
		{split.Scheme{Scheme: split.WalkForward, Test: 5}, 1000, "/train"},
		{split.Scheme{Scheme: split.WalkForward, Train: 900, Test: 200}, 1000, ""},
		{split.Scheme{Scheme: split.CPCV, TestFolds: 6}, 1000, "/n_test_folds"},
		{split.Scheme{Scheme: split.CPCV, Folds: 40, TestFolds: 20}, 100000, "/n_folds"},
		{split.Scheme{Scheme: split.CPCV, Folds: 50, Embargo: &one}, 150, "/embargo"},
		{split.Scheme{Scheme: split.None, Embargo: &one}, 150, "/embargo"},
	} {
		_, err := c.scheme.Ranges(c.n, 1)
		var field *split.FieldError
		var short *split.TooShortError
		switch {
		case errors.As(err, &field):
			if field.Pointer != c.pointer {
				t.Errorf("%+v: %v", c.scheme, err)
			}
		case errors.As(err, &short):
			if c.pointer != "" || short.Needed <= c.n {
				t.Errorf("%+v: %v", c.scheme, err)
			}
		default:
			t.Errorf("%+v: %v", c.scheme, err)
		}
	}
}

func TestFolded(t *testing.T) {
	purge, embargo := 2, 3
	s := split.Scheme{Scheme: split.CPCV, Folds: 4, TestFolds: 2, Purge: &purge, Embargo: &embargo}
	got, err := s.Folded(102, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 6 || s.Paths() != 3 {
		t.Fatalf("%d choices, %d paths", len(got), s.Paths())
	}
	for i, want := range []string{
		"[0 1] [[0 25] [25 50]] [[55 102]]", "[0 2] [[0 25] [50 75]] [[30 48] [80 102]]",
		"[0 3] [[0 25] [75 102]] [[30 73]]",
		"[1 2] [[25 50] [50 75]] [[0 23] [80 102]]", "[1 3] [[25 50] [75 102]] [[0 23] [55 73]]",
		"[2 3] [[50 75] [75 102]] [[0 48]]",
	} {
		if line := fmt.Sprint(got[i].Chosen, " ", got[i].Test, " ", got[i].Train); line != want {
			t.Errorf("%d: got %s, want %s", i, line, want)
		}
	}
}

// Whatever the scheme: no range is empty or outside, a test never begins before its
// training has ended and been purged, and nothing of cpcv trains near its test.
func TestNothingLeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(split.MinCandles, 5000).Draw(t, "n")
		purge := rapid.IntRange(0, 20).Draw(t, "purge")
		s := split.Scheme{
			Scheme: rapid.SampledFrom([]string{split.Default, split.WalkForward, split.Holdout,
				split.None}).Draw(t, "scheme"), Purge: &purge}
		if s.Scheme == split.WalkForward {
			s.Train, s.Test, s.Step = rapid.IntRange(1, n).Draw(t, "train"),
				rapid.IntRange(1, n).Draw(t, "test"), rapid.IntRange(0, n).Draw(t, "step")
			s.Anchored, s.KeepPartial = rapid.Bool().Draw(t, "anchored"), rapid.Bool().Draw(t, "partial")
		}
		ranges, err := s.Ranges(n, 1)
		if err != nil {
			return
		}
		for _, r := range ranges {
			if r.From < 0 || r.From >= r.To || r.To > n {
				t.Fatalf("%+v", r)
			}
			if r.Train != nil && r.Test[0]-r.Train[1] < purge {
				t.Fatalf("%s tests %d candles after its training, purge %d", r.ID, r.Test[0]-r.Train[1],
					purge)
			}
		}
		cross := split.Scheme{Scheme: split.CPCV, Purge: &purge, Embargo: &purge}
		choices, err := cross.Folded(n, 1)
		if err != nil {
			return
		}
		for _, c := range choices {
			for _, train := range c.Train {
				for _, test := range c.Test {
					if train[0] < test[1]+2*purge && train[1] > test[0]-purge {
						t.Fatalf("training %v is too near to test %v", train, test)
					}
				}
			}
		}
	})
}

func TestOver(t *testing.T) {
	var closes []market.Time
	for i := range 1000 {
		closes = append(closes, market.Time(3600_000*(i+1)))
	}
	s := split.Scheme{Scheme: split.Default}
	got, err := s.Over(closes, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got.Schema != "splits/v1" || got.Candles != 1000 || got.Params["purge"] != 3 ||
		len(got.TimelineSHA256) != 64 {
		t.Errorf("%+v", got)
	}
	for _, r := range got.Splits {
		if r.TSFrom != closes[r.From] || r.TSTo != closes[r.To-1] {
			t.Errorf("%+v", r)
		}
	}
}
