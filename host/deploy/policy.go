// Package deploy is the host's deployment policy: it decides whether real money may be
// traded with a strategy, by the deployable registry that a control plane has signed, and
// watches that decision while the run is on.
//
// The way of a start: once the API's own checks have passed, and before anything of a venue or
// a connector is touched, whoever starts a run asks Policy.Admit. It fetches the registry of
// the strategy's family, reads it strictly, verifies it with the pinned key, holds it against
// the clock and against the highest version ever seen (Memory, on disk), and looks for an
// entry of exactly this program with exactly these parameters. What comes back is an
// Admission with the entry's Limits, or a *Refusal with one code. Watch asks again every
// minute of the run.
//
// Nothing outside the signed payload counts. How registry bytes come in is a Source; [Plane] is
// the one over HTTP, and the one HTTP client of a control plane. How an incident goes out is a
// Reporter, which needs the control plane's statements and is therefore made by the program.
//
// Clocks are handed in.
package deploy

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Source fetches the registry of a family as the control plane answers it, unread, with the proof
// that its log continues the tree of the first from entries. An error means that there was no
// answer to read; ErrUnknownFamily that the plane has no such family.
type Source interface {
	Registry(ctx context.Context, family string, from int64) ([]byte, error)
}

// ErrUnknownFamily is a Source's error where the control plane has no such family.
var ErrUnknownFamily = errors.New("the control plane knows no such family")

// askTimeout bounds one question: a start has ten seconds in all.
const askTimeout = 4 * time.Second

// Options are what a Policy is made of.
type Options struct {
	Mode Mode
	// Source is where registries come from; nil where no control plane is configured.
	Source Source
	// Key is the pinned key of the control plane, P-256.
	Key *ecdsa.PublicKey
	// StateDir is the service's; the highest versions seen are kept in its folder control.
	StateDir string
	Families Families
	// Witnesses are those of whom Need must have cosigned the checkpoint of the control plane's log.
	Witnesses translog.Quorum
	// Reporter sends incidents; nil where no signing key is configured.
	Reporter Reporter
	// Now is the clock that expiry is judged by; nil is time.Now.
	Now    func() time.Time
	Logger hclog.Logger
}

// Policy decides about starts with real money. Its methods may be called from any goroutine.
type Policy struct {
	opts   Options
	mode   Mode
	memory *Memory

	mu   sync.Mutex
	last Notice // of the newest question; zero if it was answered well, or there was none
}

// New makes a policy. To enforce one takes a Source and a Key.
func New(o Options) (*Policy, error) {
	p := &Policy{opts: o, mode: o.Mode.Effective(o.Source != nil),
		memory: NewMemory(filepath.Join(o.StateDir, "control"))}
	if p.opts.Now == nil {
		p.opts.Now = time.Now
	}
	if p.opts.Logger == nil {
		p.opts.Logger = hclog.NewNullLogger()
	}
	if o.Source != nil && o.Key == nil {
		return nil, errors.New("deployment policy: a control plane needs its pinned key")
	}
	if o.Witnesses.Need > 0 && o.Source == nil {
		return nil, errors.New("deployment policy: without a control plane there is no log to be witnessed")
	}
	if p.mode == Enforce && o.Source == nil {
		return nil, errors.New(
			"deployment policy: nothing can be enforced without a control plane and its key")
	}
	return p, nil
}

// Mode returns what the policy does: off, warn or enforce.
func (p *Policy) Mode() Mode { return p.mode }

// Seen is the last checkpoint of the control plane's log that a question has accepted, nil before.
func (p *Policy) Seen() (*translog.Kept, error) { return p.memory.Seen() }

// Admission is a yes. Its zero value is the yes for what is not about real money.
type Admission struct {
	// Ungated is why real money is traded although no registry lets it, for people; "" where
	// one does, and where the money is not real.
	Ungated string
	// Limits are the entry's. What holds is the smaller of these and the server's, see
	// Limits.Tighten. They are empty when Ungated.
	Limits Limits
	// The entry that lets the run be; empty where none is.
	Family, DeployableID, CandidateRevisionID, Stage, Owner string
	RegistryVersion                                         int64
	// Notices are for the run's warnings: that the registry is a cached one.
	Notices []Notice

	request Request
	watched bool
}

// Gated reports whether an entry of an enforced registry stands behind the run.
func (a *Admission) Gated() bool { return a.watched && a.Ungated == "" }

// Admit reports whether a start may happen. The error is a *Refusal; another one means that the
// host itself failed, and the start may not happen either.
func (p *Policy) Admit(ctx context.Context, r Request) (Admission, error) {
	if !r.RealMoney() {
		return Admission{}, nil
	}
	if p.mode == Off || p.opts.Source == nil {
		return Admission{Ungated: p.ungated("no deployable registry was asked")}, nil
	}
	a, err := p.admit(ctx, r)
	switch {
	case err == nil && p.mode == Enforce:
		p.opts.Logger.Info("deployment admitted", "family", a.Family, "registry_version", a.RegistryVersion,
			"deployable_id", a.DeployableID, "stage", a.Stage)
	case p.mode == Enforce:
		p.opts.Logger.Warn("deployment refused", "strategy", r.Strategy, "family",
			p.opts.Families.Of(r.Strategy), "reason", err)
		return Admission{}, err
	case err == nil:
		a.Ungated, a.Limits = p.ungated("the registry would let this start"), Limits{}
	default:
		a.Ungated = p.ungated("the registry would refuse this start: " + reasonOf(err))
	}
	return a, nil
}

func (p *Policy) ungated(why string) string {
	return fmt.Sprintf("Ungated: real money is traded, the deployment policy is %s; %s.", p.mode, why)
}

// reasonOf returns the code of a refusal, else the text of an error, without a point at the end.
func reasonOf(err error) string {
	var r *Refusal
	if errors.As(err, &r) {
		return string(r.Code)
	}
	return err.Error()
}

func (p *Policy) admit(ctx context.Context, r Request) (Admission, error) {
	a := Admission{Family: p.opts.Families.Of(r.Strategy), watched: true}
	if err := r.prepare(); err != nil {
		return a, err
	}
	a.request = r
	got, err := p.ask(ctx, a.Family)
	if err != nil {
		return a, err
	}
	if got.notKept != nil {
		return a, got.notKept
	}
	if got.away != nil {
		a.Notices = append(a.Notices, notice(got.away))
	}
	a.RegistryVersion = got.registry.Version
	e, refused := got.registry.judge(&r, p.opts.Now())
	if e != nil { // also of a refused one, for whoever only warns
		a.DeployableID, a.CandidateRevisionID, a.Stage, a.Owner = e.DeployableID, e.CandidateRevisionID,
			e.Stage, e.Owner
	}
	if refused != nil {
		return a, refused
	}
	a.Limits = e.Limits
	return a, nil
}

// answer is a registry that may be acted upon.
type answer struct {
	registry *Registry
	// away is why it is the cached one: the plane does not answer.
	away *Refusal
	// notKept is why its version could not be written down.
	notKept error
}

// ask returns the newest registry of a family that is signed, valid and not older than one seen
// before. The error is a *Refusal, or that of the context.
func (p *Policy) ask(ctx context.Context, family string) (answer, error) {
	a, err := p.question(ctx, family)
	if ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	var refused *Refusal
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case errors.As(err, &refused) && refused.Code != DeploymentNotApproved:
		p.last = notice(refused)
	case a.away != nil:
		p.last = notice(a.away)
	case a.notKept != nil:
		p.last = Notice{RegistryNotKept, a.notKept.Error()}
	default:
		p.last = Notice{}
	}
	return a, err
}

// maxMoves is how often a question is asked again because others have moved the memory on meanwhile.
const maxMoves = 5

func (p *Policy) question(ctx context.Context, family string) (answer, error) {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for range maxMoves {
		a, err := p.questionOnce(asking, family)
		if !errors.Is(err, errMoved) {
			return a, err
		}
	}
	return answer{}, p.notProven(family, unproven(reasonForked,
		"its consistency proofs begin at another size than was asked for"))
}

func (p *Policy) questionOnce(ctx context.Context, family string) (answer, error) {
	seen, err := p.memory.Seen()
	var damaged *damagedError
	if errors.As(err, &damaged) {
		return answer{}, p.damaged(family, damaged)
	}
	from := int64(0)
	if seen != nil {
		from = seen.Size
	}
	body, err := p.opts.Source.Registry(ctx, family, from)
	if err != nil {
		return p.cached(family, err)
	}
	r, refused := Open(body, p.opts.Key, family)
	if refused != nil {
		return answer{}, refused
	}
	if !r.ValidAt(p.opts.Now()) {
		return answer{},
			refuse(RegistryExpired,
				"The registry of %s expired at %s: the control plane has not issued another one, or this "+
					"machine's clock is wrong.", family, r.ExpiresAt.Format(time.RFC3339)).
				with("family", family).with("registry_version", r.Version).with("expires_at",
				market.FromTime(r.ExpiresAt))
	}
	unkept, err := p.followLog(r, seen)
	if err != nil {
		return answer{}, err
	}
	return p.remember(family, r, unkept)
}

// followLog checks that the registry is in the log that was seen before, and keeps its checkpoint. The
// first error reports that it could not be kept.
func (p *Policy) followLog(r *Registry, seen *translog.Kept) (unkept, err error) {
	h, err := r.prove(p.opts.Witnesses)
	switch {
	case err != nil:
		return nil, p.notProven(r.FamilyID, err)
	case h == nil && seen != nil:
		return nil, p.notProven(r.FamilyID, unproven(reasonNoProof,
			"the registry names no log, and earlier ones did"))
	case h == nil && p.opts.Witnesses.Need > 0:
		return nil, p.notProven(r.FamilyID, unproven(reasonUnwitnessed,
			"the control plane is of an earlier version, whose log no witness can follow"))
	case h == nil:
		return nil, nil
	}
	if err := p.opts.Witnesses.Check(h.note, h.key); err != nil {
		return nil, p.notProven(r.FamilyID, unproven(reasonUnwitnessed, "%v", err))
	}
	pinned, err := p.memory.follow(h)
	var damaged *damagedError
	var fault *proofError
	var lost *keepError
	switch {
	case errors.As(err, &damaged):
		return nil, p.damaged(r.FamilyID, damaged)
	case errors.As(err, &fault):
		return nil, p.notProven(r.FamilyID, fault)
	case errors.As(err, &lost):
		return lost, nil
	case err != nil:
		return nil, err
	}
	if pinned {
		p.opts.Logger.Warn("log of the control plane pinned at first contact: compare it with the "+
			"control plane's /trust/log.vkey and /checkpoint",
			"log_origin", h.Origin, "log_key", h.key.VKey(), "log_size", h.Size,
			"root_sha256", translog.Hex(h.Root))
	}
	return nil, nil
}

// notProven refuses a registry that is not shown to be in the log that was seen before.
func (p *Policy) notProven(family string, err error) *Refusal {
	reason := ""
	var fault *proofError
	if errors.As(err, &fault) {
		reason = fault.reason
	}
	return refuse(RegistryRollback, "The registry of %s is not shown to be in the log of the control "+
		"plane: %v. Its log was rewritten, restored from a back-up, or something else answers: settle "+
		"which before anything trades, with governance verify --log --since and the checkpoint that this "+
		"host has kept.", family, err).with("family", family).with("reason", reason)
}

// remember accepts a registry that is not older than one that was seen before.
func (p *Policy) remember(family string, r *Registry, unkept error) (answer, error) {
	var older *rollbackError
	var damaged *damagedError
	err := p.memory.See(r)
	switch {
	case errors.As(err, &older):
		return answer{},
			refuse(RegistryRollback,
				"The registry of %s is version %d, but version %d was seen before. An old one is being "+
					"shown, "+
					"or the control plane was restored from a backup: settle which before anything trades.",
				family, r.Version, older.seen).
				with("family", family).with("registry_version", r.Version).with("highest_version", older.seen)
	case errors.As(err, &damaged):
		return answer{}, p.damaged(family, damaged)
	}
	return answer{registry: r, notKept: cmp.Or(err, unkept)}, nil
}

func (p *Policy) damaged(family string, err *damagedError) *Refusal {
	return refuse(RegistryRollback,
		"Which registry of %s was seen before cannot be told: %v. Restore the file in the state directory "+
			"from a "+
			"backup, or remove it if you are sure of the control plane.", family, err).with("family",
		family).with("reason", err.reason)
}

// cached returns what is left when the plane does not answer: the newest registry that was seen,
// until it expires.
func (p *Policy) cached(family string, cause error) (answer, error) {
	sealed, err := p.memory.Last(family)
	var damaged *damagedError
	if errors.As(err, &damaged) {
		return answer{}, p.damaged(family, damaged)
	}
	if sealed == nil && errors.Is(cause, ErrUnknownFamily) {
		return answer{},
			refuse(DeploymentNotApproved,
				"The control plane knows no family %s. Pack and submit a candidate of it, or name the "+
					"strategy's family with --strategy-family.", family).with("family", family).with("reason",
				"family_not_found")
	}
	away := func(rest string) *Refusal {
		r := refuse(RegistryUnavailable, "The control plane does not answer (%v)%s", cause,
			rest).with("family", family).with("reason", cause.Error())
		r.Cause = cause
		return r
	}
	if sealed == nil {
		return answer{},
			away(", and no registry of this family was seen before. Start it, or correct --control-url.")
	}
	// It is verified again: the file may have been changed, the pinned key may be another one.
	r, refused := Open(sealed, p.opts.Key, family)
	if refused != nil {
		return answer{}, away(", and the cached registry does not stand: " + refused.Message)
	}
	until := r.ExpiresAt.Format(time.RFC3339)
	if !r.ValidAt(p.opts.Now()) {
		return answer{},
			away(fmt.Sprintf(", and the cached registry expired at %s. Start it, or correct --control-url.",
				until)).
				with("expires_at", market.FromTime(r.ExpiresAt)).with("registry_version", r.Version)
	}
	return answer{registry: r,
		away: away(fmt.Sprintf(": its registry of version %d holds until %s.", r.Version, until))}, nil
}

// The outcomes of a check of health.
const (
	healthSkip = "skip"
	healthPass = "pass"
	healthWarn = "warn"
)

// Health returns the check named governance: pass, warn or skip, and a message. Ungated is that of
// the current run, see Admission. It sends no request.
func (p *Policy) Health(ungated string) (status, message string) {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	switch {
	case ungated != "":
		return healthWarn, ungated
	case p.opts.Mode == Off, p.opts.Mode == Warn:
		return healthWarn, "real money would be traded ungated: the deployment policy is " + string(p.mode)
	case p.mode != Enforce:
		return healthSkip, "not configured"
	case last.Code != "":
		return healthWarn, string(last.Code) + ": " + last.Message
	}
	return healthPass, "enforced" + p.seenLog()
}

// seenLog is how far the log of the control plane was followed, for people.
func (p *Policy) seenLog() string {
	k, err := p.memory.Seen()
	if err != nil || k == nil {
		return ""
	}
	text := fmt.Sprintf("; log %s followed up to %d entries, root %.16s", k.Origin, k.Size, k.Root)
	if need := p.opts.Witnesses.Need; need > 0 {
		text += fmt.Sprintf(", cosigned by %d of %d witnesses", need, len(p.opts.Witnesses.Keys))
	}
	return text
}

// Mode is the option --deployment-policy.
type Mode string

// The modes. Auto enforces where a control plane is configured and warns elsewhere.
const (
	Auto    Mode = "auto"
	Off     Mode = "off"
	Warn    Mode = "warn"
	Enforce Mode = "enforce"
)

// ParseMode reads the option.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Auto, Off, Warn, Enforce:
		return m, nil
	}
	return "", fmt.Errorf("%q is not a policy: write auto, off, warn or enforce", s)
}

// Effective returns what a mode comes to: off, warn or enforce.
func (m Mode) Effective(configured bool) Mode {
	switch {
	case m == Off || m == Warn || m == Enforce:
		return m
	case configured:
		return Enforce
	}
	return Warn
}

var (
	strategyName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	familyID     = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)
)

// Families are the families of strategies that are not called like them, by strategy name.
type Families map[string]string

// ParseFamilies reads the values of --strategy-family, each name=family.
func ParseFamilies(list []string) (Families, error) {
	out := Families{}
	for _, s := range list {
		name, family, _ := strings.Cut(s, "=")
		switch _, twice := out[name]; {
		case !strategyName.MatchString(name) || !familyID.MatchString(family):
			return nil, fmt.Errorf(
				"%q is not name=family: write the name of a strategy and the id of its family, such as "+
					"sma_cross=sma-cross", s)
		case twice:
			return nil, fmt.Errorf("strategy %s is given two families", name)
		}
		out[name] = family
	}
	return out, nil
}

// Of returns the family of a strategy: the one given, else its name with - for _.
func (f Families) Of(strategy string) string {
	if family, ok := f[strategy]; ok {
		return family
	}
	return strings.ReplaceAll(strategy, "_", "-")
}

// Incident is a critical incident to be opened at the control plane: it suspends the revision
// and everything that would run the same, and kills what runs elsewhere.
type Incident struct {
	ID                         string
	CandidateRevisionID, RunID string
	Reason                     string
	At                         time.Time
}

// Reporter signs an incident and posts it. An error that is ErrRefused is final; any other may
// pass by itself.
type Reporter interface {
	Report(ctx context.Context, i Incident) error
}

// ErrRefused is a Reporter's error where the control plane refuses.
var ErrRefused = errors.New("the control plane refused the statement")

const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// RiskKill reports to the control plane that a run ended by RISK_KILL. It tries until the plane has
// answered or ctx ends, so call it beside the end of the run. It does nothing without a
// Reporter and for a run that no entry is known of.
func (p *Policy) RiskKill(ctx context.Context, a *Admission, runID, reason string) error {
	if p.opts.Reporter == nil || a.CandidateRevisionID == "" {
		return nil
	}
	i := Incident{
		ID: "risk-kill." + runID, CandidateRevisionID: a.CandidateRevisionID, RunID: runID, Reason: reason,
		At: p.opts.Now(),
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := p.opts.Reporter.Report(ctx, i)
		switch {
		case err == nil:
			p.opts.Logger.Warn("critical incident opened", "incident_id", i.ID, "candidate_revision_id",
				i.CandidateRevisionID)
			return nil
		case errors.Is(err, ErrRefused):
			return fmt.Errorf("incident %s: %w", i.ID, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("incident %s was not posted: %w", i.ID, errors.Join(err, context.Cause(ctx)))
		}
	}
}
