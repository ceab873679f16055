package shadow

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/trade/risk"
)

// valid is how long a statement may take until the plane has it.
const valid = 7 * 24 * time.Hour

// testSplit is the split whose days are a promise: no choice was made by them.
const testSplit = "test"

// Worker plays what a plane lists.
type Worker struct {
	Plane *client.Client
	Stage *Stage
	Key   crypto.Signer
	Now   func() time.Time
	Log   hclog.Logger
}

// Outcome is what became of one revision.
type Outcome struct {
	CandidateRevisionID string `json:"candidate_revision_id"`
	// Status is posted, waiting (no day is over, or a copy whose days another revision has) or
	// failed; Reason is why it was not posted.
	Status string `json:"status"`
	Reason string `json:"reason"`
	// Days were stated, From and To are the first and the last of them.
	Days     int                  `json:"days"`
	From     string               `json:"from"`
	To       string               `json:"to"`
	Compared []bundle.ComparedRun `json:"compared"`
}

// The statuses of an Outcome.
const (
	Posted  = "posted"
	Waiting = "waiting"
	Failed  = "failed"
)

// Once plays every revision that the plane lists, up to the last day of which all candles are
// there, and posts what is new. What concerns one revision is in its Outcome; the error is that
// of a plane that does not answer, or of ctx.
func (w *Worker) Once(ctx context.Context) ([]Outcome, error) {
	var work promotion.ShadowWork
	origin, err := readList(ctx, w.Plane, &work, promotion.SchemaShadowWork, "shadow-work")
	if err != nil {
		return nil, err
	}
	list := []Outcome{}
	oldest := w.Now()
	for _, r := range work.Revisions {
		if next, ok := bundle.Day(r.NextDay); ok && next.Before(oldest) {
			oldest = next
		}
	}
	for i := range work.Revisions {
		out := Outcome{CandidateRevisionID: work.Revisions[i].CandidateRevisionID, Status: Waiting,
			Compared: []bundle.ComparedRun{}}
		err := w.one(ctx, origin, oldest, &work.Revisions[i], &out)
		if ctx.Err() != nil {
			return list, context.Cause(ctx)
		}
		var away *client.UnreachableError
		if errors.As(err, &away) {
			return list, err
		}
		if err != nil {
			out.Status, out.Reason = Failed, err.Error()
			w.Log.Warn("a revision was not played", "candidate_revision_id", out.CandidateRevisionID,
				"error", err)
		}
		list = append(list, out)
	}
	return list, nil
}

// readList reads a list of a schema from a plane, and returns the origin of its log.
func readList(ctx context.Context, plane *client.Client, to any, schema string,
	path ...string) (origin string, err error) {
	text, err := plane.Read(ctx, path...)
	if err != nil {
		return "", err
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err = json.Unmarshal(text, &head); err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil || head.Schema != schema {
		return "", fmt.Errorf("the control plane's answer to %s is not %s: it is of another version",
			path[0], schema)
	}
	log, err := plane.Log(ctx)
	if err != nil {
		return "", err
	}
	return log.Origin, nil
}

// one plays one revision and posts a statement where there is anything new to state.
func (w *Worker) one(ctx context.Context, origin string, oldest time.Time, r *promotion.ShadowRequest,
	out *Outcome) error {
	doc, err := w.Plane.Bundle(ctx, r.CandidateRevisionID)
	if err != nil {
		return err
	}
	b := &doc.Bundle
	rules, splits, err := w.Stage.baseline(b)
	if err != nil {
		return err
	}
	c, err := w.Stage.program(ctx, b)
	if err != nil {
		return err
	}
	defer c.Close()
	now := w.Now().UTC()
	said := bundle.Shadow{
		Common: bundle.Common{
			LogOrigin: origin, CandidateRevisionID: b.CandidateRevisionID,
		},
		Source: w.Stage.opts.Source, Exchange: rules.Exchange, Symbols: rules.Symbols,
		Timeframe: rules.Timeframe,
		Days:      []bundle.ShadowDay{},
	}
	p := &player{w: w, c: c, b: b, rules: rules, splits: splits, now: now, oldest: oldest, reported: &said}
	if r.PlayedRevisionID == r.CandidateRevisionID {
		err := p.newDays(ctx, r)
		var early *earlyError
		if errors.As(err, &early) {
			out.Reason = early.Error()
		} else if err != nil {
			return err
		}
	} else {
		out.Reason = "its days are those of " + r.PlayedRevisionID
	}
	for _, id := range r.Uncompared {
		compared, err := p.compare(ctx, id)
		if err != nil {
			w.Log.Warn("a run was not compared", "run_id", id, "error", err)
			out.Reason = strings.TrimPrefix(out.Reason+"; run "+id+": "+err.Error(), "; ")
			continue
		}
		said.Compared = append(said.Compared, *compared)
	}
	if r.ChallengeOpen {
		if err := p.answer(ctx); err != nil {
			w.Log.Warn("the challenge of a seal was not answered", "candidate_revision_id",
				out.CandidateRevisionID, "error", err)
			out.Reason = strings.TrimPrefix(out.Reason+"; challenge: "+err.Error(), "; ")
		}
	}
	if len(said.Days) == 0 && len(said.Compared) == 0 && said.Challenge == nil {
		return nil
	}
	said.Reason = fmt.Sprintf("%d days, %d runs compared", len(said.Days), len(said.Compared))
	made := w.Now().UTC() // after all that was fetched
	said.MadeAt, said.ExpiresAt = made.Format(time.RFC3339Nano), bundle.FormatTime(made.Add(valid))
	env, err := doc.Attest(bundle.TypeShadow, said, w.Key)
	if err != nil {
		return err
	}
	if _, err := w.Plane.Ingest(ctx, doc, env); err != nil {
		return err
	}
	out.Status, out.Days, out.Compared = Posted, len(said.Days), append(out.Compared, said.Compared...)
	if n := len(said.Days); n > 0 {
		out.From, out.To = said.Days[0].Date, said.Days[n-1].Date
	}
	return nil
}

// baseline is the request and the splits of the first baseline of a bundle, checked against
// their hashes.
func (s *Stage) baseline(b *bundle.Bundle) (*artifact.Request, *artifact.Splits, error) {
	i := slices.IndexFunc(b.Runs, func(r bundle.Run) bool { return r.Role == bundle.RoleBaseline })
	if i < 0 {
		return nil, nil, errors.New("the bundle has no baseline whose rules could be played")
	}
	r := &artifact.Request{}
	if err := s.read(b.Runs[i].RunID, "request.json", b.Runs[i].RequestHash, r); err != nil {
		return nil, nil, err
	}
	splits := &artifact.Splits{}
	if err := s.read(b.Runs[i].RunID, "splits.json", r.Splits.SHA256, splits); err != nil {
		return nil, nil, err
	}
	return r, splits, nil
}

// read reads a JSON file of a run that has a hash.
func (s *Stage) read(run, name, sum string, into any) error {
	text, err := s.artifact("runs/" + run + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("runs/%s/%s is not in %s: copy the run's folder there", run, name, s.where())
	}
	if err != nil {
		return err
	}
	if digest.SHA256Hex(bytes.TrimSpace(text)) != sum && digest.SHA256Hex(text) != sum {
		return fmt.Errorf("runs/%s/%s is not the file that the bundle pins", run, name)
	}
	return json.Unmarshal(text, into)
}

// player is one revision with its program.
type player struct {
	w        *Worker
	c        *catalog.Catalog
	b        *bundle.Bundle
	rules    *artifact.Request
	splits   *artifact.Splits
	now      time.Time
	oldest   time.Time // the first day that any revision waits for
	reported *bundle.Shadow
}

// newDays plays from the first day on, and states those that are not known yet.
func (p *player) newDays(ctx context.Context, r *promotion.ShadowRequest) (err error) {
	first, ok := bundle.Day(r.FirstDay)
	next, also := bundle.Day(r.NextDay)
	if !ok || !also {
		return errors.New("the control plane's list of work names no days")
	}
	today := p.now.Truncate(24 * time.Hour)
	if p.w.Stage.fetches() && !next.Before(today) {
		return &earlyError{next: next}
	}
	if err := p.w.Stage.bring(ctx, p.rules, first, today); err != nil {
		return err
	}
	data, err := p.w.Stage.datasets(ctx, p.rules)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(data)) }()
	end := closedBy(data, p.now)
	switch {
	case !next.Before(today):
		return &earlyError{next: next}
	case !next.Before(end):
		return &earlyError{next, end}
	}
	limits, cash, err := declared(&p.b.Limits)
	if err != nil {
		return err
	}
	q := playRequest{b: p.b, rules: p.rules, cash: cash, limits: limits, start: first, end: end}
	got, err := p.playNew(ctx, q)
	if err != nil {
		return err
	}
	if p.reported.Fetches, err = p.answers(ctx, data, next, end); err != nil {
		return err
	}
	for i := range got.days {
		p.stamp(&got.days[i], data, first.AddDate(0, 0, i))
	}
	same, err := sameDays(got.days, r.Days, r.HistorySHA256)
	if err != nil {
		return err
	}
	if !same {
		return fmt.Errorf("the %d days already stated come out differently now: their candles have "+
			"changed or came from another --source, or the program does not decide the same twice", r.Days)
	}
	p.reported.Sandbox, p.reported.Days = got.sandbox, got.days[r.Days:]
	for i := max(0, len(p.reported.Days)-bundle.MarkDays); i < len(p.reported.Days); i++ {
		d := &p.reported.Days[i]
		d.Marks = chunkOf(data, d.Begin()).marks(bundle.MarkStep(d.Rows))
	}
	if r.Days == 0 {
		p.reported.Promise = p.promise(ctx, limits, cash)
	}
	return nil
}

// earlyError reports that no further day can be played yet: the next one is not over, or its candles, which
// reach to before until, are not all there.
type earlyError struct{ next, until time.Time }

func (e *earlyError) Error() string {
	if e.until.IsZero() {
		return bundle.FormatDay(e.next) + " is not over"
	}
	return fmt.Sprintf("the candles of %s are not all there: whole days of them reach to before %s",
		bundle.FormatDay(e.next), bundle.FormatDay(e.until))
}

// answer answers the challenge of the seal.
func (p *player) answer(ctx context.Context) error {
	asked, err := p.w.Plane.Challenge(ctx, p.b)
	if err != nil {
		return err
	}
	a, sandbox, err := p.w.Stage.answer(ctx, p.c, playRequest{b: p.b, rules: p.rules}, asked)
	if err != nil {
		return err
	}
	p.reported.Challenge, p.reported.Sandbox = a, cmp.Or(p.reported.Sandbox, sandbox)
	return nil
}

// stamp adds to a day what its candles were and when they came.
func (p *player) stamp(d *bundle.ShadowDay, data []dataset, begin time.Time) {
	c := chunkOf(data, begin)
	d.Rows, d.Chunk = c.rows(), c.sum()
	came, ok := fetchedAt(p.reported.Fetches, begin)
	if !ok {
		came = p.now.Truncate(time.Second)
	}
	d.FetchedAt = bundle.FormatTime(came)
	d.Late = came.Sub(begin.AddDate(0, 0, 1)) > bundle.ShadowLate
}

// promise plays the whole days of the locked test on the candles that the baseline was made of,
// within the same limits; nil where it has no test or these candles are not there.
func (p *player) promise(ctx context.Context, limits *risk.Limits, cash json.Number) *bundle.Promise {
	i := slices.IndexFunc(p.splits.Splits, func(s artifact.SplitRange) bool { return s.ID == testSplit })
	if i < 0 {
		return nil
	}
	s := p.splits.Splits[i]
	q := playRequest{
		b: p.b, rules: p.rules, cash: cash, limits: limits, pins: pinsOf(p.rules),
		start: bundle.FirstShadowDay(s.TSFrom.Time()), end: s.TSTo.Time().Truncate(24 * time.Hour),
	}
	if !q.start.Before(q.end) {
		return nil
	}
	got, err := p.w.Stage.play(ctx, p.c, q)
	if err != nil {
		p.w.Log.Warn("the locked test was not played: nothing is promised, and drift is measured "+
			"among the new days only", "candidate_revision_id", p.b.CandidateRevisionID, "error", err)
		return nil
	}
	run := p.b.Runs[slices.IndexFunc(p.b.Runs, func(r bundle.Run) bool {
		return r.Role == bundle.RoleBaseline
	})]
	out := &bundle.Promise{RunID: run.RunID}
	for _, d := range got.days[max(0, len(got.days)-bundle.MaxShadowDays):] {
		out.Days = append(out.Days, bundle.PromisedDay{Return: d.Return, Fills: d.Fills})
	}
	return out
}
