package verify

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/translog"
)

// each gives values without errors.
func each[T any](values []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func (s *sample) whole(entries []ledger.Entry, notes []string) *Report {
	return Log(each(entries), each(notes), LogOptions{Statement: s.key, Log: s.log.View().Key})
}

func TestWholeLog(t *testing.T) {
	s := newSample(t)
	if report := s.whole(s.entries, s.notes); !report.OK() || len(report.NotChecked) == 0 {
		t.Error(lines(report))
	}
	older := s.log.View()
	older.Head.Size--
	fork, err := translog.SignCheckpoint(older.Head, s.logKey)
	check(t, err)
	swapped := slices.Clone(s.entries)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	unsigned := slices.Clone(s.entries)
	unsigned[2].Signature = s.entries[1].Signature
	started := slices.Clone(s.entries)
	started[0] = s.sign(bundle.TypeLogStart, subject("log", strings.Repeat("0", 64)),
		object{"origin": "other.lab.example"})
	cases := map[string]struct {
		entries []ledger.Entry
		notes   []string
		fails   string
	}{
		"no entry":            {nil, nil, "signatures of 0 statements"},
		"no checkpoint":       {s.entries, nil, "0 checkpoints signed and consistent"},
		"an entry cut off":    {s.entries[:5], s.notes, "checkpoint 4"},
		"a checkpoint less":   {s.entries, s.notes[:4], "the last checkpoint covers the log"},
		"two entries swapped": {swapped, s.notes, "checkpoint 1"},
		"a signature swapped": {unsigned, s.notes, "signature of entry 2"},
		"another start":       {started, s.notes, "log start"},
		"a fork":              {s.entries, append(slices.Clone(s.notes[:4]), fork), "checkpoint 4"},
		"a checkpoint twice":  {s.entries, append(slices.Clone(s.notes), s.notes[4]), "checkpoint 5"},
		"not a checkpoint":    {s.entries, append(slices.Clone(s.notes), "x"), "checkpoint 5"},
	}
	for what, c := range cases {
		if report := s.whole(c.entries, c.notes); report.OK() || !slices.Contains(report.Failed(), c.fails) {
			t.Errorf("%s, want %q:\n%s", what, c.fails, lines(report))
		}
	}
}

// TestTrustOfEntries: an entry that names a trust.json names the newest one before it.
func TestTrustOfEntries(t *testing.T) {
	s := newSample(t)
	first, second := bundle.DigestPrefix+strings.Repeat("1", 64), bundle.DigestPrefix+strings.Repeat("2", 64)
	trust := func(version int, sum string) ledger.Entry {
		return s.sign(bundle.TypeTrust, subject("trust", strings.Repeat("0", 64)),
			object{"digest": sum, "version": version, "text": "{}"})
	}
	decided := func(sum string) ledger.Entry {
		return s.sign(bundle.TypeStageDecision, subject("cr", strings.Repeat("0", 64)),
			object{"to": "paper/active", "trust_digest": sum})
	}
	s.append(trust(1, first))
	s.append(decided(first))
	s.append(trust(2, second))
	s.append(decided(second))
	if report := s.whole(s.entries, s.notes); !report.OK() ||
		!strings.Contains(lines(report), "trust.json of 4 entries that name one") {
		t.Error(lines(report))
	}
	late := len(s.entries)
	s.append(decided(first))
	if report := s.whole(s.entries, s.notes); !slices.Contains(report.Failed(), fmt.Sprintf("trust of entry %d", late)) ||
		!slices.Contains(report.Failed(), "trust.json of 5 entries that name one") {
		t.Error(lines(report))
	}
}

// TestTrustHasToBeNamed: from the rules on that ask for it, an entry that names none is a fault.
func TestTrustHasToBeNamed(t *testing.T) {
	if rulesTrusted != promotion.RulesTrusted {
		t.Fatalf("the plane's rules are %d", promotion.RulesTrusted)
	}
	nobody := subject("policy", strings.Repeat("0", 64))
	for rules, want := range map[int]bool{rulesTrusted - 1: true, rulesTrusted: false} {
		for _, kind := range []string{bundle.TypeStageDecision, bundle.TypeRecorded} {
			s := newSample(t)
			s.append(s.sign(bundle.TypePolicy, nobody, object{"version": 1, "text": "{}", "rules": rules}))
			s.append(s.sign(kind, nobody, object{})) // in open mode there is none to name
			s.append(s.sign(bundle.TypeTrust, nobody,
				object{"digest": bundle.DigestPrefix + strings.Repeat("1", 64), "version": 1, "text": "{}"}))
			at := len(s.entries)
			s.append(s.sign(kind, nobody, object{}))
			report := s.whole(s.entries, s.notes)
			named := !slices.Contains(report.Failed(), fmt.Sprintf("trust of entry %d", at))
			if report.OK() != want || named != want {
				t.Errorf("rules %d, %s:\n%s", rules, kind, lines(report))
			}
		}
	}
}

func TestLogThatCannotBeRead(t *testing.T) {
	s := newSample(t)
	broken := func(yield func(ledger.Entry, error) bool) {
		_ = yield(s.entries[0], nil) && yield(ledger.Entry{}, errors.New("disk"))
	}
	report := Log(broken, each(s.notes), LogOptions{Statement: s.key, Log: s.log.View().Key})
	if !slices.Contains(report.Failed(), "read entry 1") {
		t.Error(lines(report))
	}
}

// TestManyFailures: a log full of faults does not print a line for each.
func TestManyFailures(t *testing.T) {
	s := newSample(t)
	var entries []ledger.Entry
	for range 100 {
		entries = append(entries, ledger.Entry{Payload: []byte("{}"), Signature: []byte("x")})
	}
	if report := s.whole(entries, nil); report.OK() || len(report.Steps) > 20 {
		t.Errorf("%d steps", len(report.Steps))
	}
}

// TestProjectionsAreAStep: what was kept of a log is compared where that is asked for, and
// told as not checked where it is not.
func TestProjectionsAreAStep(t *testing.T) {
	s := newSample(t)
	opts := LogOptions{Statement: s.key, Log: s.log.View().Key}
	told := func(f func() ([]string, error)) (*Report, string) {
		opts.Projections = f
		report := Log(each(s.entries), each(s.notes), opts)
		return report, lines(report)
	}
	if report, text := told(nil); !report.OK() || !strings.Contains(text, "not checked: that facts") {
		t.Error(text)
	}
	if report, text := told(func() ([]string, error) {
		return nil, nil
	}); !report.OK() || strings.Contains(text, "not checked: that facts") {
		t.Error(text)
	}
	if report, text := told(func() ([]string, error) {
		return []string{"facts: 3/0 differs"}, nil
	}); report.OK() || !strings.Contains(text, "3/0 differs") {
		t.Error(text)
	}
	if report, _ := told(func() ([]string, error) { return nil, errors.New("x") }); report.OK() {
		t.Error("an error is no failure")
	}
}
