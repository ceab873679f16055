package deploy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
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
			first = refused.with("deployable_id", e.DeployableID).with("candidate_revision_id",
				e.CandidateRevisionID)
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
		return refuse(DeploymentNotApproved,
			"This program with these parameters is approved, but not for %s %s at %s. "+
				"Start it as approved, or have another revision promoted.",
			strings.Join(texts(r.Symbols), ", "), r.Timeframe, r.Exchange).with("reason", "outside_lists")
	}
	return refuse(DeploymentNotApproved,
		"Family %s has no entry for this program of %s with these parameters. "+
			"Pack and promote a candidate of exactly both, or name its family with --strategy-family.",
		reg.FamilyID, r.Strategy).with("reason", "no_entry")
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
		return refuse(DeploymentRevoked,
			"The deployment of %s is %s%s. See its promotion state at the control plane: a suspended one is "+
				"resumed by two approvals, a revoked one needs another revision.", r.Strategy, e.standing(),
			e.because()).with("reason", e.standing())
	case e.expired(now):
		return refuse(DeploymentExpired,
			"The evidence for %s expired at %s. Renew it (the pending experiments at the control plane name "+
				"the commands) and submit it.", r.Strategy,
			e.ExpiresAt.Format(time.RFC3339)).with("expires_at", market.FromTime(e.ExpiresAt))
	case !e.Allows(r.Mode):
		return refuse(DeploymentModeNotAllowed,
			"The deployment of %s is approved for %s only, not for %s. Have it promoted to canary or live "+
				"first.",
			r.Strategy, strings.Join(e.Modes, ", "), r.Mode).with("reason", e.Stage)
	}
	if what := e.Limits.exceeded(r); what != "" {
		return refuse(DeploymentLimitExceeded, "The deployment of %s does not allow this start: %s.",
			r.Strategy, what).with("reason", what)
	}
	return nil
}

func (e *Entry) expired(now time.Time) bool { return !e.ExpiresAt.IsZero() && !now.Before(e.ExpiresAt) }

// standing returns the entry's status in a word.
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
		return fmt.Sprintf("it has limits that this version cannot keep (%s): use a newer one",
			strings.Join(l.unknown, ", "))
	case l.Instruments != nil && int64(len(r.Symbols)) > *l.Instruments:
		return fmt.Sprintf("%d symbols are more than max_instruments %d", len(r.Symbols), *l.Instruments)
	case l.Venues != nil && *l.Venues < 1:
		return "max_venues is 0"
	case l.QuoteCurrency != "" && l.QuoteCurrency != r.quote:
		return fmt.Sprintf("its limits are in %s, the symbols are quoted in %s", l.QuoteCurrency, r.quote)
	}
	return ""
}

// Code is why real money may not be traded. The API answers 409 with it.
type Code string

// The codes, in the order in which they are looked for. RegistryUnavailable takes the place of
// all before it when there is neither an answer nor a cached registry that is still valid.
const (
	RegistryInvalid          Code = "REGISTRY_INVALID"
	RegistryUnsigned         Code = "REGISTRY_UNSIGNED"
	RegistrySignatureInvalid Code = "REGISTRY_SIGNATURE_INVALID"
	RegistryFamilyMismatch   Code = "REGISTRY_FAMILY_MISMATCH"
	RegistryExpired          Code = "REGISTRY_EXPIRED"
	RegistryRollback         Code = "REGISTRY_ROLLBACK"
	RegistryUnavailable      Code = "REGISTRY_UNAVAILABLE"

	DeploymentNotApproved    Code = "DEPLOYMENT_NOT_APPROVED"
	DeploymentRevoked        Code = "DEPLOYMENT_REVOKED"
	DeploymentExpired        Code = "DEPLOYMENT_EXPIRED"
	DeploymentModeNotAllowed Code = "DEPLOYMENT_MODE_NOT_ALLOWED"
	DeploymentLimitExceeded  Code = "DEPLOYMENT_LIMIT_EXCEEDED"
)

// The codes of notices that are no refusals.
const (
	// DeploymentSuspended: the run may only shrink its positions.
	DeploymentSuspended Code = "DEPLOYMENT_SUSPENDED"
	// RegistryNotKept: the highest version seen could not be written to disk.
	RegistryNotKept Code = "REGISTRY_NOT_KEPT"
)

// Codes are the codes of refusals.
func Codes() []Code {
	return []Code{
		RegistryInvalid, RegistryUnsigned, RegistrySignatureInvalid, RegistryFamilyMismatch, RegistryExpired,
		RegistryRollback, RegistryUnavailable,
		DeploymentNotApproved, DeploymentRevoked, DeploymentExpired, DeploymentModeNotAllowed,
		DeploymentLimitExceeded,
	}
}

// Refusal is an answer of no. Its message ends with what to do.
type Refusal struct {
	Code    Code
	Message string
	// Details go into the API's answer: family, registry_version, highest_version,
	// expires_at, plugin_sha256, params_sha256, deployable_id, candidate_revision_id, reason.
	Details map[string]any
	Cause   error
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// Unwrap returns the cause, nil where there is none.
func (r *Refusal) Unwrap() error { return r.Cause }

func refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...), Details: map[string]any{}}
}

// with adds one member to the details.
func (r *Refusal) with(key string, value any) *Refusal {
	r.Details[key] = value
	return r
}

// Notice is something to tell people, by code.
type Notice struct {
	Code    Code
	Message string
}

func notice(r *Refusal) Notice { return Notice{r.Code, r.Message} }

// Limits bound what a run may do. A nil pointer does not bound. Money is in the run's Quote.
type Limits struct {
	// Capital bounds the gross notional of all positions and of orders that may still fill.
	Capital *decimal.Decimal
	// OrderValue and PositionValue bound one order and the position in one symbol.
	OrderValue, PositionValue *decimal.Decimal
	// DailyLoss bounds what a day may lose, from 00:00 UTC.
	DailyLoss *decimal.Decimal
	// Drawdown is a fraction of the highest equity.
	Drawdown *decimal.Decimal
	// PriceCollar is how far a limit or stop price may be from the last close, a fraction of it.
	PriceCollar     *decimal.Decimal
	OrdersPerMinute *int64 `json:"max_orders_per_minute,omitempty"`
	Instruments     *int64 `json:"max_instruments,omitempty"`
	Venues          *int64 `json:"max_venues,omitempty"`
	// QuoteCurrency is the only one in which money may be traded; "" is any.
	QuoteCurrency string `json:"quote_currency,omitempty"`

	// unknown are limits that this version cannot keep.
	unknown []string
}

// Tighten returns what holds where both do: of each bound the smaller. An order is never larger
// than a position, and no position than the capital. The currency is that of l, else of other.
func (l Limits) Tighten(other Limits) Limits {
	t := Limits{
		Capital: smaller(l.Capital, other.Capital), OrderValue: smaller(l.OrderValue, other.OrderValue),
		PositionValue:   smaller(l.PositionValue, other.PositionValue),
		DailyLoss:       smaller(l.DailyLoss, other.DailyLoss),
		Drawdown:        smaller(l.Drawdown, other.Drawdown),
		PriceCollar:     smaller(l.PriceCollar, other.PriceCollar),
		OrdersPerMinute: fewer(l.OrdersPerMinute, other.OrdersPerMinute),
		Instruments:     fewer(l.Instruments, other.Instruments),
		Venues:          fewer(l.Venues, other.Venues), QuoteCurrency: l.QuoteCurrency,
		unknown: append(slices.Clone(l.unknown), other.unknown...),
	}
	if t.QuoteCurrency == "" {
		t.QuoteCurrency = other.QuoteCurrency
	}
	t.PositionValue = smaller(t.PositionValue, t.Capital)
	t.OrderValue = smaller(t.OrderValue, t.PositionValue)
	return t
}

func smaller(a, b *decimal.Decimal) *decimal.Decimal {
	if a == nil || b != nil && b.Cmp(*a) < 0 {
		return b
	}
	return a
}

func fewer(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// bpsUnit is how many basis points are one.
const bpsUnit = 10_000

// Check reads the amounts. Names that are not known are remembered: to trade as if they were not
// there would be to trade beyond what was approved.
func (l *Limits) Check(o field.Object) {
	known := field.Names("max_orders_per_minute max_instruments max_venues quote_currency price_collar_bps")
	for _, m := range []struct {
		name string
		into **decimal.Decimal
	}{
		{"max_capital", &l.Capital}, {"max_order_value", &l.OrderValue},
		{"max_position_value", &l.PositionValue},
		{"max_daily_loss", &l.DailyLoss}, {"max_drawdown", &l.Drawdown},
	} {
		known = append(known, m.name)
		*m.into = bound(o, m.name)
	}
	if o.Has("price_collar_bps") {
		d, err := decimal.NewFromFloat64(o.Number("price_collar_bps", 0))
		if err == nil {
			d, err = d.Quo(decimal.MustNew(bpsUnit, 0))
		}
		if err != nil {
			o.Fail(field.InvalidField, "price_collar_bps", "must be a number of at least 0")
		}
		l.PriceCollar = &d
	}
	l.unknown = slices.DeleteFunc(o.Members(), func(name string) bool {
		return slices.Contains(known, name) || !o.Has(name)
	})
}

// bound returns an amount that is not exceeded. A decimal holds 19 digits, the contract writes up
// to 36: what does not fit is cut off, never rounded up.
func bound(o field.Object, name string) *decimal.Decimal {
	if !o.Has(name) {
		return nil
	}
	whole, part, _ := strings.Cut(o.Form("decimal", name), ".")
	if room := max(0, decimal.MaxPrec-len(whole)); len(part) > room {
		part = part[:room]
	}
	d, err := decimal.Parse(strings.TrimSuffix(whole+"."+part, "."))
	if err != nil {
		o.Fail(field.InvalidDecimal, name, "must be a plain decimal")
		return nil
	}
	return &d
}
