package deploy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Request is a start, every name looked up and every default filled in.
type Request struct {
	Mode string // backtest, paper or live
	// Pretend reports that live is not about real money: a sandbox, the venue sim, or an endpoint
	// on loopback.
	Pretend bool
	// Strategy is its name, PluginSHA256 the hash of the program that will run.
	Strategy, PluginSHA256 string
	// Params are its parameters with all defaults.
	Params    json.RawMessage
	Symbols   []market.Symbol // at least one; all have the same Quote
	Timeframe market.Timeframe
	Exchange  string

	paramsSHA256, quote string
}

// RealMoney reports whether the policy is asked at all.
func (r *Request) RealMoney() bool {
	return r.Mode != runner.ModeBacktest && r.Mode != runner.ModePaper && !r.Pretend
}

// prepare makes what entries are compared with.
func (r *Request) prepare() error {
	canonical, err := digest.CanonicalJSON(r.Params)
	if err != nil {
		return fmt.Errorf("deployment policy: parameters: %w", err)
	}
	r.paramsSHA256 = digest.SHA256Hex(canonical)
	if len(r.Symbols) > 0 {
		r.quote = r.Symbols[0].Quote()
	}
	return nil
}

// runs reports whether the entry is about this program with these parameters, covers whether its
// lists hold what is to be traded. An empty list holds everything.
func (e *Entry) runs(r *Request) bool {
	return e.PluginSHA256 == r.PluginSHA256 && e.ParamsSHA256 == r.paramsSHA256
}

func (e *Entry) covers(r *Request) bool {
	for _, s := range r.Symbols {
		if !holds(e.Symbols, string(s)) {
			return false
		}
	}
	return holds(e.Timeframes, r.Timeframe.String()) && holds(e.Exchanges, r.Exchange)
}

func holds(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }

// entries are those for a request, active ones first.
func (reg *Registry) entries(r *Request) (fit []*Entry, known bool) {
	var rest []*Entry
	for i := range reg.Entries {
		e := &reg.Entries[i]
		if !e.runs(r) {
			continue
		}
		known = true
		switch {
		case !e.covers(r):
		case e.Status == StatusActive:
			fit = append(fit, e)
		default:
			rest = append(rest, e)
		}
	}
	return append(fit, rest...), known
}

// judge finds the entry that lets a request run. Where several are about it the first that
// does counts, else the refusal of the first.
func (reg *Registry) judge(r *Request, now time.Time) (*Entry, *Refusal) {
	fit, known := reg.entries(r)
	if len(fit) == 0 {
		return nil, reg.about(r, reg.notApproved(r, known))
	}
	var first *Refusal
	for _, e := range fit {
		refused := e.judge(r, now)
		if refused == nil {
			return e, nil
		}
		if first == nil {
			first = refused.with("deployable_id", e.DeployableID).with("candidate_revision_id", e.CandidateRevisionID)
		}
	}
	return fit[0], reg.about(r, first)
}

// about adds what a refusal is about.
func (reg *Registry) about(r *Request, refused *Refusal) *Refusal {
	return refused.with("family", reg.FamilyID).with("registry_version", reg.Version).
		with("plugin_sha256", r.PluginSHA256).with("params_sha256", r.paramsSHA256)
}

func (reg *Registry) notApproved(r *Request, known bool) *Refusal {
	if known {
		return refuse(DeploymentNotApproved, "This program with these parameters is approved, but not for %s %s at %s. "+
			"Start it as approved, or have another revision promoted.", strings.Join(texts(r.Symbols), ", "), r.Timeframe, r.Exchange).with("reason", "outside_lists")
	}
	return refuse(DeploymentNotApproved, "Family %s has no entry for this program of %s with these parameters. "+
		"Pack and promote a candidate of exactly both, or name its family with --strategy-family.", reg.FamilyID, r.Strategy).with("reason", "no_entry")
}

func texts(list []market.Symbol) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// judge returns why an entry that is about the request does not let it run, nil if it does.
func (e *Entry) judge(r *Request, now time.Time) *Refusal {
	switch {
	case e.Status != StatusActive || e.Kill:
		return refuse(DeploymentRevoked, "The deployment of %s is %s%s. See its promotion state at the control plane: a suspended one is "+
			"resumed by two approvals, a revoked one needs another revision.", r.Strategy, e.standing(), e.because()).with("reason", e.standing())
	case e.expired(now):
		return refuse(DeploymentExpired, "The evidence for %s expired at %s. Renew it (the pending experiments at the control plane name "+
			"the commands) and submit it.", r.Strategy, e.ExpiresAt.Format(time.RFC3339)).with("expires_at", market.FromTime(e.ExpiresAt))
	case !e.Allows(r.Mode):
		return refuse(DeploymentModeNotAllowed, "The deployment of %s is approved for %s only, not for %s. Have it promoted to canary or live first.",
			r.Strategy, strings.Join(e.Modes, ", "), r.Mode).with("reason", e.Stage)
	}
	if what := e.Limits.exceeded(r); what != "" {
		return refuse(DeploymentLimitExceeded, "The deployment of %s does not allow this start: %s.", r.Strategy, what).with("reason", what)
	}
	return nil
}

func (e *Entry) expired(now time.Time) bool { return !e.ExpiresAt.IsZero() && !now.Before(e.ExpiresAt) }

// standing is the entry's status in a word.
func (e *Entry) standing() string {
	if e.Kill && e.Status == StatusActive {
		return "killed"
	}
	return e.Status
}

func (e *Entry) because() string {
	if e.Reason == "" {
		return ""
	}
	return " (" + e.Reason + ")"
}

// exceeded returns which limit a start breaks before a single order, "" if none.
func (l *Limits) exceeded(r *Request) string {
	switch {
	case len(l.unknown) > 0:
		return fmt.Sprintf("it has limits that this version cannot keep (%s): use a newer one", strings.Join(l.unknown, ", "))
	case l.Instruments != nil && int64(len(r.Symbols)) > *l.Instruments:
		return fmt.Sprintf("%d symbols are more than max_instruments %d", len(r.Symbols), *l.Instruments)
	case l.Venues != nil && *l.Venues < 1:
		return "max_venues is 0"
	case l.QuoteCurrency != "" && l.QuoteCurrency != r.quote:
		return fmt.Sprintf("its limits are in %s, the symbols are quoted in %s", l.QuoteCurrency, r.quote)
	}
	return ""
}
