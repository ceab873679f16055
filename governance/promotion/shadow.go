package promotion

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/evalue"
	"github.com/assay-run/assay/host/base/field"
)

// Shadow are the fields of shadow_recorded.
type Shadow struct {
	By
	bundle.Shadow
}

// lanes looks at the lanes of a World.
type lanes struct{ w *World }

// lane is what a sealed program did on the days after its seal, in their order and without a
// gap. It belongs to the first revision of a program with its parameters and limits; those
// that were packed of the same again look at the same one.
type lane struct {
	promise  []bundle.PromisedDay
	days     []playedDay
	compared map[string]comparison // by run_id

	// weight is nil where no daily loss is declared; ranks are those of returns and of fills.
	weight         *evalue.Process
	returns, fills *evalue.Ranks

	// seen is when witnesses, by their verifier keys, had seen that it was open; first the first day
	// that counts by that, zero while it goes by the plane's own clock; lacking those asked for that
	// have not.
	seen    map[string]time.Time
	first   time.Time
	lacking []string
}

// begun is when the lane of a revision may begin: with its seal, or, where keys are trusted, with the
// first signature of a lab. by is who signed it, "" for nobody.
type begun struct {
	seq int64
	at  time.Time // zero for not yet
	by  string
}

// before reports whether a lane was open when another one was opened.
func (b begun) before(o begun) bool {
	return !b.at.IsZero() && (o.at.IsZero() || b.seq < o.seq)
}

// playedDay is a day with its ranks.
type playedDay struct {
	bundle.ShadowDay
	by              By
	attested        bool
	seq             int64
	late            bool
	ruled           bool // stated by the rules of RulesWitnessed
	rank, fillsRank float64

	source, exchange, timeframe string
}

// next is the day that comes next.
func (l *lane) next(sealed time.Time) time.Time {
	if n := len(l.days); n > 0 {
		return l.days[n-1].Begin().AddDate(0, 0, 1)
	}
	return bundle.FirstShadowDay(sealed)
}

// laneOf is the revision whose lane a revision looks at: the first in the line of its parents
// that runs the same within the same limits, whose own lane was open before.
func (all lanes) laneOf(r *revision) *revision {
	for {
		p, ok := all.w.revisions[r.parent]
		same := ok && p.seq < r.seq && p.begun.before(r.begun) &&
			p.bundle.DeployableID == r.bundle.DeployableID &&
			p.bundle.Candidate.FamilyID == r.bundle.Candidate.FamilyID &&
			noLooser(&p.limits, &r.limits) && noLooser(&r.limits, &p.limits)
		if !same {
			return r
		}
		r = p
	}
}

// apply takes the days that follow those that are known; others, which two workers may
// have stated at once, count for nothing. What was promised is what the first statement has.
func (all lanes) apply(r *revision, f *Fact, s *Shadow) {
	root := all.laneOf(r)
	l := &root.lane
	all.w.deployable(r.bundle.DeployableID).take(r, f, s.By, answerShadow, s.Challenge)
	if root == r && !r.begun.at.IsZero() {
		if len(l.days) == 0 && l.promise == nil && s.Promise != nil {
			l.promise = s.Promise.Days
		}
		for _, d := range s.Days {
			next := l.next(root.begun.at)
			if !d.Begin().Equal(next) {
				continue
			}
			late := d.Late || f.At.Sub(next.AddDate(0, 0, 1)) > bundle.ShadowLate
			l.add(root, playedDay{ShadowDay: d, by: s.By, attested: s.Attested(), seq: f.Seq, late: late,
				source: s.Source, exchange: s.Exchange, timeframe: s.Timeframe, ruled: witnessed(all.w)})
		}
	}
	for _, c := range s.Compared {
		if l.compared == nil {
			l.compared = map[string]comparison{}
		}
		l.compared[c.RunID] = comparison{c, s.By, f.Seq}
	}
	all.w.markDue(all.w.deployable(r.bundle.DeployableID).revisions)
}

// claimOf is the place of a program among all that its packer has sealed, from 1, whether or not
// they continue the days of another: by when a lab has signed them. What was played unsigned has its
// place among all, because whoever signs it now had all of them to choose from.
func (all lanes) claimOf(root *revision) int64 {
	signed := root.firstSignature()
	if !established(all.w) || signed != nil && signed.seq < all.w.since.established {
		return all.claimBefore(root)
	}
	return all.placeOf(root, root.begun.by)
}

// placeOf is the place of a program among all that a principal has signed before, among all that were
// sealed before for "".
func (all lanes) placeOf(root *revision, by string) int64 {
	at := root.begun.seq
	if signed := root.firstSignature(); signed != nil {
		at = signed.seq
	}
	n := int64(1)
	for _, o := range all.w.order {
		if o == root || o.begun.at.IsZero() {
			continue
		}
		if by == "" {
			if o.begun.seq < at {
				n++
			}
		} else if slices.ContainsFunc(o.signed, func(s signature) bool {
			return s.seq < at && bundle.SamePrincipal(s.Principal, by)
		}) {
			n++
		}
	}
	return n
}

// among are the place of a lane among those of its packer, or of the whole plane, and the others that
// stand in canary or live: nothing else is a discovery, so that nobody lowers a bar by what people have
// not agreed to. What has ended or was stopped keeps its place.
func (all lanes) among(root *revision, of string) (int64, []policy.Claimed) {
	by := root.begun.by
	if of == policy.EBHPlane {
		by = ""
	}
	var others []policy.Claimed
	seen := map[*revision]bool{root: true}
	for _, r := range all.w.order {
		if !r.active() || bundle.Rank(r.Stage) < bundle.Rank(bundle.Canary) {
			continue
		}
		o := all.laneOf(r)
		if seen[o] || o.begun.at.IsZero() || of != policy.EBHPlane && !bundle.SamePrincipal(o.begun.by, by) {
			continue
		}
		seen[o] = true
		others = append(others, policy.Claimed{Place: all.placeOf(o, by), ShadowResult: all.shadowOf(r)})
	}
	return all.placeOf(root, by), others
}

// together has everything judged whose bar may be another one, where a gate counts the discoveries of
// others: that is all whose days have begun.
func (w *World) together() {
	if len(w.due) == 0 || !w.policy.CountsDiscoveries() {
		return
	}
	for _, r := range w.seals.begun {
		w.markDue([]*revision{r})
	}
}

// firstSignature is the first one of a lab, nil for none.
func (r *revision) firstSignature() *signature {
	if len(r.signed) == 0 {
		return nil
	}
	return &r.signed[0]
}

// claimBefore is the place of a program by earlier rules: among those that its packer has sealed and
// signed, among all where it is unsigned.
func (all lanes) claimBefore(root *revision) int64 {
	n := int64(1)
	for _, o := range all.w.order[:root.index] {
		if all.laneOf(o) != o {
			continue
		}
		if all.w.trust == nil || len(root.signed) == 0 ||
			len(o.signed) > 0 && bundle.SamePrincipal(o.signed[0].Principal, root.signed[0].Principal) {
			n++
		}
	}
	return n
}

// dailyLoss is the declared largest daily loss as a share of the declared capital, at most 1; 0
// where none is declared.
func dailyLoss(l *bundle.Limits) float64 {
	loss, err := strconv.ParseFloat(l.MaxDailyLoss, 64)
	capital, err2 := strconv.ParseFloat(l.MaxCapital, 64)
	if err != nil || err2 != nil || !(loss > 0) || !(capital > 0) {
		return 0
	}
	return min(loss/capital, 1)
}

// The streams of random numbers that break ties between days: they follow from what is in the
// log.
const (
	streamReturns = "shadow-drift/v1"
	streamFills   = "shadow-fills/v1"
)

// shadowOf is what the days after the seal have come to.
func (all lanes) shadowOf(r *revision) *policy.ShadowResult {
	root := all.laneOf(r)
	l := all.witnessedFor(root, r)
	next := l.next(root.begun.at)
	s := &policy.ShadowResult{
		Revision: root.id, First: bundle.FormatDay(bundle.FirstShadowDay(root.begun.at)),
		Next: bundle.FormatDay(next), Due: next.AddDate(0, 0, 1).Add(bundle.ShadowLate),
		Bound: dailyLoss(&root.limits), E: 1, Attested: true, Trusted: true, FirstSeq: -1, LastSeq: -1,
		Days: int64(len(l.days)), Drift: l.drift(r.driftFrom),
		Claims: policy.Claims{
			Among: func(of string) (int64, []policy.Claimed) { return all.among(root, of) },
		},
	}
	if s.Unsigned = root.begun.at.IsZero(); s.Unsigned {
		s.Due = time.Time{}
	}
	if len(l.days) == 0 {
		s.Claim = 1
		all.timing(l, s, nil)
		return s
	}
	s.Claim = all.claimOf(root)
	s.FirstSeq, s.LastSeq = l.days[0].seq, l.days[len(l.days)-1].seq
	s.Last = l.days[len(l.days)-1].Date
	trusted := map[string]bool{}
	for _, d := range l.days {
		s.Trades += d.Trades
		s.Attested = s.Attested && d.attested
		if d.late {
			s.LateDays++
		}
		if _, known := trusted[d.by.KeyID]; !known {
			trusted[d.by.KeyID] = all.w.signatureCounts(d.by, bundle.TrustShadow)
		}
		s.Trusted = s.Trusted && trusted[d.by.KeyID]
	}
	if l.weight != nil {
		s.E, s.Ruined = l.weight.Value(), l.weight.Ruined()
	}
	all.timing(l, s, all.drop(root, r, l, s))
	return s
}

// add weighs the next day.
func (l *lane) add(root *revision, d playedDay) {
	if len(l.days) == 0 {
		l.begin(dailyLoss(&root.limits))
	}
	if l.weight != nil {
		l.weight.Add(d.Return, d.late || !l.counts(&d))
	}
	d.rank = l.returns.Add(d.Return, evalue.Uniform(streamReturns, root.id, d.Date, d.Chunk))
	d.fillsRank = l.fills.Add(float64(d.Fills), evalue.Uniform(streamFills, root.id, d.Date, d.Chunk))
	l.days = append(l.days, d)
}

// begin takes the promise as it is now: it is settled when the first day comes.
func (l *lane) begin(bound float64) {
	var returns, fills []float64
	for _, d := range l.promise {
		returns, fills = append(returns, d.Return), append(fills, float64(d.Fills))
	}
	l.returns, l.fills = evalue.NewRanks(returns), evalue.NewRanks(fills)
	if weight, err := evalue.NewProcess(bound, returns); err == nil {
		l.weight = weight
	}
}

// drift works out how much the days differ from those promised, from the day on that people
// have resumed at.
func (l *lane) drift(from int) policy.DriftResult {
	out := policy.DriftResult{Promised: int64(len(l.promise))}
	returns, fills := evalue.NewDrift(), evalue.NewFillsDrift()
	for _, d := range l.days[min(from, len(l.days)):] {
		returns.Add(d.rank)
		fills.Add(d.fillsRank)
		if v := returns.Value(); v > out.Peak {
			out.Peak, out.PeakDay = v, d.Date
		}
	}
	out.Returns, out.Fills = returns.Value(), fills.Value()
	return out
}

// drifted stops an active revision whose days are worse than those that were promised. When
// people resume it, they have seen the numbers, and the test begins anew.
func (rs rules) drifted(r *revision) (StageDecision, bool) {
	onPath := r.active() && bundle.Rank(r.Stage) >= bundle.Rank(bundle.Paper)
	if shadows := (lanes{rs.w}); !onPath || !shadows.shadowOf(r).Drifted() {
		return StageDecision{}, false
	}
	return to(r.Stage, Suspended, CauseDrifted), true
}

// driftReason is the stop in words, with its numbers.
func driftReason(s *policy.ShadowResult) string {
	return fmt.Sprintf("its days are worse than those of its locked test: D is %.4g on %s, >= %d; "+
		"%d days, E %.4g", s.Drift.Peak, s.Drift.PeakDay, evalue.DriftBar, s.Days, s.E)
}

// CheckShadow holds a new statement against what the log expects: days from the next one on, of
// the revision that is played, all over by now. at is the pointer of the statement.
func CheckShadow(w *World, id string, s *bundle.Shadow, at string, now time.Time) *bundle.Error {
	refuse := func(reason, format string, args ...any) *bundle.Error {
		e := field.Refuse(bundle.InvalidShadow, at, format, args...)
		e.Reason = reason
		return e
	}
	r, ok := w.revisions[id]
	if !ok {
		return refuse(bundle.ReasonUnknown, "the revision is not in the log yet: submit its bundle first")
	}
	b := r.bundle.Strategy
	if !slices.Equal(s.Symbols, b.Symbols) || !slices.Contains(b.Timeframes, s.Timeframe) ||
		len(b.Exchanges) > 0 && !slices.Contains(b.Exchanges, s.Exchange) {
		return refuse(bundle.ReasonOtherMarket, "exchange, symbols or timeframe are not those of the bundle")
	}
	for _, c := range s.Compared {
		if !slices.ContainsFunc(r.runs, func(run policy.Run) bool {
			return run.RunID == c.RunID && run.Role.Venue()
		}) {
			return refuse(bundle.ReasonUnknown, "%s is no paper or live run of the bundle", c.RunID)
		}
	}
	if len(s.Days) == 0 {
		return nil
	}
	root := lanes{w}.laneOf(r)
	next := root.lane.next(root.begun.at)
	switch {
	case root.begun.at.IsZero():
		return refuse(bundle.ReasonUnsigned,
			"no lab has signed the bundle: its days begin with the signature (lab candidate pack --sign-key)")
	case root != r:
		return refuse(bundle.ReasonPlayed, "its days are those of %s, which runs the same", root.id)
	case !s.Days[0].Begin().Equal(next):
		return refuse(bundle.ReasonOrder, "the next day is %s, not %s: days come in order, none twice",
			bundle.FormatDay(next), s.Days[0].Date)
	case s.Days[len(s.Days)-1].Begin().AddDate(0, 0, 1).After(now):
		return refuse(bundle.ReasonAhead, "the last day is not over yet")
	case s.Promise != nil && len(root.lane.days) > 0:
		return refuse(bundle.ReasonOrder, "what was promised is in the first statement, and does not change")
	}
	for i := range s.Days {
		if s.Source == bundle.SourceExchange && !s.Fetched(&s.Days[i]) {
			return refuse(bundle.ReasonUnfetched,
				"no fetch has brought the candles of %s by its fetched_at; "+
					"what came from files has the source import", s.Days[i].Date)
		}
	}
	return nil
}

// SchemaShadowWork is the schema of what is to be played.
const SchemaShadowWork = "shadow-work/v1"

// ShadowWork is shadow-work/v1: what a worker of shadows has to play.
type ShadowWork struct {
	Schema    string          `json:"schema"`
	AsOfSeq   int64           `json:"as_of_seq"`
	Revisions []ShadowRequest `json:"revisions"`
}

// ShadowRequest is one sealed revision with what is known of its days, or whose runs are to be
// compared.
type ShadowRequest struct {
	CandidateRevisionID string `json:"candidate_revision_id"`
	// PlayedRevisionID is the revision whose days count: another one of which this is a copy.
	PlayedRevisionID string `json:"played_revision_id"`
	SealedAt         string `json:"sealed_at"`
	FirstDay         string `json:"first_day"`
	NextDay          string `json:"next_day"`
	Days             int64  `json:"days"`
	// HistorySHA256 is the digest of the days that are known: a play must come to the same.
	HistorySHA256 string `json:"history_sha256"`
	// Uncompared are the paper and live runs that no shadow was held against.
	Uncompared []string `json:"uncompared_runs"`
	// ChallengeOpen reports that a replay has answered the challenge of the seal, and no shadow.
	ChallengeOpen bool `json:"challenge_open"`
}

// ListShadowWork lists every revision that has not ended and whose days have begun.
func ListShadowWork(w *World) (*ShadowWork, error) {
	out := &ShadowWork{Schema: SchemaShadowWork, AsOfSeq: w.seq, Revisions: []ShadowRequest{}}
	goesOn := map[*revision]bool{}
	for _, r := range w.order {
		if !r.Status.Terminal() {
			goesOn[lanes{w}.laneOf(r)] = true
		}
	}
	for _, r := range w.order {
		root := lanes{w}.laneOf(r)
		if root.begun.at.IsZero() || r.Status.Terminal() && (root != r || !goesOn[r]) {
			continue
		}
		l := &root.lane
		days := make([]bundle.ShadowDay, len(l.days))
		for i := range l.days {
			days[i] = l.days[i].ShadowDay
		}
		sum, err := bundle.ShadowHistory(days)
		if err != nil {
			return nil, err
		}
		q := ShadowRequest{
			CandidateRevisionID: r.id, PlayedRevisionID: root.id, SealedAt: stamp(root.sealedAt),
			FirstDay: bundle.FormatDay(bundle.FirstShadowDay(root.begun.at)),
			NextDay:  bundle.FormatDay(l.next(root.begun.at)), Days: int64(len(days)), HistorySHA256: sum,
			Uncompared: []string{}, ChallengeOpen: challenges{w}.unanswered(r),
		}
		for _, run := range r.runs {
			c, done := l.compared[run.RunID]
			if run.Role.Venue() && (!done || disinterested(w) && !(lanes{w}).believes(r, c.by)) {
				q.Uncompared = append(q.Uncompared, run.RunID)
			}
		}
		out.Revisions = append(out.Revisions, q)
	}
	return out, nil
}

// ShadowView is what state and plan show of the days after the seal.
type ShadowView struct {
	// Verdict is pending, pass or fail: pass with 60 days, 10 trades and E of the bar at least.
	Verdict          policy.Verdict `json:"verdict"`
	Reason           string         `json:"reason"`
	PlayedRevisionID string         `json:"played_revision_id"`
	FirstDay         string         `json:"first_day"`
	LastDay          *string        `json:"last_day"`
	// MissingDay is a day that is due for more than 48 h, null if none is.
	MissingDay *string `json:"missing_day"`
	Days       int64   `json:"days"`
	LateDays   int64   `json:"late_days"`
	Trades     int64   `json:"trades"`
	// Attested is false where candles came from files or from an endpoint of the operator's: then
	// no gate of live counts them.
	Attested bool `json:"attested"`
	// MaxDailyLoss is the declared bound as a share of the capital, null if there is none.
	MaxDailyLoss *float64 `json:"max_daily_loss"`
	// E is the evidence that the mean daily return is above 0, EBar what it takes for live:
	// 20 times Claim, the number of the packer's sealed program, or what online e-BH takes with so many
	// Discoveries, itself among them; absent where the policy does not ask for that.
	E           float64 `json:"e"`
	EBar        float64 `json:"e_bar"`
	Claim       int64   `json:"claim"`
	Discoveries int64   `json:"discoveries,omitempty"`
	// D is the drift of the daily returns from those promised; from DBar on it was stopped.
	D            float64 `json:"d"`
	DBar         float64 `json:"d_bar"`
	PromisedDays int64   `json:"promised_days"`
	// FillsD is the drift of the daily number of fills; FillsWarn reports that it has reached 40.
	FillsD    float64 `json:"d_fills"`
	FillsWarn bool    `json:"d_fills_warns"`
	FirstSeq  *int64  `json:"first_seq"`
	LastSeq   *int64  `json:"last_seq"`
	// InDispute are further days, which count only where they lose; absent where nobody disputes any.
	InDispute int64         `json:"days_in_dispute,omitempty"`
	Disputes  []DisputeView `json:"disputes,omitempty"`
	// Compared are finished paper and live runs beside their shadow, day by day; absent where there are none.
	Compared []ComparedView `json:"compared,omitempty"`
}

// shadow is the view of a revision.
func (v views) shadow(r *revision) *ShadowView {
	s := lanes{v.w}.shadowOf(r)
	bar := policy.ShadowBar(v.w.policy.ShadowGate(), bundle.Live, s, v.at)
	gate := policy.Gate{Kind: policy.Shadow, Days: 60, Trades: 10, Evidence: bar.E}
	result := policy.Judge(&gate, bundle.Paper, &policy.Evidence{Shadow: s}, v.at)
	out := &ShadowView{
		Verdict: result.Verdict, Reason: result.Reason, PlayedRevisionID: s.Revision, FirstDay: s.First,
		LastDay: orNull(s.Last), Days: s.Days, LateDays: s.LateDays, Trades: s.Trades,
		Attested: s.Attested && s.FirstSeq >= 0, E: s.E, EBar: bar.E, Claim: s.Claim,
		Discoveries: bar.Discoveries, D: s.Drift.Returns, DBar: evalue.DriftBar,
		PromisedDays: s.Drift.Promised, FillsD: s.Drift.Fills, FillsWarn: s.Drift.Fills >= evalue.FillsBar,
	}
	if out.Verdict == policy.Expired {
		out.Verdict = policy.Pending
	}
	if out.Verdict == policy.Pending {
		out.Reason = policy.NotShown + strings.TrimPrefix(out.Reason, policy.NotShown)
	}
	if bar.Place > 0 {
		out.Claim = bar.Place
	}
	out.Compared = lanes{v.w}.compared(r)
	if s.Unsigned { // were it signed now
		out.FirstDay = bundle.FormatDay(bundle.FirstShadowDay(v.at))
	}
	if s.Drifted() {
		out.Verdict, out.Reason = policy.Fail, driftReason(s)
	}
	if s.Bound > 0 {
		out.MaxDailyLoss = &s.Bound
	}
	if s.Missing(v.at) {
		out.MissingDay = &s.Next
	}
	if s.InDispute > 0 {
		out.InDispute, out.Disputes = s.InDispute, lanes{v.w}.disputes(r)
	}
	if s.FirstSeq >= 0 {
		out.FirstSeq, out.LastSeq = &s.FirstSeq, &s.LastSeq
		if !s.Attested {
			out.Reason += "; unattested: not all its candles were fetched from the exchange itself"
		}
	}
	return out
}
