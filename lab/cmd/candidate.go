package cmd

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/candidate"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
)

// The environment of the commands that sign and submit.
const (
	envSignKey    = "SERVICE_LAB_SIGN_KEY"
	envControlURL = "SERVICE_CONTROL_URL"
	envControlKey = "SERVICE_CONTROL_KEY"
)

// planeOptions are the flags of commands that sign, or talk to a control plane.
type planeOptions struct {
	SignKey    string `flag:"sign-key" usage:"file of your private key, as governance keys new makes it, or agent:SHA256:... (SERVICE_LAB_SIGN_KEY)"`
	ControlURL string `flag:"control-url" usage:"address of the control plane (SERVICE_CONTROL_URL, default http://127.0.0.1:8010)"`
	ControlKey string `flag:"control-key" usage:"governance.pub of the control plane, to check its answers by (SERVICE_CONTROL_KEY)"`
	Submit     bool   `flag:"submit" usage:"post the bundle to the control plane, and keep its answer"`
}

// signingKey is the private key; nil where none is named. No error shows anything of it.
func signingKey(a *App, o *planeOptions) (crypto.Signer, error) {
	path := FirstOf(o.SignKey, a.IO.Getenv(envSignKey))
	if path == "" {
		return nil, nil
	}
	key, err := dsse.ReadP256(path, dsse.UnlockFrom("", func(name string) (string, bool) {
		return a.IO.Getenv(name), true
	}))
	if err != nil {
		return nil, Usage("--sign-key", "--sign-key: %v", err)
	}
	return key, nil
}

// namesPlane reports whether a control plane was named, so that it can be asked.
func namesPlane(a *App, o *planeOptions) bool {
	return o.Submit || FirstOf(o.ControlURL, a.IO.Getenv(envControlURL)) != ""
}

func openPlane(a *App, o *planeOptions) (*client.Client, error) {
	opts := client.Options{URL: FirstOf(o.ControlURL, a.IO.Getenv(envControlURL))}
	c, err := client.New(opts)
	if err != nil {
		return nil, Usage("--control-url", "--control-url: %v", err)
	}
	path := FirstOf(o.ControlKey, a.IO.Getenv(envControlKey))
	if path == "" {
		return c, nil
	}
	if opts.Key, err = os.ReadFile(path); err == nil {
		c, err = client.New(opts)
	}
	if err != nil {
		return nil, Usage("--control-key", "--control-key: %v", err)
	}
	return c, nil
}

// candidateOptions are the flags of lab candidate pack.
type candidateOptions struct {
	folderOption
	planeOptions
	bucketOption
	Run       string `flag:"run" usage:"the baseline (default: the newest plan's selected run, else the newest completed)"`
	Candidate string `flag:"candidate" usage:"a packed revision: its program, parameters and data, with what was run since" complete:"candidates"`
	Stage     string `flag:"stage" usage:"how far it is meant to go: research, paper, canary or live (default paper)" values:"research,paper,canary,live"`
	Owner     string `flag:"owner" usage:"who answers for it (default $USER, the system's user or git's)"`
	Family    string `flag:"family" usage:"family it belongs to (default: family_id of lab.json)"`
	Limits    string `flag:"limits" usage:"a JSON file with other limits than the default shares of the initial cash"`
	Valid     string `flag:"valid" default:"30d" usage:"how long the request for a seal is valid, such as 12h or 30d, at most 90d"`
	LogOrigin string `flag:"log-origin" usage:"name of the log that is asked (default: with --submit that of the plane, else governance.local)"`
}

func candidateCommand(a *App) *cobra.Command {
	return a.Group("candidate", "Pack a run as a candidate for promotion, and repeat what was packed", "",
		candidatePackCommand(a), candidateReplayCommand(a))
}

func candidatePackCommand(a *App) *cobra.Command {
	var o candidateOptions
	c := &cobra.Command{
		Use:   "pack <slug>",
		Short: "Pack a run with its evidence into a candidate bundle",
		Long: "Pack hashes every file of a run and of what belongs to it again (falsifications, later " +
			"runs of the same\n" +
			"program and parameters, finished paper and live runs) and writes one file that names them " +
			"all. Its id is\n" +
			"the hash of what it says, so packing twice gives one id. The locked test of the run is shown " +
			"in it, which\n" +
			"is noted once. With --submit a control plane is asked to seal the bundle, and its answer is " +
			"checked.",
		Example: Examples(
			"lab candidate pack sma_cross    # the newest plan's selected run, else the newest",
			"lab candidate pack sma_cross --run run_6rvs7gxczpvrxcpd --stage canary --valid 14d",
			"lab candidate pack sma_cross --limits limits.json --sign-key me.key --submit",
			"lab candidate pack sma_cross --candidate CR --stage live --submit    # with what was run since",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.Slugs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return candidatePack(ctx, a, args[0], o)
	})
}

// candidates are the revisions of the state directory.
func (a *App) candidates([]string) []string {
	ids, _ := candidate.NewStore(a.FindStateDir()).IDs() // a completion has no place for errors
	return ids
}

// packOptions reads what does not depend on the registry.
func packOptions(a *App, slug string, o *candidateOptions) (candidate.Options, error) {
	out := candidate.Options{
		Slug: slug, RunID: o.Run, Stage: bundle.Stage(o.Stage), Owner: o.Owner, Family: o.Family,
		LogOrigin: o.LogOrigin,
		Author:    userName(a), Now: time.Now,
	}
	if err := project.CheckSlug(slug); err != nil {
		return out, err
	}
	if o.Run != "" && o.Candidate != "" {
		return out, Usage("--candidate",
			"--run and --candidate exclude each other: a revision has its own baseline")
	}
	var err error
	if out.Valid, err = candidate.ParseValid(o.Valid); err != nil {
		return out, Usage("--valid", "--valid: %v", err)
	}
	if o.Limits != "" {
		if out.Limits, err = os.ReadFile(o.Limits); err != nil {
			return out, Usage("--limits", "--limits: %v", err)
		}
	}
	if out.Key, err = signingKey(a, &o.planeOptions); err != nil {
		return out, err
	}
	p, err := findProject(a, slug, o.Dir)
	var missing *Error
	switch {
	case err == nil:
		out.Family = FirstOf(out.Family, p.Config.FamilyID)
		if out.Title = p.Config.Title; out.Title == slug {
			out.Title = ""
		}
		out.Description = p.Config.Hypothesis
	// the row knows its family
	case errors.As(err, &missing) && missing.Code == run.CodeStrategyNotFound && o.Dir == "":
	default:
		return out, err
	}
	if o.Candidate != "" {
		out.Family = o.Family // that of the revision, unless one is named
	}
	return out, nil
}

func candidatePack(ctx context.Context, a *App, slug string, o candidateOptions) (Outcome, error) {
	options, err := packOptions(a, slug, &o)
	if err != nil {
		return Outcome{}, err
	}
	var plane *client.Client
	if o.Submit || o.Candidate != "" && namesPlane(a, &o.planeOptions) {
		if plane, err = openPlane(a, &o.planeOptions); err != nil {
			return Outcome{}, err
		}
	}
	var packed *candidate.Packed
	var receipt *client.Receipt
	var warnings []Warning
	err = a.WithHost(ctx, func(h *request.Host) error {
		if o.Candidate != "" {
			if options.Again,
				err = candidate.Find(ctx, candidate.NewStore(h.StateDir), plane, o.Candidate); err != nil {
				return err
			}
		}
		var away error
		if o.Submit && options.LogOrigin == "" {
			info, err := plane.Log(ctx)
			if away = err; err == nil {
				options.LogOrigin = info.Origin
			}
		}
		packed, err = candidate.Pack(ctx, h, options)
		if err == nil && options.Key != nil {
			warnings = ownerWarning(candidate.Trust(ctx, h.StateDir, plane), packed.Bundle.Candidate.Owner)
		}
		if err != nil || !o.Submit {
			return err
		}
		if away != nil { // what was packed stays
			return candidate.PlaneError(away)
		}
		if err := o.pushListed(ctx, a, h, &packed.Bundle); err != nil {
			return err
		}
		receipt, err = candidate.Submit(ctx, plane, packed)
		return err
	})
	if packed == nil {
		return Outcome{}, err
	}
	out := candidate.ResultOf(packed, receipt)
	outcome := Outcome{Result: out, Print: out.Print,
		Warnings: append(warnings, packWarnings(packed, receipt)...)}
	var failed *request.Error
	if errors.As(err, &failed) && failed.Details != nil {
		failed.Details["candidate_revision_id"], failed.Details["path"] = out.CandidateRevisionID, out.Path
	}
	return outcome, err
}

// ownerWarning warns of an owner whom trust.json does not know: the rule that owners do not
// approve what is theirs then binds no key.
func ownerWarning(t *bundle.Trust, owner string) []Warning {
	if t == nil || slices.ContainsFunc(t.Keys, func(k bundle.TrustKey) bool {
		return bundle.SamePrincipal(k.Principal, owner)
	}) {
		return nil
	}
	return []Warning{{Code: "OWNER_NOT_TRUSTED",
		Message: fmt.Sprintf(
			"the owner %q is no principal of trust.json, so its owner is not kept from approving it: name "+
				"one "+
				"with --owner", owner)}}
}

func packWarnings(p *candidate.Packed, r *client.Receipt) []Warning {
	var list []Warning
	for _, id := range p.Skipped {
		list = append(list,
			Warning{Code: request.CodeRunFailed,
				Message: "the paper or live run " + id +
					" has failed: it is no evidence and not in the bundle"})
	}
	if r != nil {
		for _, w := range r.Warnings {
			list = append(list,
				Warning{Code: w.Code, Message: strings.TrimSpace(w.Message + " " + w.Pointer)})
		}
	}
	return list
}

func candidateReplayCommand(a *App) *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:   "replay <slug>",
		Short: "Execute the pinned runs of a candidate again and compare",
		Long: "Replay executes every run that a candidate bundle pins again, from exactly its plugin, " +
			"candles, parameters\n" +
			"and rules, and compares the hashes of what comes out. The plugin is built from this checkout " +
			"where that\n" +
			"gives the pinned bytes, else it is the copy of the state directory. With a key the result is " +
			"signed; with\n" +
			"--submit the control plane records it. It counts for promotion when the signer has not " +
			"packed the bundle.",
		Example: Examples(
			"lab candidate replay sma_cross --candidate CR    # compare, and sign nothing",
			"lab candidate replay sma_cross --candidate CR --sign-key reviewer.key --submit",
		),
	}
	a.Bind(c, &o)
	c.Flag("submit").Usage = "post the signed result to the control plane; needs --sign-key"
	a.Arguments(c, a.Slugs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return candidateReplay(ctx, a, args[0], o)
	})
}

// replayOptions are the flags of lab candidate replay.
type replayOptions struct {
	folderOption
	planeOptions
	Candidate string        `flag:"candidate" usage:"the revision to repeat (required)" complete:"candidates"`
	Commit    bool          `flag:"commit" usage:"commit to the answer to the challenge, and show it once packer and replayer both have; needs --submit"`
	Wait      time.Duration `flag:"wait" usage:"with --commit: wait so long for the other side, such as 1h"`
}

// check refuses flags that do not go together.
func (o *replayOptions) check(key crypto.Signer) error {
	switch {
	case o.Submit && key == nil:
		return Usage("--sign-key", "--submit needs --sign-key: only a signed result counts")
	case o.Commit && !o.Submit:
		return Usage("--commit", "--commit needs --submit: a control plane keeps the commitments")
	case o.Wait != 0 && (!o.Commit || o.Wait < 0):
		return Usage("--wait", "--wait is a time such as 1h, with --commit")
	}
	return nil
}

// findCandidate is a revision of this strategy, from the state directory or else a plane.
func findCandidate(ctx context.Context, a *App, h *request.Host, slug, revision string,
	o *planeOptions) (*bundle.Document, error) {
	var plane *client.Client
	if namesPlane(a, o) {
		var err error
		if plane, err = openPlane(a, o); err != nil {
			return nil, err
		}
	}
	doc, err := candidate.Find(ctx, candidate.NewStore(h.StateDir), plane, revision)
	if err != nil {
		return nil, err
	}
	if own := doc.Bundle.Candidate.Slug; own != slug {
		return nil, request.Errorf(request.CodeRunNotFound, "%s is of %s, not of %s", revision, own, slug).
			With("flag", "--candidate")
	}
	return doc, nil
}

// checkoutPlugin is the program that this checkout builds, if it is the pinned one; "" and
// why not otherwise.
func checkoutPlugin(ctx context.Context, a *App, slug, dir, want string) (path, why string, err error) {
	p, err := findProject(a, slug, dir)
	if err != nil && dir == "" {
		return "", "there is no folder of the strategy here", nil
	}
	if err != nil {
		return "", "", err
	}
	built, err := buildPlugin(ctx, a, p, "")
	switch {
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case err != nil:
		return "", "the program cannot be built here: " + inOneLine(err), nil
	case built.SHA256 != want:
		return "", fmt.Sprintf("%s gives the program %s, the candidate pins %s", filepath.Base(p.Dir),
			Short(built.SHA256), Short(want)), nil
	}
	return built.Path, "", nil
}

// inOneLine is an error of several lines, such as that of the Go tool, for a warning.
func inOneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

func candidateReplay(ctx context.Context, a *App, slug string, o replayOptions) (Outcome, error) {
	if err := project.CheckSlug(slug); err != nil {
		return Outcome{}, err
	}
	if o.Candidate == "" {
		return Outcome{}, Usage("--candidate", "--candidate is missing: the revision to repeat")
	}
	key, err := signingKey(a, &o.planeOptions)
	if err != nil {
		return Outcome{}, err
	}
	if err := o.check(key); err != nil {
		return Outcome{}, err
	}
	out := &candidate.Replayed{}
	var warnings []Warning
	var after *shownAnswer
	err = a.WithHost(ctx, func(h *request.Host) error {
		doc, err := findCandidate(ctx, a, h, slug, o.Candidate, &o.planeOptions)
		if err != nil {
			return err
		}
		var side *committing
		if o.Commit {
			if side, after, err = resumeCommitting(ctx, a, h, key, &o); err != nil || after != nil {
				return err
			}
		}
		plugin, why, err := checkoutPlugin(ctx, a, slug, o.Dir, doc.Bundle.Strategy.Plugin.SHA256)
		if err != nil {
			return err
		}
		if out.PluginFrom = "checkout"; plugin == "" {
			out.PluginFrom = "store"
			warnings = append(warnings,
				Warning{Code: "PLUGIN_NOT_BUILT",
					Message: why + ": its copy in the state directory is executed"})
		}
		if err := playAgain(ctx, a, h, doc, plugin, o.Dir, out); err != nil {
			return err
		}
		if namesPlane(a, &o.planeOptions) {
			if err := answerChallenge(ctx, a, h, doc, plugin, &o.planeOptions, out); err != nil {
				if ctx.Err() != nil || side != nil {
					return err
				}
				warnings = append(warnings, Warning{Code: candidate.CodeNotAnswered,
					Message: "the challenge of the seal was not answered, and without an answer the replay " +
						"counts for paper at most: " + inOneLine(err)})
			}
		}
		if key == nil || out.Equal+out.Different == 0 {
			return nil
		}
		if err := signReplay(ctx, a, h, doc, key, &o.planeOptions, side, out); err != nil || side == nil {
			return err
		}
		out.Commitment, err = side.show(ctx, o.Wait)
		return err
	})
	if after != nil {
		return Outcome{Result: after, Print: after.Print}, err
	}
	if out.Runs == nil {
		return Outcome{}, err
	}
	outcome := Outcome{Result: out, Print: out.Print, Warnings: warnings}
	if err != nil {
		return outcome, err
	}
	return outcome, replayVerdict(out)
}

// playAgain executes the pinned runs, with a progress line for each.
func playAgain(
	ctx context.Context, a *App, h *request.Host, doc *bundle.Document, plugin, dir string,
	out *candidate.Replayed,
) error {
	var bar *Progress
	end := func() {
		if bar != nil {
			bar.End()
		}
	}
	defer func() { end() }()
	list, err := candidate.Replay(ctx, h, &doc.Bundle, candidate.ReplayOptions{
		Plugin: plugin, Sources: sourcesOf(a, doc.Bundle.Candidate.Slug, dir),
		Begin: func(runID string) {
			end()
			bar = a.Progress("replay "+runID).Count("steps", 0)
		},
		Progress: func(done, total int64) { bar.Update(done, total) },
	})
	if err != nil {
		return err
	}
	out.CandidateRevisionID, out.Runs = doc.Bundle.CandidateRevisionID, list
	out.Candles = candidate.CandlesOf(list)
	out.Equal, out.Different, out.NotRun = candidate.Count(list, candidate.Equal),
		candidate.Count(list, candidate.Different), candidate.Count(list, candidate.NotRun)
	return nil
}

// answerChallenge plays the window that the seal of the plane draws.
func answerChallenge(ctx context.Context, a *App, h *request.Host, doc *bundle.Document, plugin string,
	o *planeOptions, out *candidate.Replayed) error {
	plane, err := openPlane(a, o)
	if err != nil {
		return err
	}
	asked, err := plane.Challenge(ctx, &doc.Bundle)
	if err != nil {
		return err
	}
	out.Challenge, err = candidate.Answer(ctx, h, &doc.Bundle, asked, plugin)
	return err
}

// signReplay signs what was found, keeps it, and posts it where asked to: about the bytes
// that the plane has newest. A side that commits shows no answer yet.
func signReplay(ctx context.Context, a *App, h *request.Host, doc *bundle.Document, key crypto.Signer,
	o *planeOptions, side *committing, out *candidate.Replayed) error {
	var with []dsse.Envelope
	if side != nil {
		commitment, err := side.commit(out.Challenge)
		if err != nil {
			return err
		}
		with, out.Challenge = append(with, commitment), nil
	}
	origin := doc.Bundle.SealRequest.LogOrigin
	var plane *client.Client
	if o.Submit {
		var err error
		if plane, err = openPlane(a, o); err != nil {
			return err
		}
		info, err := plane.Log(ctx)
		if err != nil {
			return candidate.PlaneError(err)
		}
		origin = info.Origin
		if doc, err = plane.Bundle(ctx, doc.Bundle.CandidateRevisionID); err != nil {
			return candidate.PlaneError(err)
		}
	}
	envelope, err := candidate.Attest(doc, out.Runs, out.Challenge, origin, key, time.Now())
	if err != nil {
		return err
	}
	out.Signed = true
	name, err := candidate.NewStore(h.StateDir).KeepReplay(doc, envelope, key)
	if err != nil {
		return err
	}
	if name != "" {
		path := "candidates/" + out.CandidateRevisionID + "/" + name
		out.Path = &path
	}
	if plane == nil {
		return nil
	}
	receipt, err := candidate.SubmitReplay(ctx, plane, doc, append(with, envelope)...)
	out.Receipt = candidate.SubmittedOf(receipt)
	return err
}

// replayVerdict is the error of a replay that did not reproduce everything that can be.
func replayVerdict(out *candidate.Replayed) error {
	var e *Error
	switch left := len(candidate.Unrepeated(out.Runs)); {
	case out.Different > 0:
		e = request.Errorf(request.CodeNotReproduced, "%d of %d runs came to something else", out.Different,
			len(out.Runs))
	case out.Equal == 0:
		e = request.Errorf(request.CodeInputsMissing, "none of %d runs could be executed again",
			len(out.Runs))
	case left > 0:
		e = request.Errorf(request.CodeInconclusive, "%d runs are equal, %d could not be executed again",
			out.Equal, left)
	default:
		return nil
	}
	return e.With("candidate_revision_id", out.CandidateRevisionID, "runs", out.Runs, "signed", out.Signed,
		"path", out.Path, "receipt", out.Receipt)
}

// requestFromCandidate is the request of a packed revision: exactly its plugin, parameters,
// data and rules.
func requestFromCandidate(ctx context.Context, a *App, slug string,
	o runOptions) (func(*request.Host) (*request.Prepared, error), error) {
	if len(o.Set) > 0 || o.Params != "" || o.ParamsFile != "" || o.Seed != "" || o.Request != "" ||
		o.Plugin != "" {
		return nil, Usage("--candidate",
			"--candidate fixes everything: leave --set, --params, --params-file, --seed, --request and "+
				"--plugin out")
	}
	if err := project.CheckSlug(slug); err != nil {
		return nil, err
	}
	return func(h *request.Host) (*request.Prepared, error) {
		doc, err := findCandidate(ctx, a, h, slug, o.Candidate, &planeOptions{})
		if err != nil {
			return nil, err
		}
		base, err := candidate.Baseline(&doc.Bundle)
		if err != nil {
			return nil, err
		}
		return candidate.Ask(ctx, h, &doc.Bundle, base, "")
	}, nil
}

// baselineOf is the run that lab falsify attacks for a packed revision.
func baselineOf(ctx context.Context, a *App, h *request.Host, slug, revision string) (string, error) {
	doc, err := findCandidate(ctx, a, h, slug, revision, &planeOptions{})
	if err != nil {
		return "", err
	}
	base, err := candidate.Baseline(&doc.Bundle)
	return base.RunID, err
}
