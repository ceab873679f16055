package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/digest"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/split"
)

// ReadRequest reads a canonical request, such as request.json of a run, strictly.
func ReadRequest(text []byte) (*artifact.Request, error) {
	canonical, err := digest.CanonicalJSON(text)
	if err != nil {
		return nil, &Error{Code: "USAGE", Message: "the request is not canonical JSON: " + err.Error(), Details: map[string]any{"flag": "--request"}, Cause: err}
	}
	r := &artifact.Request{}
	if err := json.Unmarshal(canonical, r); err != nil {
		return nil, &Error{Code: "USAGE", Message: "the request cannot be read: " + err.Error(), Details: map[string]any{"flag": "--request"}, Cause: err}
	}
	if r.Schema != "evaluation-request/v1" {
		return nil, &Error{Code: "USAGE", Message: fmt.Sprintf("schema %q is not evaluation-request/v1", r.Schema), Details: map[string]any{"pointer": "/schema"}}
	}
	return r, nil
}

// Again is the question that a request has asked, with exactly its inputs: the plugin
// by its hash from the state directory unless another path is given, the candles by
// theirs. What is not there any more is INPUTS_MISSING. The answer has the same request
// hash as long as the engine is the same.
func (h *Host) Again(r *artifact.Request, slug string, scheme split.Scheme, plugin string) (Question, error) {
	q := Question{
		Kind: r.Kind, Slug: slug, FamilyID: r.FamilyID, Params: r.StrategyParams, Symbols: r.Symbols, Timeframe: r.Timeframe, Exchange: r.Exchange,
		InitialCash: r.InitialCash, Execution: r.Execution, Splits: scheme, Holding: r.Splits.Purge, Stress: r.Stress, Pins: map[string]string{},
	}
	var err error
	if q.Seed, err = strconv.ParseUint(r.Seed, 10, 64); err != nil {
		return q, refuse("USAGE", "/seed", "/seed %v", err)
	}
	for _, d := range r.Inputs.Data {
		q.Pins[d.Symbol] = "sha256:" + d.SHA256
	}
	start, end := r.StartDate.String(), r.EndDate.String()
	q.Start, q.End = &start, &end
	if plugin == "" {
		plugin = filepath.Join(h.StateDir, "plugins", r.Inputs.PluginSHA256)
	}
	q.Plugin, err = project.Finished(plugin)
	if _, missing := os.Stat(plugin); errors.Is(missing, fs.ErrNotExist) {
		return q, &Error{
			Code: "INPUTS_MISSING", Message: fmt.Sprintf("the plugin sha256 %.12s… is not in the state directory any more: name its file with --plugin", r.Inputs.PluginSHA256),
			Details: map[string]any{"plugin_sha256": r.Inputs.PluginSHA256},
		}
	}
	if err != nil {
		return q, err
	}
	if q.Plugin.SHA256 != r.Inputs.PluginSHA256 {
		return q, &Error{
			Code: "INPUTS_MISSING", Message: fmt.Sprintf("%s is sha256 %.12s…, the request wants %.12s…", plugin, q.Plugin.SHA256, r.Inputs.PluginSHA256),
			Details: map[string]any{"plugin_sha256": r.Inputs.PluginSHA256},
		}
	}
	return q, nil
}

// SchemeOf is the scheme that splits.json was made by.
func SchemeOf(s *artifact.Splits) (split.Scheme, error) {
	scheme := split.Scheme{}
	text, err := json.Marshal(s.Params)
	if err != nil {
		return scheme, err
	}
	if err := json.Unmarshal(text, &scheme); err != nil {
		return scheme, err
	}
	scheme.Scheme = s.Scheme
	if scheme.Step == scheme.Test {
		scheme.Step = 0 // the default
	}
	return scheme, scheme.Validate()
}

// Stored is a run as its folder has it.
type Stored struct {
	Request  *artifact.Request
	Splits   *artifact.Splits
	Metadata *artifact.Metadata
	Report   *artifact.Report
}

// Stored reads a run, every file hashed again. The error is an
// *artifact.MismatchError when something has changed.
func (h *Host) Stored(runID string) (*Stored, error) {
	dir := h.Artifacts.Dir(runID)
	m, _, err := artifact.Verify(dir)
	if err != nil {
		return nil, err
	}
	s := &Stored{Metadata: m, Splits: &artifact.Splits{}}
	if s.Report, err = artifact.ReadReport(dir); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if err != nil {
		return nil, err
	}
	if s.Request, err = ReadRequest(text); err != nil {
		return nil, err
	}
	if text, err = os.ReadFile(filepath.Join(dir, "splits.json")); err != nil {
		return nil, err
	}
	return s, json.Unmarshal(text, s.Splits)
}
