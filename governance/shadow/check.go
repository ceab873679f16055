package shadow

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
)

// Checker fetches the candles of days that others have stated, and disputes those that it is given
// otherwise. Each check fetches anew: what was fetched before is not among its candles.
type Checker struct {
	Plane *client.Client
	Stage *Stage
	Key   crypto.Signer
	Now   func() time.Time
	Log   hclog.Logger
	// Withdraw takes disputes of this key back whose days it is given now as they were stated.
	Withdraw bool
}

// OpenCheck opens a stage that holds nothing but what it fetches, and has it only until it is closed.
func OpenCheck(ctx context.Context, o Options) (_ *Stage, err error) {
	o.Source = bundle.SourceExchange
	if err := o.findConnectors(); err != nil {
		return nil, err
	}
	if _, err := marketDir(o.Root, o.Endpoint); err != nil {
		return nil, err
	}
	s := &Stage{opts: o}
	if s.work, err = file.NewWorkdir(filepath.Join(o.Root, "tmp", "shadow")); err != nil {
		return nil, err
	}
	s.marketDir = filepath.Join(s.work.Dir(), "check")
	if s.market, err = candle.Open(ctx, s.marketDir); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Checked is what became of the candles of one day.
type Checked struct {
	CandidateRevisionID string `json:"candidate_revision_id"`
	Exchange            string `json:"exchange"`
	Symbols             string `json:"symbols"`
	Timeframe           string `json:"timeframe"`
	Date                string `json:"date"`
	// Status is equal, disputed, withdrawn, own (this key has stated it) or failed; Reason says why, or
	// where the candles differ first.
	Status string `json:"status"`
	Reason string `json:"reason"`
	// Posted reports whether the plane has a new statement about it.
	Posted bool `json:"posted"`
}

// The statuses of a Checked; Failed is one, too.
const (
	Equal     = "equal"
	InDispute = "disputed"
	Withdrawn = "withdrawn"
	OwnChunk  = "own"
)

// Check fetches the candles of all days from one on, and posts what is new to say about them. What
// concerns one market is in its rows; the error is that of a plane that does not answer, or of ctx.
func (c *Checker) Check(ctx context.Context, since time.Time) ([]Checked, error) {
	var all promotion.ShadowChunks
	origin, err := readList(ctx, c.Plane, &all, promotion.SchemaShadowChunks, "shadow-chunks",
		bundle.FormatDay(since))
	if err != nil {
		return nil, err
	}
	own, err := dsse.KeyID(c.Key.Public())
	if err != nil {
		return nil, err
	}
	list := []Checked{}
	for _, chunks := range byMarket(all.Chunks) {
		m := &marketCheck{c: c, origin: origin, own: own, chunks: chunks}
		err := m.run(ctx)
		if ctx.Err() != nil {
			return list, context.Cause(ctx)
		}
		var away *client.UnreachableError
		if errors.As(err, &away) {
			return list, err
		}
		if err != nil {
			c.Log.Warn("a market was not checked", "candidate_revision_id", chunks[0].CandidateRevisionID,
				"error", err)
			m.fail(err)
		}
		list = append(list, m.rows...)
	}
	return list, nil
}

// byMarket groups chunks of one revision on one market, in their order, as many as a statement takes.
func byMarket(list []promotion.ShadowChunk) [][]promotion.ShadowChunk {
	var groups [][]promotion.ShadowChunk
	for i := range list {
		c := &list[i]
		at := slices.IndexFunc(groups, func(g []promotion.ShadowChunk) bool {
			o := &g[0]
			return o.CandidateRevisionID == c.CandidateRevisionID && o.Exchange == c.Exchange &&
				o.Timeframe == c.Timeframe && len(g) < bundle.MaxDisputed
		})
		if at < 0 {
			groups = append(groups, []promotion.ShadowChunk{*c})
		} else {
			groups[at] = append(groups[at], *c)
		}
	}
	return groups
}

// marketCheck is the check of the days of one revision.
type marketCheck struct {
	c      *Checker
	origin string
	own    string // id of the key
	chunks []promotion.ShadowChunk
	rows   []Checked
	// opened and closed are what there is to say: disputes, and those that are taken back.
	opened, closed []bundle.DisputedChunk
	fetches        []bundle.ShadowFetch
}

// run fetches and compares, and posts what is new.
func (m *marketCheck) run(ctx context.Context) (err error) {
	first := &m.chunks[0]
	rules := &artifact.Request{Exchange: first.Exchange, Symbols: first.Symbols, Timeframe: first.Timeframe}
	from, _ := bundle.Day(first.Date)
	last, ok := bundle.Day(m.chunks[len(m.chunks)-1].Date)
	if !ok || last.Before(from) {
		return errors.New("the control plane's list of chunks names no days")
	}
	s := m.c.Stage
	if err := s.bringWindow(ctx, rules, from, last.AddDate(0, 0, 1)); err != nil {
		return err
	}
	data, err := s.datasets(ctx, rules)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(data)) }()
	if m.fetches, err = s.pages(ctx, data, from, last.AddDate(0, 0, 1)); err != nil {
		return err
	}
	for i := range m.chunks {
		m.rows = append(m.rows, m.compare(data, &m.chunks[i]))
	}
	return m.post(ctx)
}

// fail marks what was not posted.
func (m *marketCheck) fail(err error) {
	if len(m.rows) == 0 {
		for i := range m.chunks {
			m.rows = append(m.rows, rowOf(&m.chunks[i]))
		}
	}
	for i := range m.rows {
		r := &m.rows[i]
		if r.Status == "" || r.Posted {
			r.Status, r.Reason, r.Posted = Failed, err.Error(), false
		}
	}
}

func rowOf(c *promotion.ShadowChunk) Checked {
	return Checked{CandidateRevisionID: c.CandidateRevisionID, Exchange: c.Exchange,
		Symbols: strings.Join(c.Symbols, ","), Timeframe: c.Timeframe, Date: c.Date}
}

// compare holds the candles of one day against what was stated.
func (m *marketCheck) compare(data []dataset, c *promotion.ShadowChunk) Checked {
	row := rowOf(c)
	begin, _ := bundle.Day(c.Date)
	if slices.Contains(c.KeyIDs, m.own) {
		row.Status, row.Reason = OwnChunk, "this key has stated it: a second fetcher has another key"
		return row
	}
	if why := reaches(data, begin); why != "" {
		row.Status, row.Reason = Failed, why
		return row
	}
	got := chunkOf(data, begin)
	mine := slices.Contains(c.DisputedBy, m.own)
	stated := bundle.DisputedChunk{Date: c.Date, Chunk: c.Chunk}
	if got.sum() == c.Chunk {
		row.Status = Equal
		switch {
		case mine && m.c.Withdraw:
			row.Status, row.Posted = Withdrawn, true
			m.closed = append(m.closed, stated)
		case mine:
			row.Reason = "this key disputes it: --withdraw takes that back"
		}
		return row
	}
	row.Status = InDispute
	stated.Own, stated.OwnRows, stated.First = got.sum(), got.rows(), got.differs(c.Candles, c.Marks)
	row.Reason = differenceText(&stated, c.Candles)
	if !mine {
		row.Posted = true
		m.opened = append(m.opened, stated)
	}
	return row
}

// reaches is why a day cannot be compared: the exchange has not given all of it.
func reaches(data []dataset, begin time.Time) string {
	for _, d := range data {
		start, end := d.Start().Time(), d.End().Time()
		if start.After(begin) || end.Before(begin.AddDate(0, 0, 1)) {
			return fmt.Sprintf("the exchange gives candles of %s from %s to %s only", d.Symbol,
				bundle.FormatTime(start), bundle.FormatTime(end))
		}
	}
	return ""
}

// differenceText says where candles differ.
func differenceText(c *bundle.DisputedChunk, rows int64) string {
	f := c.First
	switch {
	case f == nil:
		return fmt.Sprintf("%d candles, %d were stated; no marks tell which differ", c.OwnRows, rows)
	case f.Within > 1:
		return fmt.Sprintf("%s differs first within %d candles from %s on", f.Symbol, f.Within, f.OpenTime)
	}
	return fmt.Sprintf("%s differs first at %s: here %s", f.Symbol, f.OpenTime, cmp.Or(f.Own, "none"))
}

// post states what there is to say.
func (m *marketCheck) post(ctx context.Context) error {
	if len(m.opened)+len(m.closed) == 0 {
		return nil
	}
	first := &m.chunks[0]
	doc, err := m.c.Plane.Bundle(ctx, first.CandidateRevisionID)
	if err != nil {
		return err
	}
	stated := bundle.Dispute{Exchange: first.Exchange, Symbols: first.Symbols, Timeframe: first.Timeframe}
	made := m.c.Now().UTC()
	stated.Common = bundle.Common{LogOrigin: m.origin, CandidateRevisionID: first.CandidateRevisionID,
		MadeAt: made.Format(time.RFC3339Nano), ExpiresAt: bundle.FormatTime(made.Add(valid))}
	var envelopes []dsse.Envelope
	for _, part := range []struct {
		event, reason string
		chunks        []bundle.DisputedChunk
		fetches       []bundle.ShadowFetch
	}{
		{bundle.DisputeOpen, "the exchange gives other candles", m.opened, m.fetchesOf(m.opened)},
		{bundle.DisputeWithdraw, "the exchange gives the same candles now", m.closed, nil},
	} {
		if len(part.chunks) == 0 {
			continue
		}
		stated.Event, stated.Reason = part.event, part.reason
		stated.Chunks, stated.Fetches = part.chunks, part.fetches
		env, err := doc.Attest(bundle.TypeDispute, stated, m.c.Key)
		if err != nil {
			return err
		}
		envelopes = append(envelopes, env)
	}
	_, err = m.c.Plane.Ingest(ctx, doc, envelopes...)
	return err
}

// fetchesOf are the answers that hold candles of the chunks.
func (m *marketCheck) fetchesOf(chunks []bundle.DisputedChunk) []bundle.ShadowFetch {
	return slices.DeleteFunc(slices.Clone(m.fetches), func(f bundle.ShadowFetch) bool {
		return !slices.ContainsFunc(chunks, func(c bundle.DisputedChunk) bool {
			begin, _ := bundle.Day(c.Date)
			return f.To > bundle.FormatTime(begin) && f.From < bundle.FormatTime(begin.AddDate(0, 0, 1))
		})
	})
}
