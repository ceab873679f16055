package candidate

import (
	"bytes"
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/lab/falsify"
	"github.com/assay-run/assay/lab/request"
)

func validRevision(s string) bool { return field.IsRevision(s) }

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// inputsMissing reports what is needed to execute a pinned run.
func inputsMissing(run bundle.Run, format string, args ...any) error {
	return request.Errorf(request.CodeInputsMissing, "run "+run.RunID+": "+format, args...).
		With("run_id", run.RunID)
}

// pinned reads the request of a run from its folder. Nothing there is trusted: the request
// must have the hash that the bundle names, and splits.json the hash in the request.
func pinned(h *request.Host, run bundle.Run) (*artifact.Request, *artifact.Splits, error) {
	dir := h.Artifacts.Dir(run.RunID)
	text, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if missing(err) {
		return nil, nil,
			inputsMissing(run, "its request.json is not below %s: copy the run's folder there", dir)
	}
	if err != nil {
		return nil, nil, err
	}
	if digest.SHA256Hex(text) != run.RequestHash {
		return nil, nil,
			&artifact.MismatchError{RunID: run.RunID,
				Problems: []string{"request.json is not the request of the bundle"}}
	}
	r, err := request.ReadRequest(text)
	if err != nil {
		return nil, nil, err
	}
	if text, err = os.ReadFile(filepath.Join(dir, "splits.json")); missing(err) {
		return nil, nil,
			inputsMissing(run, "its splits.json is not below %s: copy the run's folder there", dir)
	}
	if err != nil {
		return nil, nil, err
	}
	if digest.SHA256Hex(bytes.TrimSpace(text)) != r.Splits.SHA256 {
		return nil, nil,
			&artifact.MismatchError{RunID: run.RunID,
				Problems: []string{"splits.json is not that of the request"}}
	}
	s := &artifact.Splits{}
	return r, s, json.Unmarshal(text, s)
}

// Ask prepares the question of a pinned run once more: exactly its plugin, parameters,
// candles and rules. plugin is a program to take, "" for the one in the state directory;
// either must have the pinned hash. Close what comes back.
func Ask(ctx context.Context, h *request.Host, b *bundle.Bundle, run bundle.Run,
	plugin string) (*request.Prepared, error) {
	r, splits, err := pinned(h, run)
	if err != nil {
		return nil, err
	}
	return h.Repeat(ctx, r, request.Overrides{
		Slug: b.Candidate.Slug, Splits: splits, Plugin: plugin, SourceSHA256: b.Strategy.Plugin.SourceSHA256,
	})
}

// replayValid is how long the statement of a replay holds.
const replayValid = 90 * 24 * time.Hour

// Verdict is how a replayed run compares.
type Verdict string

// The verdicts.
const (
	Equal     Verdict = "equal"
	Different Verdict = "different"
	NotRun    Verdict = "not_run"
)

// Outcome is how one pinned run went.
type Outcome struct {
	RunID   string      `json:"run_id"`
	Role    bundle.Role `json:"role"`
	Verdict Verdict     `json:"verdict"`
	// Code and Reason report why it was not run or what differs; empty where it is equal. Code
	// is SKIPPED for what no replay could repeat: runs at a venue.
	Code   string `json:"code"`
	Reason string `json:"reason"`
	// ReportSHA256 is what the replay came to, Expected what is pinned.
	ReportSHA256 string `json:"report_sha256"`
	Expected     string `json:"expected_report_sha256"`
	// Trades are the hashes of trades.csv by split.
	Trades []bundle.SplitTrades `json:"trades"`
	// RecordedTrials is how many trials a falsification was judged with: those that it has
	// recorded, whatever was tried since; 0 for other runs.
	RecordedTrials int `json:"recorded_trials,omitempty"`
	// Inputs are what gates judge, worked out of the files that the replay made and signed with
	// them; nil where it was not run or has failed.
	Inputs *bundle.Inputs `json:"-"`
	hash   string
	data   []artifact.Dataset // that it was played on here
	came   []bundle.CandleSource
}

// ReplayOptions are how a replay is made.
type ReplayOptions struct {
	// Plugin is a program built here, "" for the copy in the state directory. Either must
	// have the pinned hash.
	Plugin string
	// Sources finds what programs are built from, for falsifications that changed numbers in them.
	Sources falsify.Finder
	// Begin is called before each run is executed, Progress with candles or replays in it.
	Begin    func(runID string)
	Progress func(done, total int64)
}

// Replay executes every pinned run of a revision again and compares the hashes. Nothing is
// stored. Runs at a venue cannot be repeated and are skipped. An error is one that ends it
// all, such as an interruption; what concerns one run is in its Outcome.
func Replay(ctx context.Context, h *request.Host, b *bundle.Bundle, o ReplayOptions) ([]Outcome, error) {
	if err := checkManifest(b); err != nil {
		return nil, err
	}
	list := make([]Outcome, 0, len(b.Runs))
	for _, run := range b.Runs {
		if o.Begin != nil {
			o.Begin(run.RunID)
		}
		out := Outcome{RunID: run.RunID, Role: run.Role, Expected: run.ReportSHA256,
			Trades: []bundle.SplitTrades{}, hash: run.RequestHash}
		err := replayOne(ctx, h, b, run, o, &out)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			out.Verdict, out.Code, out.Reason = NotRun, codeOf(err),
				strings.TrimPrefix(err.Error(), "run "+run.RunID+": ")
		}
		list = append(list, out)
	}
	return list, nil
}

func codeOf(err error) string {
	var own *request.Error
	var changed *artifact.MismatchError
	switch {
	case errors.As(err, &own):
		return own.Code
	case errors.As(err, &changed):
		return request.CodeArtifactMismatch
	}
	return request.CodeInternal
}

func replayOne(ctx context.Context, h *request.Host, b *bundle.Bundle, run bundle.Run, o ReplayOptions,
	out *Outcome) error {
	switch run.Role {
	case bundle.RolePaper, bundle.RoleCanary, bundle.RoleLive:
		return request.Errorf(request.CodeSkipped, "runs at a venue cannot be repeated")
	}
	answer, err := execute(ctx, h, b, run, o, out)
	if err != nil {
		return err
	}
	out.data, out.came = answer.Metadata.Data, sources(ctx, h, answer.Metadata)
	out.compare(b, run, answer)
	return out.recompute(answer)
}

// recompute works out what gates judge of the files that were made just now.
func (out *Outcome) recompute(answer *request.Result) error {
	if answer.Failure != nil {
		return nil
	}
	found, err := evidence.Read(out.Role, func(name string) ([]byte, error) {
		if name == evidence.MetadataName {
			return answer.Metadata.Encode()
		}
		text, ok := answer.JSON[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return text, nil
	})
	if err != nil {
		return fmt.Errorf("what the replay made cannot be read: %w", err)
	}
	out.Inputs = &found.Inputs
	return nil
}

// execute runs the pinned question and stores nothing.
func execute(ctx context.Context, h *request.Host, b *bundle.Bundle, run bundle.Run, o ReplayOptions,
	out *Outcome) (*request.Result, error) {
	r, _, err := pinned(h, run)
	if err != nil {
		return nil, err
	}
	if r.Inputs.Engine.SHA256 != h.Engine.SHA256 {
		return nil, inputsMissing(run,
			"it was made by another build of lab, sha256 %.12s…, and this one is %.12s…: build lab from the "+
				"source of version %s, with the same Go and the same flags",
			r.Inputs.Engine.SHA256, h.Engine.SHA256, b.Engine.Version)
	}
	if r.Kind == artifact.KindFalsification {
		again, err := falsify.Again(ctx, h, b.Candidate.Slug, run.RunID, r, falsify.Options{
			Progress: func(done, planned int64, _ int) { o.progress(done, planned) }, Sources: o.Sources,
		})
		if err != nil {
			return nil, err
		}
		out.RecordedTrials = again.Trials
		return again.Result, nil
	}
	p, err := Ask(ctx, h, b, run, o.Plugin)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if p.RequestHash != run.RequestHash {
		return nil, inputsMissing(run,
			"its question cannot be asked again: the program describes itself otherwise")
	}
	return h.Run(ctx, p, request.Options{NoReuse: true, Progress: o.progress})
}

func (o *ReplayOptions) progress(done, total int64) {
	if o.Progress != nil {
		o.Progress(done, total)
	}
}

// compare holds what was made against what is pinned.
func (out *Outcome) compare(b *bundle.Bundle, run bundle.Run, answer *request.Result) {
	out.ReportSHA256 = reportHash(answer.Metadata)
	for _, f := range answer.Metadata.Artifacts {
		if path.Base(f.Name) == "trades.csv" {
			out.Trades = append(out.Trades,
				bundle.SplitTrades{SplitID: path.Base(path.Dir(f.Name)), SHA256: f.SHA256})
		}
	}
	differs := differing(b, run, answer.Metadata)
	switch {
	case answer.Failure != nil:
		out.Verdict, out.Code = Different, request.CodeRunFailed
		out.Reason = fmt.Sprintf("split %s failed: %s: %s", answer.Failure.SplitID, answer.Failure.Code,
			answer.Failure.Message)
	case out.ReportSHA256 != run.ReportSHA256 || len(differs) > 0:
		out.Verdict, out.Code, out.Reason = Different, request.CodeNotReproduced,
			"other content: "+strings.Join(differs, ", ")
	default:
		out.Verdict = Equal
	}
}

// differing are the pinned files of a run that were made otherwise, at most a few.
func differing(b *bundle.Bundle, run bundle.Run, m *artifact.Metadata) []string {
	const most = 5
	var list []string
	for _, a := range b.Artifacts {
		name, own := strings.CutPrefix(a.Name, "runs/"+run.RunID+"/")
		if own && fileHash(m, name) != a.SHA256 {
			if list = append(list, name); len(list) == most {
				return append(list, "and more")
			}
		}
	}
	if len(list) == 0 && reportHash(m) != run.ReportSHA256 {
		list = append(list, "report.json")
	}
	return list
}

// Count is how many outcomes have a verdict.
func Count(list []Outcome, v Verdict) int {
	n := 0
	for _, o := range list {
		if o.Verdict == v {
			n++
		}
	}
	return n
}

// Unrepeated are the runs that a replay should have repeated and could not.
func Unrepeated(list []Outcome) []Outcome {
	return slices.DeleteFunc(slices.Clone(list), func(o Outcome) bool {
		return o.Verdict != NotRun || o.Code == request.CodeSkipped
	})
}

// Answer plays the window of a challenge with the pinned program of the baseline. A bundle that
// lists other candles first than those of its baseline could choose the window: it gets no answer.
func Answer(ctx context.Context, h *request.Host, b *bundle.Bundle, asked *bundle.Challenge,
	plugin string) (*bundle.ChallengeAnswer, error) {
	base, err := Baseline(b)
	if err != nil {
		return nil, err
	}
	p, err := Ask(ctx, h, b, base, plugin)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if own := addData(nil, p.Manifest.Data); len(b.Data) < len(own) || !slices.Equal(b.Data[:len(own)], own) {
		return nil, misdated("the bundle does not list the candles of its baseline first")
	}
	from, to, err := asked.Window(p.Request.Timeframe)
	if err != nil {
		return nil, err
	}
	sum, err := p.Excerpt(ctx, h, from, to)
	if err != nil {
		return nil, err
	}
	return &bundle.ChallengeAnswer{Challenge: *asked, DecisionSHA256: sum}, nil
}

// CodeNotAnswered is the code of a bundle whose challenge is not answered.
const CodeNotAnswered = "CHALLENGE_NOT_ANSWERED"

func misdated(format string, args ...any) error {
	return request.Errorf(CodeNotAnswered, format+": by the times of /data trials are counted and the "+
		"challenge is drawn, so nothing is signed; its packer has to pack it again", args...).
		With("pointer", "/data")
}

// dated refuses a bundle that lists other candles than its runs were played on, or dates them
// otherwise.
func dated(b *bundle.Bundle, list []Outcome) error {
	var all []bundle.Dataset
	base, _ := Baseline(b)
	for _, o := range list {
		own := addData(nil, o.data)
		if o.RunID == base.RunID && !slices.Equal(b.Data[:min(len(b.Data), len(own))], own) {
			return misdated("the bundle does not list the candles of its baseline first")
		}
		for _, d := range own {
			if !slices.Contains(b.Data, d) {
				return misdated("the bundle does not list %s from %s to %s, on which run %s was played",
					d.DatasetID, d.Start, d.End, o.RunID)
			}
		}
		all = append(all, own...)
	}
	for _, d := range b.Data {
		if len(Unrepeated(list)) == 0 && len(all) > 0 && !slices.Contains(all, d) {
			return misdated("no run was played on %s from %s to %s, which the bundle lists",
				d.DatasetID, d.Start, d.End)
		}
	}
	return nil
}

// Attest signs what a replay has found: a replay/v1 statement about the bundle with the
// runs that were executed, also those that came to something else, and the answer to the challenge
// of its seal, nil for none. origin is the log that it is for. A bundle whose candles are dated
// otherwise is not signed.
func Attest(doc *bundle.Document, list []Outcome, answer *bundle.ChallengeAnswer, origin string,
	key crypto.Signer, now time.Time) (dsse.Envelope, error) {
	if err := dated(&doc.Bundle, list); err != nil {
		return dsse.Envelope{}, err
	}
	statement := bundle.Replay{
		Common: bundle.Common{
			LogOrigin: origin, CandidateRevisionID: doc.Bundle.CandidateRevisionID,
			MadeAt:    now.UTC().Format(time.RFC3339Nano),
			ExpiresAt: bundle.FormatTime(now.Add(replayValid)),
			Reason: fmt.Sprintf("%d of %d runs executed again, %d equal",
				Count(list, Equal)+Count(list, Different), len(list), Count(list, Equal)),
		},
		ParentRevisionID: doc.Bundle.Candidate.Lineage.ParentRevisionID, Challenge: answer,
	}
	for _, o := range list {
		if o.Verdict != NotRun {
			statement.Runs = append(statement.Runs, bundle.ReplayedRun{
				RunID: o.RunID, RequestHash: o.hash, ReportSHA256: o.ReportSHA256, Trades: o.Trades,
				Inputs: o.Inputs,
			})
		}
	}
	statement.Candles = CandlesOf(list)
	if len(statement.Runs) == 0 {
		return dsse.Envelope{},
			request.Errorf(request.CodeInputsMissing,
				"none of the runs could be executed again: there is nothing to sign")
	}
	return doc.Attest(bundle.TypeReplay, statement, key)
}

// KeepReplay puts a signed replay beside the candidate, by the key that signed it. It does
// nothing for a revision that is not on the store.
func (s *Store) KeepReplay(doc *bundle.Document, envelope dsse.Envelope,
	key crypto.Signer) (string, error) {
	id, err := dsse.KeyID(key.Public())
	if err != nil {
		return "", err
	}
	if _, err := s.Load(doc.Bundle.CandidateRevisionID); missing(err) {
		return "", nil
	}
	text, err := digest.JCS(envelope)
	if err != nil {
		return "", err
	}
	name := "replay-" + id[:16] + ".dsse.json"
	return name, put(s.Dir(doc.Bundle.CandidateRevisionID), name, text)
}

// SubmitReplay posts a signed replay, and what was signed with it, with the bundle that it is about.
func SubmitReplay(ctx context.Context, plane *client.Client, doc *bundle.Document,
	envelopes ...dsse.Envelope) (*client.Receipt, error) {
	receipt, err := plane.Ingest(ctx, doc, envelopes...)
	if err != nil {
		return nil, PlaneError(err)
	}
	return receipt, nil
}
