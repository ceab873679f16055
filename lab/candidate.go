package lab

import (
	"context"
	"crypto/ecdsa"
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
	"github.com/assay-run/assay/lab/candidate"
	"github.com/assay-run/assay/lab/cli"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/project"
)

// The environment of the commands that sign and submit.
const (
	envSignKey    = "SERVICE_LAB_SIGN_KEY"
	envControlURL = "SERVICE_CONTROL_URL"
	envControlKey = "SERVICE_CONTROL_KEY"
)

// planeOptions are the flags of commands that sign, or talk to a control plane.
type planeOptions struct {
	signKey, controlURL, controlKey string
	submit                          bool
}

func (a *app) planeFlags(c *cobra.Command, o *planeOptions, submits string) {
	f := c.Flags()
	f.StringVar(&o.signKey, "sign-key", "", "file of your private key, as governance keys new makes it ("+envSignKey+")")
	f.StringVar(&o.controlURL, "control-url", "", "address of the control plane ("+envControlURL+", default "+client.DefaultURL+")")
	f.StringVar(&o.controlKey, "control-key", "", "governance.pub of the control plane, to check its answers by ("+envControlKey+")")
	f.BoolVar(&o.submit, "submit", false, submits)
}

// key is the private key; nil where none is named. No error shows anything of it.
func (a *app) key(o *planeOptions) (*ecdsa.PrivateKey, error) {
	path := cli.FirstOf(o.signKey, a.IO.Getenv(envSignKey))
	if path == "" {
		return nil, nil
	}
	key, err := dsse.ReadP256(path)
	if err != nil {
		return nil, cli.Usage("--sign-key", "--sign-key: %v", err)
	}
	return key, nil
}

// named says whether a control plane was named, so that it can be asked.
func (a *app) named(o *planeOptions) bool {
	return o.submit || cli.FirstOf(o.controlURL, a.IO.Getenv(envControlURL)) != ""
}

func (a *app) plane(o *planeOptions) (*client.Client, error) {
	opts := client.Options{URL: cli.FirstOf(o.controlURL, a.IO.Getenv(envControlURL))}
	c, err := client.New(opts)
	if err != nil {
		return nil, cli.Usage("--control-url", "--control-url: %v", err)
	}
	path := cli.FirstOf(o.controlKey, a.IO.Getenv(envControlKey))
	if path == "" {
		return c, nil
	}
	if opts.Key, err = os.ReadFile(path); err == nil {
		c, err = client.New(opts)
	}
	if err != nil {
		return nil, cli.Usage("--control-key", "--control-key: %v", err)
	}
	return c, nil
}

// candidateOptions are the flags of lab candidate pack.
type candidateOptions struct {
	planeOptions
	dir, run, candidate string
	stage, owner        string
	family, limits      string
	valid, logOrigin    string
}

func (a *app) candidateCommand() *cobra.Command {
	return a.Group("candidate", "Pack a run as a candidate for promotion, and repeat what was packed", a.candidatePackCommand(), a.candidateReplayCommand())
}

func (a *app) candidatePackCommand() *cobra.Command {
	var o candidateOptions
	c := &cobra.Command{
		Use:   "pack <slug>",
		Short: "Pack a run with its evidence into a candidate bundle",
		Long: "Pack hashes every file of a run and of what belongs to it again (falsifications, later runs of the same\n" +
			"program and parameters, finished paper and live runs) and writes one file that names them all. Its id is\n" +
			"the hash of what it says, so packing twice gives one id. The locked test of the run is shown in it, which\n" +
			"is noted once. With --submit a control plane is asked to seal the bundle, and its answer is checked.",
		Example: cli.Examples(
			"lab candidate pack sma_cross    # the newest plan's selected run, else the newest",
			"lab candidate pack sma_cross --run run_6rvs7gxczpvrxcpd --stage canary --valid 14d",
			"lab candidate pack sma_cross --limits limits.json --sign-key me.key --submit",
			"lab candidate pack sma_cross --candidate CR --stage live --submit    # with what was run since",
		),
		Args: cobra.ExactArgs(1),
	}
	f := c.Flags()
	f.StringVar(&o.dir, "dir", "", "folder of the strategy (default: looked up by slug)")
	f.StringVar(&o.run, "run", "", "the baseline (default: the newest plan's selected run, else the newest completed)")
	f.StringVar(&o.candidate, "candidate", "", "a packed revision: its program, parameters and data, with what was run since")
	f.StringVar(&o.stage, "stage", "", "how far it is meant to go: research, paper, canary or live (default paper)")
	f.StringVar(&o.owner, "owner", "", "who answers for it (default $USER, the system's user or git's)")
	f.StringVar(&o.family, "family", "", "family it belongs to (default: family_id of lab.json)")
	f.StringVar(&o.limits, "limits", "", "a JSON file with other limits than the default shares of the initial cash")
	f.StringVar(&o.valid, "valid", "30d", "how long the request for a seal is valid, such as 12h or 30d, at most 90d")
	f.StringVar(&o.logOrigin, "log-origin", "", "name of the log that is asked (default: with --submit that of the plane, else "+candidate.DefaultOrigin+")")
	a.planeFlags(c, &o.planeOptions, "post the bundle to the control plane, and keep its answer")
	a.Arguments(c, a.Slugs)
	a.Folder(c, "dir")
	a.OneOf(c, "stage", string(bundle.Research), string(bundle.Paper), string(bundle.Canary), string(bundle.Live))
	a.Offer(c, "candidate", a.candidates)
	return a.Action(c, func(ctx context.Context, args []string) (cli.Outcome, error) { return a.candidatePack(ctx, args[0], o) })
}

// candidates are the revisions of the state directory.
func (a *app) candidates([]string) []string {
	ids, _ := candidate.NewShelf(a.FindStateDir()).IDs() // completion has nobody to tell
	return ids
}

// options reads what does not depend on the registry.
func (a *app) packOptions(slug string, o *candidateOptions) (candidate.Options, error) {
	out := candidate.Options{
		Slug: slug, RunID: o.run, Stage: bundle.Stage(o.stage), Owner: o.owner, Family: o.family, LogOrigin: o.logOrigin,
		Author: a.user(), Now: time.Now,
	}
	if err := project.CheckSlug(slug); err != nil {
		return out, err
	}
	if o.run != "" && o.candidate != "" {
		return out, cli.Usage("--candidate", "--run and --candidate exclude each other: a revision has its own baseline")
	}
	var err error
	if out.Valid, err = candidate.ParseValid(o.valid); err != nil {
		return out, cli.Usage("--valid", "--valid: %v", err)
	}
	if o.limits != "" {
		if out.Limits, err = os.ReadFile(o.limits); err != nil {
			return out, cli.Usage("--limits", "--limits: %v", err)
		}
	}
	if out.Key, err = a.key(&o.planeOptions); err != nil {
		return out, err
	}
	p, err := a.project(slug, o.dir)
	var missing *cli.Error
	switch {
	case err == nil:
		out.Family = cli.FirstOf(out.Family, p.Config.FamilyID)
		if out.Title = p.Config.Title; out.Title == slug {
			out.Title = ""
		}
		out.Description = p.Config.Hypothesis
	case errors.As(err, &missing) && missing.Code == "STRATEGY_NOT_FOUND" && o.dir == "": // the row knows its family
	default:
		return out, err
	}
	if o.candidate != "" {
		out.Family = o.family // that of the revision, unless one is named
	}
	return out, nil
}

func (a *app) candidatePack(ctx context.Context, slug string, o candidateOptions) (cli.Outcome, error) {
	options, err := a.packOptions(slug, &o)
	if err != nil {
		return cli.Outcome{}, err
	}
	var plane *client.Client
	if o.submit || o.candidate != "" && a.named(&o.planeOptions) {
		if plane, err = a.plane(&o.planeOptions); err != nil {
			return cli.Outcome{}, err
		}
	}
	var packed *candidate.Packed
	var receipt *client.Receipt
	var warnings []cli.Warning
	err = a.WithHost(ctx, func(h *evaluate.Host) error {
		if o.candidate != "" {
			if options.Again, err = candidate.Find(ctx, candidate.NewShelf(h.StateDir), plane, o.candidate); err != nil {
				return err
			}
		}
		var away error
		if o.submit && options.LogOrigin == "" {
			info, err := plane.Log(ctx)
			if away = err; err == nil {
				options.LogOrigin = info.Origin
			}
		}
		packed, err = candidate.Pack(ctx, h, options)
		if err == nil && options.Key != nil {
			warnings = ownerWarning(candidate.Trust(ctx, h.StateDir, plane), packed.Bundle.Candidate.Owner)
		}
		if err != nil || !o.submit {
			return err
		}
		if away != nil { // what was packed stays
			return candidate.PlaneError(away)
		}
		receipt, err = candidate.Submit(ctx, plane, packed)
		return err
	})
	if packed == nil {
		return cli.Outcome{}, err
	}
	out := candidate.ResultOf(packed, receipt)
	outcome := cli.Outcome{Result: out, Print: out.Print, Warnings: append(warnings, packWarnings(packed, receipt)...)}
	var failed *evaluate.Error
	if errors.As(err, &failed) && failed.Details != nil {
		failed.Details["candidate_revision_id"], failed.Details["path"] = out.CandidateRevisionID, out.Path
	}
	return outcome, err
}

// ownerWarning warns of an owner whom trust.json does not know: the rule that owners do not
// approve what is theirs then keeps nobody from it.
func ownerWarning(t *bundle.Trust, owner string) []cli.Warning {
	if t == nil || slices.ContainsFunc(t.Keys, func(k bundle.TrustKey) bool { return bundle.SamePrincipal(k.Principal, owner) }) {
		return nil
	}
	return []cli.Warning{{Code: "OWNER_NOT_TRUSTED", Message: fmt.Sprintf("the owner %q is no principal of trust.json, so this keeps nobody from approving it: name one with --owner", owner)}}
}

func packWarnings(p *candidate.Packed, r *client.Receipt) []cli.Warning {
	var list []cli.Warning
	for _, id := range p.Skipped {
		list = append(list, cli.Warning{Code: "RUN_FAILED", Message: "the paper or live run " + id + " has failed: it is no evidence and not in the bundle"})
	}
	if r != nil {
		for _, w := range r.Warnings {
			list = append(list, cli.Warning{Code: w.Code, Message: strings.TrimSpace(w.Message + " " + w.Pointer)})
		}
	}
	return list
}

func (a *app) candidateReplayCommand() *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:   "replay <slug>",
		Short: "Execute the pinned runs of a candidate again and compare",
		Long: "Replay executes every run that a candidate bundle pins again, from exactly its plugin, candles, parameters\n" +
			"and rules, and compares the hashes of what comes out. The plugin is built from this checkout where that\n" +
			"gives the pinned bytes, else it is the copy of the state directory. With a key the result is signed; with\n" +
			"--submit the control plane records it. It counts for promotion when the signer has not packed the bundle.",
		Example: cli.Examples(
			"lab candidate replay sma_cross --candidate CR    # compare, and sign nothing",
			"lab candidate replay sma_cross --candidate CR --sign-key reviewer.key --submit",
		),
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&o.dir, "dir", "", "folder of the strategy (default: looked up by slug)")
	c.Flags().StringVar(&o.candidate, "candidate", "", "the revision to repeat (required)")
	a.planeFlags(c, &o.planeOptions, "post the signed result to the control plane; needs --sign-key")
	a.Arguments(c, a.Slugs)
	a.Folder(c, "dir")
	a.Offer(c, "candidate", a.candidates)
	return a.Action(c, func(ctx context.Context, args []string) (cli.Outcome, error) {
		return a.candidateReplay(ctx, args[0], o)
	})
}

// replayOptions are the flags of lab candidate replay.
type replayOptions struct {
	planeOptions
	dir, candidate string
}

// findCandidate is a revision of this strategy, from the state directory or else a plane.
func (a *app) findCandidate(ctx context.Context, h *evaluate.Host, slug, revision string, o *planeOptions) (*bundle.Document, error) {
	var plane *client.Client
	if a.named(o) {
		var err error
		if plane, err = a.plane(o); err != nil {
			return nil, err
		}
	}
	doc, err := candidate.Find(ctx, candidate.NewShelf(h.StateDir), plane, revision)
	if err != nil {
		return nil, err
	}
	if own := doc.Bundle.Candidate.Slug; own != slug {
		return nil, &cli.Error{
			Code: "RUN_NOT_FOUND", Message: fmt.Sprintf("%s is of %s, not of %s", revision, own, slug), Details: map[string]any{"flag": "--candidate"},
		}
	}
	return doc, nil
}

// checkoutPlugin is the program that this checkout builds, if it is the pinned one; "" and
// why not otherwise.
func (a *app) checkoutPlugin(ctx context.Context, slug, dir, want string) (path, why string, err error) {
	p, err := a.project(slug, dir)
	if err != nil && dir == "" {
		return "", "there is no folder of the strategy here", nil
	}
	if err != nil {
		return "", "", err
	}
	built, err := a.build(ctx, p, "")
	switch {
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case err != nil:
		return "", "the program cannot be built here: " + inOneLine(err), nil
	case built.SHA256 != want:
		return "", fmt.Sprintf("%s gives the program %s, the candidate pins %s", filepath.Base(p.Dir), cli.Short(built.SHA256), cli.Short(want)), nil
	}
	return built.Path, "", nil
}

// inOneLine is an error of several lines, such as that of the Go tool, for a warning.
func inOneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

func (a *app) candidateReplay(ctx context.Context, slug string, o replayOptions) (cli.Outcome, error) {
	if err := project.CheckSlug(slug); err != nil {
		return cli.Outcome{}, err
	}
	if o.candidate == "" {
		return cli.Outcome{}, cli.Usage("--candidate", "--candidate is missing: the revision to repeat")
	}
	key, err := a.key(&o.planeOptions)
	if err != nil {
		return cli.Outcome{}, err
	}
	if o.submit && key == nil {
		return cli.Outcome{}, cli.Usage("--sign-key", "--submit needs --sign-key: only a signed result counts")
	}
	out := &candidate.Replayed{}
	var warnings []cli.Warning
	err = a.WithHost(ctx, func(h *evaluate.Host) error {
		doc, err := a.findCandidate(ctx, h, slug, o.candidate, &o.planeOptions)
		if err != nil {
			return err
		}
		plugin, why, err := a.checkoutPlugin(ctx, slug, o.dir, doc.Bundle.Strategy.Plugin.SHA256)
		if err != nil {
			return err
		}
		if out.PluginFrom = "checkout"; plugin == "" {
			out.PluginFrom = "store"
			warnings = append(warnings, cli.Warning{Code: "PLUGIN_NOT_BUILT", Message: why + ": its copy in the state directory is executed"})
		}
		if err := a.playAgain(ctx, h, doc, plugin, o.dir, out); err != nil {
			return err
		}
		if key == nil || out.Equal+out.Different == 0 {
			return nil
		}
		return a.signReplay(ctx, h, doc, key, &o.planeOptions, out)
	})
	if out.Runs == nil {
		return cli.Outcome{}, err
	}
	outcome := cli.Outcome{Result: out, Print: out.Print, Warnings: warnings}
	if err != nil {
		return outcome, err
	}
	return outcome, replayVerdict(out)
}

// playAgain executes the pinned runs, with a progress line for each.
func (a *app) playAgain(
	ctx context.Context, h *evaluate.Host, doc *bundle.Document, plugin, dir string, out *candidate.Replayed,
) error {
	var bar *cli.Progress
	end := func() {
		if bar != nil {
			bar.End()
		}
	}
	defer func() { end() }()
	list, err := candidate.Replay(ctx, h, &doc.Bundle, candidate.ReplayOptions{
		Plugin: plugin, Sources: a.sourcesOf(doc.Bundle.Candidate.Slug, dir),
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
	out.Equal, out.Different, out.NotRun = candidate.Count(list, candidate.Equal), candidate.Count(list, candidate.Different), candidate.Count(list, candidate.NotRun)
	return nil
}

// signReplay signs what was found, keeps it, and posts it where asked to: about the bytes
// that the plane has newest.
func (a *app) signReplay(ctx context.Context, h *evaluate.Host, doc *bundle.Document, key *ecdsa.PrivateKey, o *planeOptions, out *candidate.Replayed) error {
	origin := doc.Bundle.SealRequest.LogOrigin
	var plane *client.Client
	if o.submit {
		var err error
		if plane, err = a.plane(o); err != nil {
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
	envelope, err := candidate.Attest(doc, out.Runs, origin, key, time.Now())
	if err != nil {
		return err
	}
	out.Signed = true
	name, err := candidate.NewShelf(h.StateDir).KeepReplay(doc, envelope, key)
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
	receipt, err := candidate.SubmitReplay(ctx, plane, doc, envelope)
	out.Receipt = candidate.SubmittedOf(receipt)
	return err
}

// replayVerdict is the error of a replay that did not reproduce everything that can be.
func replayVerdict(out *candidate.Replayed) error {
	details := map[string]any{"candidate_revision_id": out.CandidateRevisionID, "runs": out.Runs, "signed": out.Signed, "path": out.Path, "receipt": out.Receipt}
	left := len(candidate.Unrepeated(out.Runs))
	switch {
	case out.Different > 0:
		return &cli.Error{Code: "NOT_REPRODUCED", Message: fmt.Sprintf("%d of %d runs came to something else", out.Different, len(out.Runs)), Details: details}
	case out.Equal == 0:
		return &cli.Error{Code: "INPUTS_MISSING", Message: fmt.Sprintf("none of %d runs could be executed again", len(out.Runs)), Details: details}
	case left > 0:
		return &cli.Error{Code: "INCONCLUSIVE", Message: fmt.Sprintf("%d runs are equal, %d could not be executed again", out.Equal, left), Details: details}
	}
	return nil
}

// candidateQuestion is the question of a packed revision: exactly its plugin, parameters,
// data and rules.
func (a *app) candidateQuestion(ctx context.Context, slug string, o runOptions) (func(*evaluate.Host) (*evaluate.Prepared, error), error) {
	if len(o.set) > 0 || o.params != "" || o.paramsFile != "" || o.seed != "" || o.request != "" || o.plugin != "" {
		return nil, cli.Usage("--candidate", "--candidate fixes everything: leave --set, --params, --params-file, --seed, --request and --plugin out")
	}
	if err := project.CheckSlug(slug); err != nil {
		return nil, err
	}
	return func(h *evaluate.Host) (*evaluate.Prepared, error) {
		doc, err := a.findCandidate(ctx, h, slug, o.candidate, &planeOptions{})
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
func (a *app) baselineOf(ctx context.Context, h *evaluate.Host, slug, revision string) (string, error) {
	doc, err := a.findCandidate(ctx, h, slug, revision, &planeOptions{})
	if err != nil {
		return "", err
	}
	base, err := candidate.Baseline(&doc.Bundle)
	return base.RunID, err
}
