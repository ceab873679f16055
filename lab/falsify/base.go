package falsify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/split"
)

// Base is a completed run that can be attacked.
type Base struct {
	RunID string
	*request.Stored
	search, train, validation battery.Part
}

// Candles is how many there are from the first to the last of the run.
func (b *Base) Candles() int { return b.Splits.Candles }

// Newest is the run of a strategy that was completed last, "" if there is none.
func Newest(ctx context.Context, h *request.Host, slug string) (string, error) {
	rows, err := h.Registry.ListMetadata(ctx,
		registry.Filter{Slug: slug, Kind: artifact.KindRun, Status: artifact.StatusCompleted})
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[len(rows)-1].RunID, nil
}

// Open reads a run, every file hashed again. The error is an *request.Error when it
// cannot be attacked, and an *artifact.MismatchError when its files have changed.
func Open(ctx context.Context, h *request.Host, slug, runID string) (*Base, error) {
	row, err := h.Registry.Get(ctx, runID)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return nil, refuse(request.CodeRunNotFound, "there is no run %s: lab runs list shows what there is",
			runID)
	case err != nil:
		return nil, err
	case row.Slug != slug:
		return nil, refuse(request.CodeRunNotFound, "run %s is of %s, not of %s", runID, row.Slug, slug)
	case row.Kind != artifact.KindRun:
		return nil, refuse(request.CodeRunNotFound,
			"run %s is of kind %s: only a run of lab run can be attacked", runID, row.Kind)
	case row.Status != artifact.StatusCompleted:
		return nil, refuse(request.CodeRunNotFound, "run %s is %s: only a completed one can be attacked",
			runID, row.Status)
	}
	b := &Base{RunID: runID}
	if b.Stored, err = h.Stored(runID); errors.Is(err, fs.ErrNotExist) {
		return nil, &artifact.MismatchError{RunID: runID, Problems: []string{"metadata.json is missing"}}
	}
	if err != nil {
		return nil, err
	}
	for role, part := range map[string]*battery.Part{split.RoleSearch: &b.search, split.RoleTrain: &b.train,
		split.RoleValidation: &b.validation} {
		for _, r := range b.Splits.Splits {
			if r.ID == role {
				*part = battery.Part{From: r.From, To: r.To}
			}
		}
		if part.To == 0 {
			return nil, &request.Error{
				Code: request.CodeLabJSON, Details: map[string]any{"pointer": "/splits/scheme"},
				Message: fmt.Sprintf(
					"/splits/scheme run %s has no split %s: lab falsify attacks runs whose scheme is default",
					runID, role),
			}
		}
	}
	return b, nil
}

func refuse(code, format string, args ...any) *request.Error {
	return &request.Error{Code: code, Message: fmt.Sprintf(format, args...),
		Details: map[string]any{"flag": "--run"}}
}

// ask is the request of the base, looked up again with exactly its inputs.
func (b *Base) ask(ctx context.Context, h *request.Host) (*request.Prepared, error) {
	return h.Repeat(ctx, b.Request, request.Overrides{
		Slug: b.Metadata.Slug, Splits: b.Splits,
		SourceSHA256: b.Metadata.Plugin.SourceSHA256, SDKSHA256: b.Metadata.Plugin.SDKSHA256,
	})
}

// decided is the decision hash of the base's search split; "" where another engine has
// made it, whose word this one does not have to keep.
func (b *Base) decided(engine artifact.Engine) string {
	if b.Request.Inputs.Engine.SHA256 != engine.SHA256 {
		return ""
	}
	for _, s := range b.Report.Splits {
		if s.ID == split.RoleSearch {
			return s.DecisionHash
		}
	}
	return ""
}

// Repeated is a falsification that was made again.
type Repeated struct {
	*request.Result
	// Trials is how many trials it was judged with: those that the falsification has
	// recorded, not those that there are by now.
	Trials int
}

// Again attacks once more as a stored falsification did: with the same base, profile and sources,
// and the trials that it has recorded. Nothing is stored. The error is a *request.Error
// with [request.CodeInputsMissing] when one of them is not what it was.
func Again(
	ctx context.Context, h *request.Host, slug, runID string, r *artifact.Request, o Options,
) (*Repeated, error) {
	missing := func(message string) error {
		return &request.Error{
			Code: request.CodeInputsMissing, Message: "run " + runID + ": " + message,
			Details: map[string]any{"run_id": runID},
		}
	}
	var on depends
	if err := json.Unmarshal(r.Falsification, &on); err != nil {
		return nil, missing("its request is of no falsification")
	}
	dir := h.Artifacts.Dir(runID)
	summary, err := ReadSummary(dir)
	if err != nil {
		return nil, missing("its falsify/summary.json cannot be read")
	}
	base, err := Open(ctx, h, slug, summary.BaseRunID)
	if err != nil {
		return nil, err
	}
	if base.Report.RequestHash != on.BaseRequestHash || base.Report.ResultHash != on.BaseResultHash {
		return nil, missing("its base " + base.RunID + " is another run now")
	}
	text, err := os.ReadFile(filepath.Join(dir, "falsify", "profile.json"))
	if err != nil || digest.SHA256Hex(text) != on.ProfileSHA256 {
		return nil, missing("its falsify/profile.json is not the profile of the request")
	}
	var p profile.Profile
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	if p.Schema != profile.Schema {
		return nil, missing(fmt.Sprintf("it was attacked with %s, this lab attacks with %s", p.Schema,
			profile.Schema))
	}
	counted, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(selection.RecordFile)))
	if err != nil {
		return nil, missing(
			"its " + selection.RecordFile + ", the trials that it has counted, cannot be read")
	}
	ledger, err := selection.ReadRecord(counted)
	if err != nil {
		return nil, missing("its " + selection.RecordFile + ": " + err.Error())
	}
	if !sameLedger(ledger.Digest(), on.Ledger) {
		return nil, missing("its " + selection.RecordFile + " does not have the trials of the request")
	}
	o.Profile = p
	if on.LiteralsSHA256 == "" && on.UsesSHA256 == "" {
		o.Sources = nil // nothing in the sources was changed
	}
	a, err := prepare(ctx, h, base, ledger, o)
	if err != nil {
		return nil, err
	}
	defer a.original.Close()
	switch {
	case a.depends.PlanHash != on.PlanHash:
		return nil, missing("its base is of another plan now")
	case a.depends.LiteralsSHA256 != on.LiteralsSHA256 || a.depends.UsesSHA256 != on.UsesSHA256:
		return nil, missing(
			"it changed the sources of its program, which are not in the strategy's folder")
	case a.depends.ProfileSHA256 != on.ProfileSHA256:
		return nil, missing("its falsify/profile.json is not the profile of the request")
	}
	if err := a.ask(r.Falsification); err != nil {
		return nil, err
	}
	answer, err := h.Run(ctx, a.prepared, request.Options{NoReuse: true, Make: a.make, Plan: a.standing()})
	return &Repeated{answer, len(ledger.Trials)}, err
}

// sameLedger compares by value what has a pointer in it.
func sameLedger(a, b selection.Digest) bool {
	x, errX := digest.Of(a)
	y, errY := digest.Of(b)
	return errX == nil && errY == nil && x == y
}
