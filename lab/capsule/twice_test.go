package capsule

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// parted is a capsule of decisions that differ from a candle on.
func (th *theatre) parted(t *testing.T, name string, kind Kind, index int64) *Capsule {
	t.Helper()
	c, err := Divergent(t.Context(), DivergentPlays{
		Context: th.about(t, name), Kind: kind, Code: strings.ToUpper(string(kind)),
		At: Divergence{Line: 3, Step: index, A: "x"},
		CloseTime: func(i int64) market.Time {
			return th.data.Start + market.Time(i+1)*3600_000
		}, Exchange: "test", Candles: th.host.Candles,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Seal(NewRedactor(nil, "")); err != nil {
		t.Fatal(err)
	}
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Decode(text); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReplayOfDecisionsThatDiffer(t *testing.T) {
	for _, c := range []struct {
		plugin string
		kind   Kind
		index  int64
		want   bool
	}{
		{"coin", Nondeterminism, 100, true},
		{"steady", Nondeterminism, 100, false},
		// It buys at candle 150 of 300, and at 100 when only 200 are there.
		{"peeker", Lookahead, 199, true},
		{"peeker", Nondeterminism, 100, false},
		{"steady", Lookahead, 199, false},
	} {
		th := open(t, c.plugin)
		told := th.parted(t, c.plugin, c.kind, c.index)
		if told.DataSlice == nil || told.DataSlice.ToIndex != c.index || told.DataSlice.Series[0].Rows != 51 {
			t.Errorf("%s of %s: slice %+v", c.kind, c.plugin, told.DataSlice)
		}
		r, err := th.host.Replay(t.Context(), told, th.plugin)
		if err != nil {
			t.Fatal(err)
		}
		if r.Reproduced != c.want || (r.Fingerprint == told.Fingerprint) != c.want ||
			(len(r.Differences) == 0) != c.want || len(r.Remarks) != 1 {
			t.Errorf("%s of %s: %+v", c.kind, c.plugin, r)
		}
		if c.plugin == "peeker" && c.want && *r.Where.CandleIndex != 100 {
			t.Errorf("it parts at candle %d", *r.Where.CandleIndex)
		}
		if left, _ := filepath.Glob(filepath.Join(th.host.StateDir, "tmp", "*-*")); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestReplayRefusesWhatCannotBePlayed(t *testing.T) {
	th := open(t, "steady")
	whole := th.parted(t, "steady", Nondeterminism, 100)
	change := func(f func(*Capsule)) *Capsule {
		c := *whole
		f(&c)
		return &c
	}
	var missing *MissingError
	var form *FormatError
	var name *NameError
	// Before anything is played there is no copy of the plugin.
	if _, err := th.host.Replay(t.Context(), whole, ""); !errors.As(err, &missing) || len(missing.What) != 1 {
		t.Errorf("no plugin: %v", err)
	}
	known := th.data.SHA256
	th.data.SHA256 = strings.Repeat("ab", 32)
	lost := th.parted(t, "steady", Nondeterminism, 100)
	if _, err := th.host.Replay(t.Context(), lost, ""); !errors.As(err, &missing) || len(missing.What) != 2 ||
		lost.DataSlice != nil {
		t.Errorf("neither plugin nor candles: %v", err)
	}
	th.data.SHA256 = known
	for what, c := range map[string]struct {
		capsule *Capsule
		program string
		as      any
	}{
		"bare": {change(func(c *Capsule) { *c = *c.Bare() }), th.plugin, &missing},
		"without secrets": {change(func(c *Capsule) {
			c.Integrity.Redactions = []Redaction{{Path: "/replay/take/params/key"}}
		}), th.plugin, &missing},
		"no such program": {whole, "/nowhere", &missing},
		"no program":      {whole, filepath.Join(th.host.StateDir, "data", "catalog.sqlite3"), &missing},
		"a path for a name": {
			change(func(c *Capsule) {
				c.Inputs.Request = []byte(`{"strategy_name":"../x","symbols":["A/B"]}`)
			}), th.plugin, &form},
		"no symbols": {change(func(c *Capsule) { c.Inputs.Request = []byte(`{"strategy_name":"x"}`) }),
			th.plugin, &form},
		"another strategy": {change(func(c *Capsule) {
			c.Inputs.Request = []byte(strings.Replace(string(c.Inputs.Request), "steady", "other", 1))
		}), th.plugin, &name},
		"neither file, slice": {change(func(c *Capsule) { c.DataSlice, c.Inputs.Data = nil, nil }), th.plugin,
			&form},
	} {
		if r, err := th.host.Replay(t.Context(), c.capsule, c.program); !errors.As(err, c.as) {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
	if _, err := th.host.Replay(t.Context(), th.parted(t, "steady", ArtifactMismatch, 1), ""); !errors.As(err,
		&missing) {
		t.Errorf("files that are gone: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(th.host.StateDir, "tmp")); len(left) > 1 {
		t.Errorf("left behind: %v", left)
	}
}
