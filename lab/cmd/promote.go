package cmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/lab/candidate"
	"github.com/assay-run/assay/lab/request"
)

// promoteOptions are the flags of lab promote.
type promoteOptions struct {
	folderOption
	SignKey    string `flag:"sign-key" usage:"file of your private key (SERVICE_LAB_SIGN_KEY, default the one in the plane's folder)"`
	ControlURL string `flag:"control-url" usage:"address of a control plane that runs (SERVICE_CONTROL_URL, default: one is started for the time of the command)"`
	Run        string `flag:"run" usage:"the baseline (default: the newest plan's selected run, else the newest completed)"`
	Owner      string `flag:"owner" usage:"who answers for it (default $USER, the system's user or git's)"`
}

// How a plane is started and ended.
const (
	planeProgram = "governance"
	planeFolder  = "governance"
	planeStart   = 30 * time.Second
	planeEnd     = 10 * time.Second
)

// The codes of promotion.
const (
	codePlaneMissing = "CONTROL_PLANE_MISSING"
	codeNotPromoted  = "NOT_PROMOTED"
)

func promoteCommand(a *App) *cobra.Command {
	var o promoteOptions
	c := &cobra.Command{
		Use:   "promote <slug>",
		Short: "Walk a run as far as one person can: pack, submit, replay, up to paper",
		Long: "Promote packs the newest run of a strategy with its evidence, submits it to a control " +
			"plane, " +
			"executes it\nagain and signs what came out, and prints what is missing with its commands. " +
			"Without --control-url it\nstarts governance serve --policy solo on .assay/governance for as " +
			"long " +
			"as it runs; the key that it signs\nwith lies in that folder, too: anyone who owns the folder " +
			"could " +
			"have written what it has. What was done\nbefore is not done again, so the command may be " +
			"repeated. The exit code is 0 once the stage paper is reached,\nelse 3.",
		Example: Examples(
			"lab promote sma_cross",
			"lab promote sma_cross --json",
			"lab promote sma_cross --control-url http://127.0.0.1:8010 --sign-key me.key",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.Slugs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return promote(ctx, a, args[0], o)
	})
}

// promoted is what lab promote prints.
type promoted struct {
	CandidateRevisionID string           `json:"candidate_revision_id"`
	Stage               string           `json:"stage"`
	StageStatus         string           `json:"stage_status"`
	Plane               promotedPlane    `json:"plane"`
	Steps               []promotedStep   `json:"steps"`
	Pending             []client.Missing `json:"pending"`
	// Note is what the policy cannot show, "" where there is nothing to note.
	Note string `json:"note"`
	// Prospective is what the days after the seal have shown.
	Prospective string `json:"prospective"`
}

// promotedPlane is the control plane that was asked.
type promotedPlane struct {
	URL     string `json:"url"`
	Started bool   `json:"started"` // for this command
	Policy  string `json:"policy"`
}

// promotedStep is one step of the walk.
type promotedStep struct {
	Step string `json:"step"`
	// Done reports whether it was done now; what was done before is not repeated.
	Done bool `json:"done"`
	// Reason is why there was nothing to do, "" where that needs no word.
	Reason string `json:"reason,omitempty"`
}

func promote(ctx context.Context, a *App, slug string, o promoteOptions) (out Outcome, err error) {
	result := &promoted{Steps: []promotedStep{}, Pending: []client.Missing{}}
	url := FirstOf(o.ControlURL, a.IO.Getenv(envControlURL))
	if url == "" {
		plane, err := startPlane(ctx, a)
		if err != nil {
			return Outcome{}, err
		}
		defer func() { err = errors.Join(err, plane.end()) }()
		url, result.Plane.Started = plane.url, true
	}
	result.Plane.URL = url
	w := &walk{a: a, slug: slug, o: o, result: result}
	w.plane = planeOptions{SignKey: w.key(), ControlURL: url, Submit: true}
	if w.client, err = openPlane(a, &w.plane); err != nil {
		return Outcome{}, err
	}
	if err := w.submit(ctx); err != nil {
		return Outcome{}, err
	}
	failed := w.replay(ctx)
	if ctx.Err() != nil {
		return Outcome{}, failed
	}
	w.shadow(ctx)
	if err := w.look(ctx); err != nil {
		return Outcome{}, candidate.PlaneError(err)
	}
	out = Outcome{Result: result, Print: result.Print, Warnings: w.warnings}
	if failed != nil {
		return out, failed
	}
	if bundle.Rank(bundle.Stage(result.Stage)) < bundle.Rank(bundle.Paper) {
		return out, request.Errorf(codeNotPromoted, "%s is %s/%s: %d gates of paper are open",
			result.CandidateRevisionID, result.Stage, result.StageStatus, len(result.Pending)).
			With("candidate_revision_id", result.CandidateRevisionID, "stage", result.Stage,
				"stage_status", result.StageStatus, "plane", result.Plane, "steps", result.Steps,
				"pending", result.Pending, "note", result.Note, "prospective", result.Prospective)
	}
	return out, nil
}

// walk is one promotion on its way.
type walk struct {
	a        *App
	slug     string
	o        promoteOptions
	plane    planeOptions
	client   *client.Client
	result   *promoted
	warnings []Warning
}

// key is the file of the key to sign with: the one that was named, else that of the owner of the
// plane's folder, "" where there is none.
func (w *walk) key() string {
	if named := FirstOf(w.o.SignKey, w.a.IO.Getenv(envSignKey)); named != "" {
		return named
	}
	own := filepath.Join(w.a.FindStateDir(), planeFolder, "keys", "owner.key")
	if _, err := os.Stat(own); err != nil {
		return ""
	}
	return own
}

// submit packs and posts.
func (w *walk) submit(ctx context.Context) error {
	out, err := candidatePack(ctx, w.a, w.slug, candidateOptions{
		folderOption: w.o.folderOption, planeOptions: w.plane, Run: w.o.Run, Owner: w.o.Owner,
		Stage: string(bundle.Paper), Valid: "30d",
	})
	if err != nil {
		return err
	}
	packed := out.Result.(candidate.Result)
	w.result.CandidateRevisionID = packed.CandidateRevisionID
	w.warnings = append(w.warnings, slices.DeleteFunc(out.Warnings, func(x Warning) bool {
		return x.Code == "OWNER_NOT_TRUSTED" && w.result.Plane.Started // the folder has one owner
	})...)
	w.step("pack", !packed.Reused)
	w.step("submit", packed.Receipt != nil && !packed.Receipt.Duplicate)
	return nil
}

// replay executes the runs again where the plane waits for that.
func (w *walk) replay(ctx context.Context) error {
	missing, err := w.client.Pending(ctx, w.result.CandidateRevisionID, bundle.Paper)
	if err != nil {
		return candidate.PlaneError(err)
	}
	waits := slices.ContainsFunc(missing, func(m client.Missing) bool {
		return m.Kind == "replay" && m.Status == "missing"
	})
	if !waits || w.plane.SignKey == "" {
		w.step("replay", false)
		return nil
	}
	out, err := candidateReplay(ctx, w.a, w.slug, replayOptions{
		folderOption: w.o.folderOption, planeOptions: w.plane, Candidate: w.result.CandidateRevisionID,
	})
	w.warnings = append(w.warnings, out.Warnings...)
	if again, ok := out.Result.(*candidate.Replayed); ok {
		for _, run := range again.Runs {
			if run.Verdict != candidate.Equal {
				w.warnings = append(w.warnings,
					Warning{Code: run.Code, Message: run.RunID + ": " + run.Reason})
			}
		}
	}
	w.step("replay", err == nil)
	return err
}

// shadow plays the whole days after the seal, where this command has started the plane. What keeps
// it from that is a warning: paper does not wait for it.
func (w *walk) shadow(ctx context.Context) {
	if !w.result.Plane.Started || w.plane.SignKey == "" {
		w.result.Steps = append(w.result.Steps, promotedStep{Step: "shadow",
			Reason: "the plane's own shadow worker plays the days after the seal (governance shadow)"})
		return
	}
	program, err := planePath(w.a)
	if err != nil {
		return
	}
	cmd := exec.CommandContext(ctx, program, "shadow", "--once", "--json", "--key", w.plane.SignKey,
		"--control-url", w.result.Plane.URL, "--artifact-root", w.a.FindStateDir(), "--sandbox", "auto",
		"--log-level", "error")
	var text, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &stderr
	err = cmd.Run()
	step, failed := w.readRound(text.Bytes())
	if err != nil && len(failed) == 0 {
		failed = []string{stderr.String()}
	}
	if len(failed) > 0 {
		w.warnings = append(w.warnings, Warning{Code: "SHADOW_NOT_PLAYED", Message: "the days after the " +
			"seal were not played: " + inOneLine(errors.New(strings.Join(failed, "; ")))})
	}
	w.result.Steps = append(w.result.Steps, step)
}

// readRound is what governance shadow --json says of the revision, and why any revision was not played.
func (w *walk) readRound(text []byte) (step promotedStep, failed []string) {
	step.Step = "shadow"
	var round struct {
		Revisions []struct {
			ID     string `json:"candidate_revision_id"`
			Status string `json:"status"`
			Reason string `json:"reason"`
			Days   int    `json:"days"`
		} `json:"revisions"`
	}
	if json.Unmarshal(text, &round) != nil {
		return step, nil
	}
	for _, r := range round.Revisions {
		switch {
		case r.Status == "failed" && !slices.Contains(failed, r.Reason):
			failed = append(failed, r.Reason)
		case r.ID == w.result.CandidateRevisionID:
			step.Done, step.Reason = r.Days > 0, r.Reason
		}
	}
	return step, failed
}

// look asks where it stands now and what is missing.
func (w *walk) look(ctx context.Context) error {
	id := w.result.CandidateRevisionID
	plan, err := w.client.Plan(ctx, id, bundle.Paper)
	if err != nil {
		return err
	}
	w.result.Note = plan.Policy.Note
	w.result.Plane.Policy = fmt.Sprintf("%s v%d", plan.Policy.ID, plan.Policy.Version)
	state, err := w.client.State(ctx, id)
	if err != nil {
		return err
	}
	w.result.Stage, w.result.StageStatus = state.Stage, state.StageStatus
	w.result.Prospective = cmp.Or(state.Shadow.Reason,
		"not shown prospectively: no day after the seal was played (governance shadow)")
	missing, err := w.client.Pending(ctx, id, bundle.Paper)
	for _, m := range missing {
		if w.plane.SignKey != "" {
			m.Command = strings.ReplaceAll(m.Command, "--sign-key FILE", "--sign-key "+w.plane.SignKey)
			m.SeeWith = strings.ReplaceAll(m.SeeWith, "--sign-key FILE", "--sign-key "+w.plane.SignKey)
		}
		if m.Sentence == "" { // of an earlier plane
			m.Sentence, m.SeeWith = "Not shown: "+m.GateID+", because "+m.Reason+".", m.Command
		}
		if m.Status == "failed" { // the same evidence comes to the same
			m.SeeWith = strings.TrimPrefix(m.SeeWith, m.Command)
			m.Command = ""
		}
		w.result.Pending = append(w.result.Pending, m)
	}
	return err
}

func (w *walk) step(name string, done bool) {
	w.result.Steps = append(w.result.Steps, promotedStep{Step: name, Done: done})
}

// Print writes the walk for people: what is missing with failures first, and each command once.
func (p *promoted) Print(out io.Writer) {
	fmt.Fprintf(out, "%s  %s/%s, policy %s\n", p.CandidateRevisionID, p.Stage, p.StageStatus, p.Plane.Policy)
	for _, s := range p.Steps {
		did := map[bool]string{true: "done", false: "nothing new"}[s.Done]
		fmt.Fprintf(out, "  %-8s %s\n", s.Step, strings.TrimSuffix(did+": "+s.Reason, ": "))
	}
	list := slices.Clone(p.Pending)
	slices.SortStableFunc(list, func(a, b client.Missing) int {
		return cmp.Or(cmp.Compare(rankOf(b.Status), rankOf(a.Status)), cmp.Compare(a.SeeWith, b.SeeWith))
	})
	for i, m := range list {
		fmt.Fprintln(out, m.Sentence)
		if m.SeeWith != "" && (i+1 == len(list) || list[i+1].SeeWith != m.SeeWith) {
			fmt.Fprintf(out, "  see it with %s\n", m.SeeWith)
		}
	}
	if p.Note != "" {
		fmt.Fprintf(out, "note: %s\n", p.Note)
	}
	fmt.Fprintln(out, p.Prospective)
}

// rankOf is how bad a status of a gate is.
func rankOf(status string) int { return slices.Index([]string{"missing", "expired", "failed"}, status) }

// localPlane is a control plane that runs for the time of one command.
type localPlane struct {
	cmd *exec.Cmd
	url string
}

// startPlane starts governance serve on the folder of this state directory. Where another plane
// has it, that one is to be named.
func startPlane(ctx context.Context, a *App) (*localPlane, error) {
	program, err := planePath(a)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(a.FindStateDir(), planeFolder)
	cmd := exec.Command(program, "serve", "--policy", "solo", "--port", "0", "--log-level", "error",
		"--state-dir", dir, "--artifact-root", a.FindStateDir())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &localPlane{cmd: cmd}
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
				found <- url
			}
		}
		close(found) // the program has ended
	}()
	wait, cancel := context.WithTimeout(ctx, planeStart)
	defer cancel()
	select {
	case url, ok := <-found:
		if p.url = url; ok {
			return p, nil
		}
	case <-wait.Done():
	}
	_ = p.end() // what it wrote is the reason
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, request.Errorf(codePlaneMissing,
		"the control plane on %s did not start: %s (name one that runs with --control-url)",
		dir, inOneLine(errors.New(stderr.String()))).With("flag", "--control-url")
}

// planePath is the program of the control plane: beside this one, else in PATH.
func planePath(a *App) (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), planeProgram)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	for _, dir := range filepath.SplitList(a.IO.Getenv("PATH")) {
		path := filepath.Join(dir, planeProgram)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", request.Errorf(codePlaneMissing, "there is no program %s beside lab or in PATH: "+
		"make build makes it, or name a control plane that runs with --control-url", planeProgram).
		With("flag", "--control-url")
}

// end stops the plane and waits for it.
func (p *localPlane) end() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.AfterFunc(planeEnd, func() { _ = p.cmd.Process.Kill() }) // it has ended otherwise
	defer timer.Stop()
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}
