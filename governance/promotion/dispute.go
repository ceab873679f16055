package promotion

import (
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/field"
)

// Disputed are the fields of shadow_disputed.
type Disputed struct {
	By
	bundle.Dispute
}

// chunkName is what names the candles of a day, of whichever revisions. The hash has symbols, timeframe
// and times in it; a day without candles has no times.
type chunkName struct{ exchange, date, sha256 string }

// disputed is the word of one key about a chunk.
type disputed struct {
	by       By
	attested bool // its own candles are the exchange's
	seq      int64
	first    *bundle.DifferingCandle
}

// chunk is the name of the candles of a day.
func (d *playedDay) chunk() chunkName { return chunkName{d.exchange, d.Date, d.Chunk} }

// dispute folds a dispute, or its end. A key disputes a chunk once.
func (all lanes) dispute(f *Fact, p *Disputed) {
	w := all.w
	for i := range p.Chunks {
		c := &p.Chunks[i]
		name := chunkName{p.Exchange, c.Date, c.Chunk}
		list := w.disputes[name]
		at := slices.IndexFunc(list, func(o disputed) bool { return o.by.KeyID == p.KeyID })
		switch {
		case p.Event == bundle.DisputeWithdraw && at >= 0:
			list = slices.Delete(slices.Clone(list), at, at+1)
		case p.Event == bundle.DisputeOpen && at < 0:
			list = append(slices.Clone(list), disputed{p.By, p.Attested(), f.Seq, c.First})
		}
		if len(list) == 0 {
			delete(w.disputes, name)
		} else {
			w.disputes[name] = list
		}
	}
	for _, r := range w.order {
		if slices.ContainsFunc(p.Chunks, func(c bundle.DisputedChunk) bool {
			d := all.laneOf(r).day(c.Date)
			return d != nil && d.Chunk == c.Chunk
		}) {
			w.markDue([]*revision{r})
		}
	}
}

// day is the day of a lane, nil where it has none of this date.
func (r *revision) day(date string) *playedDay {
	begin, ok := bundle.Day(date)
	if !ok || len(r.lane.days) == 0 {
		return nil
	}
	i := int(begin.Sub(r.lane.days[0].Begin()) / (24 * time.Hour))
	if begin.Before(r.lane.days[0].Begin()) || i >= len(r.lane.days) {
		return nil
	}
	return &r.lane.days[i]
}

// against are the disputes about a day that count: by keys that still do, and not by the one that has
// stated the day. Whatever an endpoint of the operator's answers says nothing about the exchange.
func (all lanes) against(d *playedDay) []disputed {
	return slices.DeleteFunc(slices.Clone(all.w.disputes[d.chunk()]), func(o disputed) bool {
		return o.by.KeyID == d.by.KeyID || d.attested && !o.attested ||
			!all.w.signatureCounts(o.by, bundle.TrustShadow, bundle.TrustReplay)
	})
}

// drop takes days in dispute, and those that somebody has stated of their own, out of what counts for a
// revision: its days, its trades, and what they gained. What they lost stays, else whoever has a second key
// could dispute losses, and a worker pack them away. The drift keeps them too: neither lifts a stop, or makes
// one. The result has the days that are out.
func (all lanes) drop(root, r *revision, l *lane, s *policy.ShadowResult) map[*playedDay]bool {
	own := all.ownWorkers(r, l)
	if len(all.w.disputes) == 0 && len(own) == 0 {
		return nil
	}
	out := map[*playedDay]bool{}
	for i := range l.days {
		d := &l.days[i]
		switch {
		case own[d.by.Principal]:
			s.Own++
			s.OwnBy = d.by.Principal
		case len(all.against(d)) > 0:
			s.InDispute++
		default:
			continue
		}
		out[d] = true
		s.Days--
		s.Trades -= d.Trades
		if d.late {
			s.LateDays--
		}
	}
	if len(out) == 0 || l.weight == nil {
		return out
	}
	// It is made of what the process that stands was made of.
	if weight := l.weigh(dailyLoss(&root.limits), func(d *playedDay) bool { return out[d] }); weight != nil {
		s.E, s.Ruined = weight.Value(), weight.Ruined()
	}
	return out
}

// CheckDispute holds a new dispute against the days of the log. keyID signs it, at is its pointer.
func CheckDispute(w *World, id, keyID string, p *bundle.Dispute, at string) *bundle.Error {
	refuse := func(reason, format string, args ...any) *bundle.Error {
		e := field.Refuse(bundle.InvalidDispute, at, format, args...)
		e.Reason = reason
		return e
	}
	r, ok := w.revisions[id]
	if !ok {
		return refuse(bundle.ReasonUnknown, "the revision is not in the log yet")
	}
	all := lanes{w}
	root := all.laneOf(r)
	for _, c := range p.Chunks {
		d := root.day(c.Date)
		if d == nil || d.Chunk != c.Chunk {
			return refuse(bundle.ReasonUnknown, "no day of %s was played on the chunk %.12s… of %s: "+
				"dispute what GET /shadow-chunks lists", root.id, c.Chunk, c.Date)
		}
		if d.exchange != p.Exchange || d.timeframe != p.Timeframe ||
			!slices.Equal(p.Symbols, r.bundle.Strategy.Symbols) {
			return refuse(bundle.ReasonOtherMarket, "exchange, symbols or timeframe are not those of %s",
				c.Date)
		}
		own := slices.ContainsFunc(w.disputes[d.chunk()], func(o disputed) bool {
			return o.by.KeyID == keyID
		})
		switch {
		case p.Event == bundle.DisputeWithdraw && !own:
			return refuse(bundle.ReasonUnknown, "this key does not dispute %s: only its own word can be "+
				"taken back", c.Date)
		case p.Event == bundle.DisputeWithdraw:
		case d.by.KeyID == keyID:
			return refuse(bundle.ReasonOwnChunk, "this key has stated %s itself: a second fetcher has "+
				"another key", c.Date)
		case own:
			return refuse(bundle.ReasonRepeated, "this key disputes %s already", c.Date)
		case d.attested && !p.Attested():
			return refuse(bundle.ReasonUnfetched, "%s was fetched from the exchange itself, which an "+
				"--endpoint of the operator's cannot dispute", c.Date)
		}
	}
	return nil
}

// SchemaShadowChunks is the schema of what a second fetcher can check.
const SchemaShadowChunks = "shadow-chunks/v1"

// ShadowChunks is shadow-chunks/v1: the candles that days from an exchange were played on.
type ShadowChunks struct {
	Schema  string        `json:"schema"`
	AsOfSeq int64         `json:"as_of_seq"`
	Chunks  []ShadowChunk `json:"chunks"`
}

// ShadowChunk is the candles of one day. Revisions that were played on the same ones share it; the first
// of them is named.
type ShadowChunk struct {
	CandidateRevisionID string   `json:"candidate_revision_id"`
	Exchange            string   `json:"exchange"`
	Symbols             []string `json:"symbols"`
	Timeframe           string   `json:"timeframe"`
	Date                string   `json:"date"`
	Candles             int64    `json:"candles"`
	Chunk               string   `json:"chunk_sha256"`
	Marks               string   `json:"marks"`
	// KeyIDs have stated the day, DisputedBy dispute it.
	KeyIDs     []string `json:"key_ids"`
	DisputedBy []string `json:"disputed_by"`
}

// ListShadowChunks lists the chunks from a day on, "" for all: by revision, then by day.
func ListShadowChunks(w *World, since string) *ShadowChunks {
	out := &ShadowChunks{Schema: SchemaShadowChunks, AsOfSeq: w.seq, Chunks: []ShadowChunk{}}
	at := map[chunkName]int{}
	for _, r := range w.order {
		for i := range r.lane.days {
			d := &r.lane.days[i]
			if d.Date < since || d.source != bundle.SourceExchange {
				continue
			}
			n, known := at[d.chunk()]
			if known {
				out.Chunks[n].KeyIDs = appendNew(out.Chunks[n].KeyIDs, d.by.KeyID)
				continue
			}
			at[d.chunk()] = len(out.Chunks)
			c := ShadowChunk{CandidateRevisionID: r.id, Exchange: d.exchange,
				Symbols: r.bundle.Strategy.Symbols, Timeframe: d.timeframe,
				Date: d.Date, Candles: d.Rows, Chunk: d.Chunk, Marks: d.Marks,
				KeyIDs: []string{d.by.KeyID}, DisputedBy: []string{}}
			for _, o := range w.disputes[d.chunk()] {
				c.DisputedBy = append(c.DisputedBy, o.by.KeyID)
			}
			out.Chunks = append(out.Chunks, c)
		}
	}
	return out
}

// DisputeView is a dispute that counts, as a state shows it.
type DisputeView struct {
	Date      string `json:"date"`
	Principal string `json:"principal"`
	KeyID     string `json:"key_id"`
	Seq       int64  `json:"seq"`
	// First is where the candles differ first, absent where that is not known.
	First *bundle.DifferingCandle `json:"first_difference,omitempty"`
}

// disputes are those of a revision's days, by day.
func (all lanes) disputes(r *revision) []DisputeView {
	var list []DisputeView
	days := all.laneOf(r).lane.days
	for i := range days {
		for _, o := range all.against(&days[i]) {
			list = append(list, DisputeView{days[i].Date, o.by.Principal, o.by.KeyID, o.seq, o.first})
		}
	}
	return list
}
