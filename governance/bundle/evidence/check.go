// Package evidence works out from the files of a run what gates judge of it, and holds it
// against what a bundle declares.
//
// Read is a pure function of bytes: report.json, request.json and metadata.json, of a
// falsification falsify/summary.json, of a locked test split its metrics.json. Whoever packs,
// whoever replays and the control plane use the same one. Where the bytes come from, and that
// their hashes are those of the bundle, is the caller's part.
package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

// Reader gives a file of a bundle by its name, such as runs/ID/report.json. The bytes have the
// SHA-256 that is asked for; the error is fs.ErrNotExist where there is no such file.
type Reader func(name, sha256 string) ([]byte, error)

// Check works out what gates judge of every run of a bundle, and holds it against what the
// bundle declares; pointer makes pointers of the body of those of the bundle. Without an error
// and with nil a file is not there, so that nothing is known. A refusal is a *bundle.Error
// SUMMARY_MISMATCH or ARTIFACT_INVALID.
func Check(b *bundle.Bundle, pointer func(string) string, read Reader) ([]bundle.RunEvidence, error) {
	c := &check{b: b, pointer: pointer, runs: make([]*Run, len(b.Runs))}
	sums := map[string]string{}
	for _, a := range b.Artifacts {
		sums[a.Name] = a.SHA256
	}
	for i := range b.Runs {
		run, err := Read(b.Runs[i].Role, c.files(i, sums, read))
		var bad *invalidError
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case errors.As(err, &bad):
			return nil, c.invalid(i, bad)
		case err != nil:
			return nil, err
		}
		c.runs[i] = run
	}
	var list []bundle.RunEvidence
	for i, run := range c.runs {
		if refused := c.run(i); refused != nil {
			return nil, refused
		}
		sum, err := run.SHA256()
		if err != nil {
			return nil, err
		}
		list = append(list, bundle.RunEvidence{
			RunID: run.RunID, InputsSHA256: sum, Falsification: run.Falsification, Derived: run.Derived,
			Edge: run.Edge, Impact: run.Impact, Timeframe: c.timeframe(i),
		})
	}
	for _, whole := range []func() *bundle.Error{c.candles, c.markets, c.unattacked, c.trials} {
		if refused := whole(); refused != nil {
			return nil, refused
		}
	}
	if whole, err := c.tried(sums, read, list); err != nil || !whole {
		return nil, err
	}
	return list, nil
}

// timeframe is that of a baseline where the bundle claims several, else "".
func (c *check) timeframe(i int) string {
	if c.b.Runs[i].Role != bundle.RoleBaseline || len(c.b.Strategy.Timeframes) < 2 {
		return ""
	}
	return c.runs[i].request.Timeframe
}

type check struct {
	b       *bundle.Bundle
	pointer func(string) string
	runs    []*Run
}

// files gives the files of a run with the hashes that the bundle pins; one without a hash is
// not there.
func (c *check) files(i int, sums map[string]string, read Reader) Files {
	run := &c.b.Runs[i]
	return func(name string) ([]byte, error) {
		path := "runs/" + run.RunID + "/" + name
		pinned := map[string]string{
			ReportName: run.ReportSHA256, RequestName: run.RequestHash, MetadataName: run.MetadataSHA256,
		}
		sum, own := pinned[name]
		if listed, ok := sums[path]; !own {
			sum = listed
		} else if ok && sum != listed && sum != "" {
			return nil, c.mismatch(c.at(i, "/"+map[string]string{
				ReportName: "report_sha256", RequestName: "request_hash", MetadataName: "metadata_sha256",
			}[name]), sum, listed)
		}
		if sum == "" {
			return nil, fs.ErrNotExist
		}
		return read(path, sum)
	}
}

func (c *check) invalid(i int, bad *invalidError) *bundle.Error {
	return field.Refuse(bundle.ArtifactInvalid, c.at(i, ""), "%s", bad.Error())
}

func (c *check) at(i int, rest string) string { return c.pointer(fmt.Sprintf("/runs/%d%s", i, rest)) }

func (c *check) mismatch(at string, declared, computed any) *bundle.Error {
	e := field.Refuse(bundle.SummaryMismatch, at,
		"the bundle declares something else than the files of its runs come to")
	e.Declared, e.Computed = declared, computed
	return e
}

// run holds one run against its files: first what it is, then its numbers.
func (c *check) run(i int) *bundle.Error {
	declared, found := &c.b.Runs[i], c.runs[i]
	if refused := c.identity(i, declared, found); refused != nil {
		return refused
	}
	if refused := c.program(i, declared, found); refused != nil {
		return refused
	}
	if refused := c.asked(i, found); refused != nil {
		return refused
	}
	if found.Falsification != nil {
		if refused := c.attacked(i, found); refused != nil {
			return refused
		}
	}
	if refused := c.numbers(c.at(i, "/summary"), declared.Summary, found.Summary); refused != nil {
		return refused
	}
	for k, s := range declared.Splits {
		at := c.at(i, fmt.Sprintf("/splits/%d", k))
		j := slices.IndexFunc(found.Splits, func(o bundle.Split) bool { return o.SplitID == s.SplitID })
		if j != k {
			return c.mismatch(at+"/split_id", s.SplitID, nil)
		}
		if s.Kind != found.Splits[k].Kind {
			return c.mismatch(at+"/kind", s.Kind, found.Splits[k].Kind)
		}
		if refused := c.numbers(at+"/metrics", s.Metrics, found.Splits[k].Metrics); refused != nil {
			return refused
		}
	}
	if len(declared.Splits) != len(found.Splits) {
		return c.mismatch(c.at(i, "/splits"), len(declared.Splits), len(found.Splits))
	}
	return nil
}

func (c *check) numbers(at string, declared, computed map[string]float64) *bundle.Error {
	names := map[string]bool{}
	for name := range declared {
		names[name] = true
	}
	for name := range computed {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		x, has := declared[name]
		y, is := computed[name]
		if has == is && x == y {
			continue
		}
		return c.mismatch(at+"/"+digest.PointerStep(name), orNull(x, has), orNull(y, is))
	}
	return nil
}

func orNull(x float64, is bool) any {
	if is {
		return x
	}
	return nil
}

// roles are those that a run of a kind can have in a bundle.
var roles = map[string][]bundle.Role{
	kindRun:           {bundle.RoleBaseline, bundle.RoleOOS, bundle.RoleStress, bundle.RoleReplay},
	kindFalsification: {bundle.RoleFalsification},
}

// identity holds a run's id, question, role and times against its files.
func (c *check) identity(i int, declared *bundle.Run, found *Run) *bundle.Error {
	allowed := roles[found.Kind]
	if found.Kind == kindService && found.Role != "" {
		allowed = []bundle.Role{found.Role}
	}
	switch {
	case found.RunID != declared.RunID:
		return c.mismatch(c.at(i, "/run_id"), declared.RunID, found.RunID)
	case found.RequestHash != declared.RequestHash:
		return c.mismatch(c.at(i, "/request_hash"), declared.RequestHash, found.RequestHash)
	case !slices.Contains(allowed, declared.Role):
		return c.mismatch(c.at(i, "/role"), string(declared.Role), found.Kind)
	case found.Status != statusCompleted:
		return c.mismatch(c.at(i, ""), statusCompleted, found.Status)
	case !sameTime(declared.CompletedAt, found.Completed):
		return c.mismatch(c.at(i, "/completed_at"), declared.CompletedAt, bundle.FormatTime(found.Completed))
	case declared.StartedAt != "" && !sameTime(declared.StartedAt, found.Started):
		return c.mismatch(c.at(i, "/started_at"), declared.StartedAt, bundle.FormatTime(found.Started))
	}
	x, y := declared.CoveredSeconds, found.CoveredSeconds
	if (x == nil) != (y == nil) || x != nil && *x != *y {
		return c.mismatch(c.at(i, "/covered_seconds"), deref(x), deref(y))
	}
	return nil
}

func deref(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

func sameTime(text string, t time.Time) bool {
	declared, ok := field.ParseTime(text)
	return ok && declared.Equal(t)
}

// program holds what was run against what the bundle is of: the plugin, its parameters and
// markets, and that what is called out of sample lies behind every baseline.
func (c *check) program(i int, declared *bundle.Run, found *Run) *bundle.Error {
	s, q := &c.b.Strategy, &found.request
	venue := found.Kind == kindService
	switch {
	case q.Inputs.PluginSHA256 != s.Plugin.SHA256:
		return c.mismatch(c.pointer("/strategy/plugin/sha256"), s.Plugin.SHA256, q.Inputs.PluginSHA256)
	case !sameJSON(q.Params, s.Params):
		return c.mismatch(c.pointer("/strategy/params_sha256"), s.ParamsSHA256, hashOf(q.Params))
	case !slices.Equal(q.Symbols, s.Symbols):
		return c.mismatch(c.pointer("/strategy/symbols"),
			strings.Join(s.Symbols, " "), strings.Join(q.Symbols, " "))
	case !slices.Contains(s.Timeframes, q.Timeframe):
		return c.mismatch(c.pointer("/strategy/timeframes"), strings.Join(s.Timeframes, " "), q.Timeframe)
	case !venue && len(s.Exchanges) > 0 && !slices.Contains(s.Exchanges, q.Exchange):
		return c.mismatch(c.pointer("/strategy/exchanges"), strings.Join(s.Exchanges, " "), q.Exchange)
	}
	for k := range c.runs {
		base := &c.runs[k].request
		beside := declared.Role == bundle.RoleOOS && c.b.Runs[k].Role == bundle.RoleBaseline
		if beside && q.Start.Before(base.End) {
			return c.mismatch(c.at(i, "/role"), string(declared.Role), string(bundle.RoleBaseline))
		}
	}
	return nil
}

// hashOf is the SHA-256 of the canonical form of parameters.
func hashOf(params []byte) any {
	text, err := digest.CanonicalJSON(params)
	if err != nil {
		return nil
	}
	return digest.SHA256Hex(text)
}

// attacked requires a falsification to be of a lab run of this bundle.
func (c *check) attacked(i int, found *Run) *bundle.Error {
	for k := range c.runs {
		base := c.runs[k]
		same := base.RunID == found.Falsification.BaseRunID && base.RequestHash == found.BaseRequestHash
		if same && base.Kind == kindRun {
			return nil
		}
	}
	e := c.mismatch(c.at(i, "/run_id"), nil, found.Falsification.BaseRunID)
	e.Message = "the falsification is of a run that is not in the bundle"
	return e
}

// unattacked requires a falsification of every baseline where there is one of any: a second
// baseline would otherwise stand on the verdict of the first.
func (c *check) unattacked() *bundle.Error {
	attacked := map[string]bool{}
	for _, run := range c.runs {
		if run.Falsification != nil {
			attacked[run.Falsification.BaseRunID] = true
		}
	}
	for i := range c.b.Runs {
		run := &c.b.Runs[i]
		if len(attacked) == 0 || run.Role != bundle.RoleBaseline || attacked[run.RunID] {
			continue
		}
		e := c.mismatch(c.at(i, "/role"), string(run.Role), nil)
		e.Message = "no falsification is of this baseline, but one is of another: " +
			"lab falsify --run " + run.RunID + ", then pack again"
		return e
	}
	return nil
}

// trials requires at least as many trials to be declared as the falsifications have counted:
// more may have been made since.
func (c *check) trials() *bundle.Error {
	counted := int64(0)
	for _, run := range c.runs {
		if run.Falsification != nil {
			counted = max(counted, run.Falsification.Trials)
		}
	}
	switch t := c.b.Trials; {
	case t == nil && counted > 0:
		return c.mismatch(c.pointer("/trials"), nil, counted)
	case t != nil && t.FamilyTrials < counted:
		return c.mismatch(c.pointer("/trials/family_trials"), t.FamilyTrials, counted)
	}
	return nil
}

// How metadata.json shows that the kill switch has ended a run: by the drawdown limit of the
// host, or because the registry ordered it.
const (
	codeRiskKill  = "RISK_KILL"
	messageKilled = "Stopped by the deployment policy: The deployment was killed"
)

// Killed reports whether the kill switch has ended the run.
func (m *Metadata) Killed() bool {
	return m.Failure != nil && m.Failure.Code == codeRiskKill ||
		m.Service != nil && strings.HasPrefix(m.Service.Message, messageKilled)
}

// CheckDrill holds a drill against the record of its run, which it carries: a paper or live
// run of the program of the bundle, which is over at this time, and in which the kill switch
// acted where the drill passed. at is the pointer of the statement. What is checked is the
// text that whoever signs vouches for: no host has signed it.
func CheckDrill(d *bundle.Drill, b *bundle.Bundle, at string, now time.Time) *bundle.Error {
	refuse := func(reason, format string, args ...any) *bundle.Error {
		e := field.Refuse(bundle.InvalidDrill, at, format, args...)
		e.Reason = reason
		return e
	}
	if d.Metadata == "" {
		return refuse(bundle.ReasonNoRecord, "a drill carries the metadata.json of its run: "+
			"governance incident --drill reads it from the state directory")
	}
	m, err := ParseMetadata([]byte(d.Metadata))
	if err != nil {
		return refuse(bundle.ReasonRecord, "the record of the run: %v", err)
	}
	sum := digest.SHA256Hex([]byte(d.Metadata))
	for _, run := range b.Runs {
		if run.RunID == d.RunID && run.MetadataSHA256 != "" && run.MetadataSHA256 != sum {
			return refuse(bundle.ReasonRecord, "the record is not the one that the bundle pins for this run")
		}
	}
	from, _ := field.ParseTime(m.Volatile.StartedAt)
	until, ended := field.ParseTime(m.Volatile.CompletedAt)
	done, _ := field.ParseTime(d.DoneAt)
	switch {
	case m.RunID != d.RunID:
		return refuse(bundle.ReasonRecord, "the record is of another run than the drill")
	case m.Kind != kindService || m.VenueRole() == "":
		return refuse(bundle.ReasonMode,
			"the run is neither a paper nor a live run: only those have a kill switch")
	case !m.SameProgram(&b.Strategy):
		return refuse(bundle.ReasonOtherProgram,
			"the run is not of the plugin, parameters and markets of the bundle")
	case !ended || m.Status != statusCompleted && m.Status != statusFailed:
		return refuse(bundle.ReasonNotOver, "the run has not ended")
	case done.After(now) || until.After(now):
		return refuse(bundle.ReasonAhead, "the drill or the end of its run is dated ahead")
	case done.Before(from.Truncate(time.Second)) || done.After(until):
		return refuse(bundle.ReasonOutside,
			"done_at is not within the run, which ended at %s", bundle.FormatTime(until))
	case d.Passed() && !m.Killed():
		return refuse(bundle.ReasonNotKilled, "the kill switch did not act in this run: it ended otherwise")
	}
	return nil
}
