package selection

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/stat"
)

// Trial is one thing that was tried, a [Class].
type Trial struct {
	// Key is the trial_key, RunID the run that stands for it: the judged one, else one with
	// a series, the one with the most windows, the first by id.
	Key      string             `json:"key"`
	RunID    string             `json:"run_id"`
	Exchange string             `json:"exchange"`
	Data     []artifact.Dataset `json:"data"`
	// Series is its stitched walk-forward, or its returns where it was played in one piece;
	// nil if there are none.
	Series *Series `json:"-"`
	// Copies are the other keys under which the same was tried, in their order. Family is true
	// where the family of the judged run has a part in it.
	Copies []string `json:"copies"`
	Family bool     `json:"family"`
}

// TrialList is all that was tried to find one run, by key.
type TrialList struct {
	Trials []Trial `json:"-"`
	// Judged is the index of the run in request, whose ratios are not estimated if Why is
	// not empty. PeriodsPerYear is the number of its returns in a year.
	Judged         int         `json:"judged"`
	Why            stat.Reason `json:"why"`
	PeriodsPerYear float64     `json:"periods_per_year"`
	// TestPeeks counts the looks at the locked test of the family; PostPeek is true where the
	// run was first tried after one.
	TestPeeks int  `json:"test_peeks"`
	PostPeek  bool `json:"post_peek"`
	// Again counts the runs with the key of the judged one under another seed or on other
	// splits: no part of N, because a key is one trial, but something to choose from all the
	// same. Those that belong to the plan of the judged run, and what is asked twice, do not
	// count.
	Again int `json:"again"`
	// Warnings are the trials whose files could not be used.
	Warnings []artifact.ReportWarning `json:"warnings"`
	// Looks are those at held out candles of the markets of the judged run, oldest first; they
	// are no part of a record.
	Looks []registry.Look `json:"-"`
}

// CodeTrialUnreadable is the code of a warning about a trial without usable files.
const CodeTrialUnreadable = "TRIAL_UNREADABLE"

// ReadTrials makes the list of a run that is completed: every trial on days that overlap with
// its own, of whatever family. The error is registry.ErrNotFound if there is no such run,
// and an *artifact.MismatchError if its own files have changed.
func ReadTrials(ctx context.Context, reg *registry.Registry, store *artifact.Store,
	runID string) (*TrialList, error) {
	row, err := reg.Get(ctx, runID)
	if err != nil {
		return nil, err
	}
	judged, err := artifact.DecodeMetadata(row.Payload)
	if err != nil {
		return nil, err
	}
	book, err := ReadBook(ctx, reg, store)
	if err != nil {
		return nil, err
	}
	peeks, err := reg.Peeks(ctx, judged.FamilyID)
	if err != nil {
		return nil, err
	}
	l := &TrialList{TestPeeks: len(peeks), PostPeek: judged.PostPeek, Judged: -1,
		Looks: book.looksAt(judged.Data)}
	for _, c := range book.On(DaysOf(judged.Data)) {
		l.addClass(c, judged)
	}
	if l.Judged < 0 { // the registry does not have it
		l.addClass(&Class{
			Members: []*Member{{Key: judged.TrialKey, RunID: judged.RunID, FamilyID: judged.FamilyID,
				Meta: judged}}}, judged)
	}
	l.sortTrials()
	if !store.Has(runID) {
		kept, err := NewKeptFiles(store).Find(judged)
		if err != nil {
			return nil, err
		}
		if kept != nil {
			l.Trials[l.Judged].Series = kept.Daily
			l.setStanding(kept.WalkForward)
			return l, nil
		}
	}
	if err := l.readStanding(store, judged); err != nil {
		return nil, err
	}
	// Without its own files, as they are now, there is nothing to judge.
	l.Trials[l.Judged].Series, _, err = Stitch(store, judged, Windows(judged))
	return l, err
}

func (l *TrialList) addClass(c *Class, judged *artifact.Metadata) {
	list := slices.Clone(c.Members)
	slices.SortFunc(list, func(a, b *Member) int {
		return cmp.Or(
			first(a.RunID == judged.RunID && a.Meta != nil, b.RunID == judged.RunID && b.Meta != nil),
			first(a.Series != nil, b.Series != nil), cmp.Compare(windows(b), windows(a)),
			strings.Compare(a.RunID, b.RunID), strings.Compare(a.Key, b.Key))
	})
	stands := list[0]
	t := Trial{Key: stands.Key, RunID: stands.RunID, Series: stands.Series, Family: c.Has(judged.FamilyID)}
	if stands.Meta != nil {
		t.Exchange, t.Data = stands.Meta.Exchange, stands.Meta.Data
	}
	for _, m := range c.Members { // by key
		if m.Key != stands.Key && !slices.Contains(t.Copies, m.Key) {
			t.Copies = append(t.Copies, m.Key)
		}
		if m.Problem != "" {
			l.Warnings = append(l.Warnings, artifact.ReportWarning{
				Code: CodeTrialUnreadable, Pointer: "/overfitting/selection",
				Message: fmt.Sprintf("run %s is counted without its returns: %s", m.RunID, m.Problem),
			})
		}
	}
	if stands.Meta != nil && stands.RunID == judged.RunID {
		l.Judged, l.Again = len(l.Trials), again(c, judged)
	}
	l.Trials = append(l.Trials, t)
}

func (l *TrialList) sortTrials() {
	judged := l.Trials[l.Judged].Key
	slices.SortFunc(l.Trials, func(a, b Trial) int { return strings.Compare(a.Key, b.Key) })
	l.Judged = slices.IndexFunc(l.Trials, func(t Trial) bool { return t.Key == judged })
}

// FamilyTrials counts the trials that the family of the judged run has a part in.
func (l *TrialList) FamilyTrials() int {
	n := 0
	for i := range l.Trials {
		if l.Trials[i].Family {
			n++
		}
	}
	return n
}

// StandsFor is the key of the trial that a trial_key is counted as, the key itself if it is
// not counted.
func (l *TrialList) StandsFor(key string) string {
	for i := range l.Trials {
		if slices.Contains(l.Trials[i].Copies, key) {
			return l.Trials[i].Key
		}
	}
	return key
}

func again(c *Class, judged *artifact.Metadata) int {
	type question struct{ seed, splits string }
	asked := map[question]bool{{judged.Seed, judged.SplitsSHA256}: true}
	for _, x := range c.Members {
		m := x.Meta
		if m == nil || m.TrialKey != judged.TrialKey || m.Kind == artifact.KindService ||
			m.Status != artifact.StatusCompleted {
			continue
		}
		if judged.PlanID == nil || m.PlanID == nil || *m.PlanID != *judged.PlanID {
			asked[question{m.Seed, m.SplitsSHA256}] = true
		}
	}
	return len(asked) - 1
}

// first orders what is true before what is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func windows(m *Member) int {
	if m.Meta == nil {
		return 0
	}
	return len(Windows(m.Meta))
}

// readStanding takes from the report of the judged run whether its ratios are estimated at
// all, and the calendar that they are annualised by.
func (l *TrialList) readStanding(store *artifact.Store, judged *artifact.Metadata) error {
	text, err := store.Read(judged, "report.json")
	if err != nil {
		return err
	}
	rep := &artifact.Report{}
	if err := json.Unmarshal(text, rep); err != nil {
		return changed(judged, "report.json: "+err.Error())
	}
	l.setStanding(rep.WalkForward)
	return nil
}

func (l *TrialList) setStanding(w *artifact.WalkForward) {
	if w == nil {
		l.Why = stat.NotApplicable
		return
	}
	l.PeriodsPerYear = w.Meta.PeriodsPerYear
	if w.Meta.Undefined["sharpe_ratio"] == metric.Insufficient {
		l.Why = stat.Insufficient
	}
}

// RecordFile is where a falsification keeps the trials that it was judged with.
const RecordFile = "falsify/trials.jsonl"

const recordSchema = "trials/v1"

// recordHead is the first line of a record.
type recordHead struct {
	Schema string `json:"schema"`
	*TrialList
}

// recordTrial is a line for each trial, in their order.
type recordTrial struct {
	*Trial
	// Encoded is [Series.Encode] in base64, null without one.
	Encoded []byte `json:"series"`
}

// Record is the list as text, a line for each trial after one for the rest: all that
// Select and Digest need, whatever is tried later and whatever becomes of the runs.
func (l *TrialList) Record() ([]byte, error) {
	lines := []any{recordHead{recordSchema, l}}
	for i := range l.Trials {
		line := recordTrial{Trial: &l.Trials[i]}
		if s := line.Series; s != nil {
			line.Encoded = s.Encode()
		}
		lines = append(lines, line)
	}
	var out []byte
	for _, v := range lines {
		line, err := digest.JCS(v)
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

// ReadRecord is the list of a record.
func ReadRecord(text []byte) (*TrialList, error) {
	lines := slices.Collect(bytes.Lines(text))
	l := &TrialList{}
	head := recordHead{TrialList: l}
	if len(lines) < 2 || json.Unmarshal(lines[0], &head) != nil || head.Schema != recordSchema {
		return nil, fmt.Errorf("line 1: this is not a record of trials (%s)", recordSchema)
	}
	if head.Judged < 0 || head.Judged >= len(lines)-1 || math.IsInf(head.PeriodsPerYear, 0) {
		return nil, fmt.Errorf("line 1: /judged names trial %d of %d", head.Judged, len(lines)-1)
	}
	var decoder Decoder
	for i, line := range lines[1:] {
		r := recordTrial{Trial: &Trial{}}
		err := json.Unmarshal(line, &r)
		if err == nil && r.Encoded != nil {
			r.Series, err = decoder.Decode(r.Encoded)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		l.Trials = append(l.Trials, *r.Trial)
	}
	return l, nil
}

// Digest is what a falsification depends on besides the run that it attacks, as it
// stands in the request. It needs only sums, products and square roots: equal on every
// CPU.
type Digest struct {
	NTrials int `json:"n_trials"`
	// NTrialsFamily is absent in what was written before it was counted.
	NTrialsFamily int     `json:"n_trials_family,omitempty"`
	NEff          float64 `json:"n_eff"`
	// TrialSRVariance is null where it is undefined.
	TrialSRVariance *float64 `json:"trial_sr_variance"`
	ReturnsSHA256   string   `json:"returns_sha256"`
	TestPeeks       int      `json:"test_peeks"`
	PostPeek        bool     `json:"post_peek"`
}

// Digest condenses the list.
func (l *TrialList) Digest() Digest {
	m, _ := l.buildMatrix(context.Background()) // it takes as long as reading the returns a few times
	d := Digest{
		NTrials: len(l.Trials), NTrialsFamily: l.FamilyTrials(), NEff: metric.Round(m.alike.NEff),
		ReturnsSHA256: l.hashReturns(),
		TestPeeks:     l.TestPeeks, PostPeek: l.PostPeek,
	}
	if m.why == "" {
		v := metric.Round(m.variance)
		d.TrialSRVariance = &v
	}
	return d
}

// hashReturns covers every trial: its key, a zero byte, the number of its returns as a
// big-endian int64, then each of them as date (int64 milliseconds) and return (the bits
// of the float64), and its net exposure.
func (l *TrialList) hashReturns() string {
	h := sha256.New()
	var b []byte
	for i := range l.Trials {
		t := &l.Trials[i]
		b = append(append(b[:0], t.Key...), 0)
		if t.Series == nil {
			h.Write(binary.BigEndian.AppendUint64(b, 0))
			continue
		}
		b = binary.BigEndian.AppendUint64(b, uint64(len(t.Series.Return)))
		for k, r := range t.Series.Return {
			b = binary.BigEndian.AppendUint64(b, uint64(t.Series.Date[k]))
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(r))
		}
		h.Write(binary.BigEndian.AppendUint64(b, math.Float64bits(t.Series.NetExposure)))
	}
	return hex.EncodeToString(h.Sum(nil))
}
