package candidate

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/lab/falsify"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/split"
)

// item is one run that goes into a bundle, every file of it hashed again.
type item struct {
	role     bundle.Role
	meta     *artifact.Metadata
	metaHash string
	report   *artifact.Report
	request  *artifact.Request
	// found is what gates judge, worked out of the run's files as the control plane does.
	found *evidence.Run
	// summary is that of a falsification, nil for others.
	summary *falsify.Summary
	// record are the trials that a falsification was judged among, nil where it kept none.
	record *selection.TrialList
}

// collector finds the runs of one pack.
type collector struct {
	h    *request.Host
	slug string
}

func refuse(code, flag, format string, args ...any) *request.Error {
	e := request.Errorf(code, format, args...)
	if flag != "" {
		e.Details = map[string]any{"flag": flag}
	}
	return e
}

const codeNotPackable = "RUN_NOT_PACKABLE"

// base is the row of the baseline: the run that was named, else the one that the newest
// plan has selected, else the newest that was completed.
func (c *collector) base(ctx context.Context, runID string) (registry.Run, error) {
	if runID != "" {
		row, err := c.h.Registry.Get(ctx, runID)
		if errors.Is(err, registry.ErrNotFound) || err == nil && row.Slug != c.slug {
			return row, refuse(request.CodeRunNotFound, "--run",
				"there is no run %s of %s: lab runs list --slug %s shows what there is", runID, c.slug,
				c.slug)
		}
		return row, err
	}
	rows, err := c.h.Registry.ListMetadata(ctx,
		registry.Filter{Slug: c.slug, Kind: artifact.KindRun, Status: artifact.StatusCompleted})
	if err != nil {
		return registry.Run{}, err
	}
	if len(rows) == 0 {
		return registry.Run{},
			refuse(request.CodeRunNotFound, "--run", "no run of %s has been completed: lab run %s makes one",
				c.slug, c.slug)
	}
	plan, err := c.h.Registry.NewestPlan(ctx, c.slug)
	if err != nil {
		return registry.Run{}, err
	}
	for _, row := range slices.Backward(rows) {
		if m, err := artifact.DecodeMetadata(row.Payload); err == nil && plan != "" && row.PlanID == plan &&
			!m.Deviation {
			return row, nil
		}
	}
	return rows[len(rows)-1], nil
}

// packable refuses what can be no evidence.
func packable(row registry.Run, m *artifact.Metadata) error {
	flag := "--run"
	switch {
	case row.Status != artifact.StatusCompleted:
		return refuse(codeNotPackable, flag, "run %s is %s: only a completed run can be packed", row.RunID,
			row.Status)
	case m.Debug:
		return refuse(codeNotPackable, flag,
			"run %s was made of a strategy under a debugger, whose program has no file: run it again without",
			row.RunID)
	}
	return nil
}

// open reads a run of the registry for a role.
func (c *collector) open(row registry.Run, role bundle.Role) (*item, error) {
	dir := c.h.Artifacts.Dir(row.RunID)
	m, payload, err := artifact.Verify(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &artifact.MismatchError{RunID: row.RunID, Problems: []string{"metadata.json is missing"}}
	}
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(payload, row.Payload) {
		return nil, &artifact.MismatchError{RunID: row.RunID,
			Problems: []string{"metadata.json differs from the registry's row"}}
	}
	if err := packable(row, m); err != nil {
		return nil, err
	}
	x := &item{role: role, meta: m, metaHash: digest.SHA256Hex(payload)}
	if x.report, err = artifact.ReadReport(dir); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if err != nil {
		return nil, err
	}
	if x.request, err = request.ReadRequest(text); err != nil {
		return nil, err
	}
	if m.Kind != artifact.KindFalsification {
		return x, nil
	}
	if x.summary, err = falsify.ReadSummary(dir); err != nil {
		return nil, err
	}
	text, err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(selection.RecordFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil // made before it was kept
	}
	if err == nil {
		x.record, err = selection.ReadRecord(text)
	}
	return x, err
}

// sameProgram reports whether two runs are of the same plugin, parameters and markets.
func sameProgram(a, b *artifact.Metadata) bool {
	return a.Plugin.SHA256 == b.Plugin.SHA256 && sameJSON(a.Params, b.Params) &&
		slices.Equal(a.Symbols, b.Symbols) &&
		a.Timeframe == b.Timeframe
}

func sameJSON(a, b []byte) bool {
	x, err := digest.CanonicalJSON(a)
	if err != nil {
		return false
	}
	y, err := digest.CanonicalJSON(b)
	return err == nil && bytes.Equal(x, y)
}

// collected is the evidence of one candidate.
type collected struct {
	base  *item
	items []*item // base first, then by completion and id
	// skipped are finished paper and live runs that failed: they count for nothing, but
	// a person should know.
	skipped []string
}

// collect finds what belongs to a baseline. pinned, if not nil, is the revision that is
// packed again: all its runs stay, with their roles, and lab runs of the same question that
// were made since join as further baselines.
func (c *collector) collect(ctx context.Context, base registry.Run,
	pinned *bundle.Bundle) (*collected, error) {
	first, err := c.openBase(base)
	if err != nil {
		return nil, err
	}
	rows, err := c.h.Registry.ListMetadata(ctx, registry.Filter{})
	if err != nil {
		return nil, err
	}
	out := &collected{base: first, items: []*item{first}}
	kept := pinnedRoles(pinned)
	attacked := map[string]bool{base.RunID: true}
	for _, row := range rows {
		if row.RunID == base.RunID {
			continue
		}
		role, err := c.roleOf(row, first.meta, kept, out)
		if err != nil {
			return nil, err
		}
		if role == "" {
			continue
		}
		x, err := c.open(row, role)
		if err != nil {
			return nil, err
		}
		if x.meta.Kind == artifact.KindRun {
			attacked[row.RunID] = true
		}
		out.items = append(out.items, x)
	}
	if pinned != nil {
		if err := complete(pinned, out.items); err != nil {
			return nil, err
		}
	}
	out.items = conclusive(out.items, attacked, kept)
	return out, nil
}

func (c *collector) openBase(row registry.Run) (*item, error) {
	if row.Kind != artifact.KindRun {
		return nil, refuse(codeNotPackable, "--run",
			"run %s is of kind %s: a candidate is packed from a run of lab run", row.RunID, row.Kind)
	}
	m, err := artifact.DecodeMetadata(row.Payload)
	if err != nil {
		return nil, &artifact.MismatchError{RunID: row.RunID,
			Problems: []string{"the registry's row is damaged: " + err.Error()}}
	}
	if err := packable(row, m); err != nil {
		return nil, err
	}
	return c.open(row, bundle.RoleBaseline)
}

func pinnedRoles(pinned *bundle.Bundle) map[string]bundle.Role {
	kept := map[string]bundle.Role{}
	if pinned != nil {
		for _, r := range pinned.Runs {
			kept[r.RunID] = r.Role
		}
	}
	return kept
}

// roleOf is what a row is evidence of beside the baseline, "" for nothing.
func (c *collector) roleOf(row registry.Run, base *artifact.Metadata, kept map[string]bundle.Role,
	out *collected) (bundle.Role, error) {
	if role, ok := kept[row.RunID]; ok {
		return role, nil
	}
	switch row.Kind {
	case artifact.KindRun, artifact.KindFalsification, artifact.KindService:
	default:
		return "", nil
	}
	m, err := artifact.DecodeMetadata(row.Payload)
	if err != nil || m.Debug || row.Status == artifact.StatusRunning || !sameProgram(m, base) {
		return "", nil // a row that cannot be read is no evidence
	}
	if row.Kind == artifact.KindService {
		return venueRole(m, out), nil
	}
	if row.Status != artifact.StatusCompleted || row.Slug != c.slug || m.Exchange != base.Exchange {
		return "", nil
	}
	switch {
	case row.Kind == artifact.KindFalsification:
		return bundle.RoleFalsification, nil
	case m.StartDate >= base.EndDate:
		return bundle.RoleOOS, nil
	case len(kept) > 0 && sameData(m, base) && m.Volatile.CompletedAt > base.Volatile.CompletedAt:
		return bundle.RoleBaseline, nil
	}
	return "", nil
}

func sameData(a, b *artifact.Metadata) bool {
	same := func(x, y artifact.Dataset) bool {
		return x.Symbol == y.Symbol && x.SHA256 == y.SHA256 && x.Start == y.Start && x.End == y.End
	}
	return slices.EqualFunc(a.Data, b.Data, same) && slices.EqualFunc(a.Inputs, b.Inputs, same)
}

// venueRole is the role of a paper or live run: the registry stage that the host has
// recorded, else its mode.
func venueRole(m *artifact.Metadata, out *collected) bundle.Role {
	s := m.Service
	if s == nil || s.Mode != runner.ModePaper && s.Mode != runner.ModeLive {
		return ""
	}
	if m.Status != artifact.StatusCompleted {
		out.skipped = append(out.skipped, m.RunID)
		return ""
	}
	switch role := bundle.Role(s.Stage); role {
	case bundle.RolePaper, bundle.RoleCanary, bundle.RoleLive:
		return role
	}
	if s.Mode == runner.ModePaper {
		return bundle.RolePaper
	}
	return bundle.RoleLive
}

// complete refuses a revision that is packed again and has lost a run.
func complete(pinned *bundle.Bundle, items []*item) error {
	for _, r := range pinned.Runs {
		if !slices.ContainsFunc(items, func(x *item) bool { return x.meta.RunID == r.RunID }) {
			return refuse(request.CodeRunNotFound, "--candidate",
				"run %s of %s is not in the registry any more", r.RunID, pinned.CandidateRevisionID)
		}
	}
	return nil
}

// conclusive leaves falsifications of other runs out, and those that have come to nothing
// where others have not: whoever tries one test alone has not attacked the candidate. All
// that have come to something stay, above all those that refute.
func conclusive(items []*item, attacked map[string]bool, kept map[string]bundle.Role) []*item {
	var newestOpen *item
	decided := false
	for _, x := range items {
		if x.role == bundle.RoleFalsification && x.summary != nil && attacked[x.summary.BaseRunID] {
			if decided = decided || x.meta.Summary.GatesFailed != nil; x.meta.Summary.GatesFailed == nil {
				newestOpen = x
			}
		}
	}
	return slices.DeleteFunc(items, func(x *item) bool {
		if _, pinned := kept[x.meta.RunID]; pinned || x.role != bundle.RoleFalsification {
			// What was packed without a conclusion gives way to a conclusion.
			return x.role == bundle.RoleFalsification && decided && x.meta.Summary.GatesFailed == nil
		}
		if x.summary == nil || !attacked[x.summary.BaseRunID] {
			return true
		}
		return x.meta.Summary.GatesFailed == nil && (decided || x != newestOpen)
	})
}

// reveal notes one look at the locked test of each run, unless this was done before, and
// then reads what gates judge of all runs.
func (c *collector) reveal(ctx context.Context, items []*item, author string) error {
	for _, x := range items {
		has := slices.ContainsFunc(x.report.Splits, func(s artifact.SplitReport) bool {
			return s.ID == split.RoleTest
		})
		if x.meta.Kind == artifact.KindRun && has {
			if err := c.look(ctx, x.meta, author); err != nil {
				return err
			}
		}
		dir := c.h.Artifacts.Dir(x.meta.RunID)
		var err error
		x.found, err = evidence.Read(x.role, func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		})
		if err != nil {
			return &artifact.MismatchError{RunID: x.meta.RunID, Problems: []string{err.Error()}}
		}
	}
	return nil
}

// look notes a look at the locked test of a run, once.
func (c *collector) look(ctx context.Context, m *artifact.Metadata, author string) error {
	peeks, err := c.h.Registry.Peeks(ctx, m.FamilyID)
	if err != nil {
		return err
	}
	noted := func(p registry.Peek) bool { return p.RunID == m.RunID && p.Command == peekCommand }
	if slices.ContainsFunc(peeks, noted) {
		return nil
	}
	return c.h.Registry.Peek(ctx, registry.Peek{
		RunID: m.RunID, FamilyID: m.FamilyID, Command: peekCommand, Author: author,
	})
}

// peekCommand is what the registry knows the look of a pack by.
const peekCommand = "candidate pack"
