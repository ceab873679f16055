package candidate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/evaluate"
)

func validRevision(s string) bool { return field.IsRevision(s) }

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// inputsMissing says what is needed to execute a pinned run.
func inputsMissing(run bundle.Run, format string, args ...any) error {
	return &evaluate.Error{
		Code: "INPUTS_MISSING", Message: fmt.Sprintf("run %s: ", run.RunID) + fmt.Sprintf(format, args...), Details: map[string]any{"run_id": run.RunID},
	}
}

// pinned reads the request of a run from its folder. Nothing there is trusted: the request
// must have the hash that the bundle names, and splits.json the hash in the request.
func pinned(h *evaluate.Host, run bundle.Run) (*artifact.Request, *artifact.Splits, error) {
	dir := h.Artifacts.Dir(run.RunID)
	text, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if missing(err) {
		return nil, nil, inputsMissing(run, "its request.json is not below %s: copy the run's folder there", dir)
	}
	if err != nil {
		return nil, nil, err
	}
	if digest.SHA256Hex(text) != run.RequestHash {
		return nil, nil, &artifact.MismatchError{RunID: run.RunID, Problems: []string{"request.json is not the request of the bundle"}}
	}
	r, err := evaluate.ReadRequest(text)
	if err != nil {
		return nil, nil, err
	}
	if text, err = os.ReadFile(filepath.Join(dir, "splits.json")); missing(err) {
		return nil, nil, inputsMissing(run, "its splits.json is not below %s: copy the run's folder there", dir)
	}
	if err != nil {
		return nil, nil, err
	}
	if digest.SHA256Hex(bytes.TrimSpace(text)) != r.Splits.SHA256 {
		return nil, nil, &artifact.MismatchError{RunID: run.RunID, Problems: []string{"splits.json is not that of the request"}}
	}
	s := &artifact.Splits{}
	return r, s, json.Unmarshal(text, s)
}

// Ask prepares the question of a pinned run once more: exactly its plugin, parameters,
// candles and rules. plugin is a program to take, "" for the one in the state directory;
// either must have the pinned hash. Close what comes back.
func Ask(ctx context.Context, h *evaluate.Host, b *bundle.Bundle, run bundle.Run, plugin string) (*evaluate.Prepared, error) {
	r, splits, err := pinned(h, run)
	if err != nil {
		return nil, err
	}
	scheme, err := evaluate.SchemeOf(splits)
	if err != nil {
		return nil, err
	}
	q, err := h.Again(r, b.Candidate.Slug, scheme, plugin)
	if err != nil {
		return nil, err
	}
	q.Plugin.SourceSHA256 = b.Strategy.Plugin.SourceSHA256
	p, err := h.Prepare(ctx, q)
	if err != nil {
		return nil, err
	}
	if p.Manifest.Request.Splits.SHA256 != r.Splits.SHA256 {
		p.Close()
		return nil, inputsMissing(run, "its splits cannot be made again")
	}
	return p, nil
}
