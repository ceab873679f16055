package falsify

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
)

// Repeated is a falsification that was made again.
type Repeated struct {
	*request.Answer
	// Trials is how many trials it was judged with: those that the falsification has
	// recorded, not those that there are by now.
	Trials int
}

// Again attacks once more as a stored falsification did: the same base and profile, the ledger of trials that it has
// recorded, whatever has been tried since, and where numbers in the sources were changed the same sources. Nothing is
// stored. The error is an *request.Error INPUTS_MISSING when one of them is not what it was, so that the same question
// cannot be asked any more.
func Again(
	ctx context.Context, h *request.Host, slug, runID string, r *artifact.Request, o Options,
) (*Repeated, error) {
	missing := func(message string) error {
		return &request.Error{Code: "INPUTS_MISSING", Message: "run " + runID + ": " + message, Details: map[string]any{"run_id": runID}}
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
		return nil, missing(fmt.Sprintf("it was attacked with %s, this lab attacks with %s", p.Schema, profile.Schema))
	}
	counted, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(selection.RecordFile)))
	if err != nil {
		return nil, missing("its " + selection.RecordFile + ", the trials that it has counted, cannot be read")
	}
	ledger, err := selection.ReadRecord(counted)
	if err != nil {
		return nil, missing("its " + selection.RecordFile + ": " + err.Error())
	}
	if !sameLedger(ledger.Digest(), on.Ledger) {
		return nil, missing("its " + selection.RecordFile + " does not have the trials of the request")
	}
	o.Profile = p
	if on.LiteralsSHA256 == "" {
		o.Sources = nil // no number in the sources was changed
	}
	a, err := prepare(ctx, h, base, ledger, o)
	if err != nil {
		return nil, err
	}
	defer a.original.Close()
	switch {
	case a.depends.PlanHash != on.PlanHash:
		return nil, missing("its base is of another plan now")
	case a.depends.LiteralsSHA256 != on.LiteralsSHA256:
		return nil, missing("it changed numbers in the sources of its program, which are not in the strategy's folder")
	case a.depends.ProfileSHA256 != on.ProfileSHA256:
		return nil, missing("its falsify/profile.json is not the profile of the request")
	}
	if err := a.ask(r.Falsification); err != nil {
		return nil, err
	}
	answer, err := h.Run(ctx, a.question, request.Options{NoReuse: true, Make: a.make, Plan: a.standing()})
	return &Repeated{answer, len(ledger.Trials)}, err
}

// sameLedger compares by value what has a pointer in it.
func sameLedger(a, b selection.Digest) bool {
	x, errX := digest.Of(a)
	y, errY := digest.Of(b)
	return errX == nil && errY == nil && x == y
}
