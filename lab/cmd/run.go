package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/govalues/decimal"
	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/split"
)

// runOptions are the flags of lab run.
type runOptions struct {
	sourceOptions
	Set        []string `flag:"set" usage:"one parameter, key=value; may be repeated"`
	Params     string   `flag:"params" usage:"parameters as a JSON object, instead of those of lab.json"`
	ParamsFile string   `flag:"params-file" usage:"a file with such an object, - for standard input"`
	Seed       string   `flag:"seed" usage:"root of all random numbers (default: that of lab.json)"`
	Request    string   `flag:"request" usage:"a request.json: exactly its plugin, candles, parameters and rules instead of lab.json"`
	Trial      string   `flag:"trial" usage:"PLAN:INDEX, a trial of a search: executed in full, its result must be the same"`
	Candidate  string   `flag:"candidate" usage:"a packed revision: exactly its program, parameters, candles and rules" complete:"candidates"`
	Force      bool     `flag:"force" usage:"execute again even if there is a result; it must be the same"`
	NoReuse    bool     `flag:"no-reuse" usage:"execute and store nothing, for timing"`
	RevealTest bool     `flag:"reveal-test" usage:"show the locked test metrics; this is noted, and later new trials of the family are post_peek"`
}

// folderOption is the flag of commands that look a strategy up.
type folderOption struct {
	Dir string `flag:"dir" usage:"folder of the strategy (default: looked up by slug)" complete:"folder"`
}

// sourceOptions are the flags of commands that build a strategy.
type sourceOptions struct {
	folderOption
	Plugin string `flag:"plugin" usage:"a finished program instead of building one"`
}

func runCommand(a *App) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run <slug>",
		Short: "Evaluate a strategy once: splits, walk-forward, stress",
		Long: "Run builds the strategy, plays every split of lab.json in a process of its own, repeats " +
			"the search\n" +
			"split under stress and stores the result. The same question has one answer: asked again, " +
			"nothing is\n" +
			"executed. The metrics of the test split are locked.",
		Example: Examples(
			"lab run sma_cross",
			"lab run sma_cross --set fast=5 --set slow=40",
			"lab run sma_cross --params '{\"fast\":5,\"slow\":40}' --json",
			"lab run sma_cross --request request.json    # exactly this question",
			"lab run sma_cross --trial plan_6rvs7gxczpvrxcpd:12    # a trial of a search, in full",
			"lab run sma_cross --candidate CR --force    # what a candidate pins, with new times",
			"lab run sma_cross --force    # execute again and compare the result",
			"lab run sma_cross --reveal-test    # show the test, which is then no longer clean",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.Slugs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return runStrategy(ctx, a, args[0], o)
	})
}

func runStrategy(ctx context.Context, a *App, slug string, o runOptions) (Outcome, error) {
	if o.Force && o.NoReuse {
		return Outcome{}, Usage("--no-reuse", "--force and --no-reuse exclude each other")
	}
	if o.RevealTest && o.NoReuse {
		return Outcome{},
			Usage("--reveal-test",
				"--reveal-test and --no-reuse exclude each other: nothing would be stored that could be "+
					"shown")
	}
	if o.Trial != "" {
		return runTrial(ctx, a, slug, o)
	}
	ask, err := resolveRequest(ctx, a, slug, o)
	if err != nil {
		return Outcome{}, err
	}
	var answer *request.Result
	var test *artifact.LockedMetrics
	var place *registry.Place
	err = a.WithHost(ctx, func(h *request.Host) error {
		prepared, err := ask(h)
		if err != nil {
			return err
		}
		defer prepared.Close()
		defer a.Employ(0, prepared.Candles())()
		bar := a.Progress("run "+prepared.RunID).Count("candles", 0)
		defer bar.End()
		answer, err = h.Run(ctx, prepared, request.Options{
			Force: o.Force, NoReuse: o.NoReuse, Progress: bar.Update, Author: authorName(a),
			Waiting: func(owner string) { a.say("waiting for %s, which answers the same question", owner) },
		})
		if err == nil && o.RevealTest && answer.Failure == nil {
			test, err = revealTest(ctx, a, h, answer, "run")
		}
		if err == nil && !o.NoReuse {
			if place, err = selection.PlaceOf(ctx, h.Registry, h.Artifacts, answer.RunID); err == nil {
				sayPage(ctx, a, h, answer.RunID)
			}
		}
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	return runOutcome(a, answer, test, place, o.RevealTest)
}

// runOutcome is an answer as a command gives it, with the error of one that has failed.
func runOutcome(a *App, answer *request.Result, test *artifact.LockedMetrics, place *registry.Place,
	reveal bool) (Outcome, error) {
	out := Outcome{
		Result: runResult(answer, test, place), Print: func(w io.Writer) {
			printRun(w, answer, test, place)
		}, Warnings: runWarnings(answer),
	}
	if reveal && test == nil && answer.Failure == nil {
		out.Warnings = append(out.Warnings,
			Warning{Code: "NO_TEST", Message: "the splits of this run have no test that could be revealed"})
	}
	if f := answer.Failure; f != nil {
		if f.Capsule != nil {
			a.say("repeat it with: lab replay %s",
				filepath.Join(a.RunsDir(), answer.RunID, filepath.FromSlash(f.Capsule.Path)))
		}
		return out, runFailed("", answer).With("log_tail", f.LogTail)
	}
	return out, nil
}

// runFailed is the error of a run whose plugin failed.
func runFailed(which string, x *request.Result) *Error {
	f := x.Failure
	return request.Errorf(request.CodeRunFailed, "%ssplit %s failed: %s: %s", which, f.SplitID, f.Code,
		f.Message).
		With("run_id", x.RunID, "split_id", f.SplitID, "code", f.Code, "failure_capsule", f.Capsule)
}

// resolveRequest finds out what is asked, from lab.json or from a request, before anything
// is opened; the function that it returns looks it up.
func resolveRequest(ctx context.Context, a *App, slug string,
	o runOptions) (func(*request.Host) (*request.Prepared, error), error) {
	if o.Candidate != "" {
		return requestFromCandidate(ctx, a, slug, o)
	}
	if o.Request != "" {
		return requestFromFile(ctx, a, slug, o)
	}
	p, err := findProject(a, slug, o.Dir)
	if err != nil {
		return nil, err
	}
	built, err := buildPlugin(ctx, a, p, o.Plugin)
	if err != nil {
		return nil, err
	}
	if err := noteSuspects(ctx, a, built, p); err != nil {
		return nil, err
	}
	q := request.FromProject(p, built)
	if q.Params, err = o.parameters(p.Config.Params); err != nil {
		return nil, err
	}
	if o.Seed != "" {
		if q.Seed, err = strconv.ParseUint(o.Seed, 10, 64); err != nil {
			return nil, Usage("--seed", "%q is not a whole number below 2^64", o.Seed)
		}
	}
	return func(h *request.Host) (*request.Prepared, error) { return h.Prepare(ctx, q) }, nil
}

// noteSuspects warns of what makes runs of a program that was built here differ. It is no
// part of the report, which another build of the same program must have as well.
func noteSuspects(ctx context.Context, a *App, built project.Built, p *project.Project) error {
	if built.SourceSHA256 == "" {
		return nil
	}
	if built.SDKEdited {
		a.Note(Warning{Code: "SDK_EDITED",
			Message: "the folder sdk has been edited: the run is marked debug and " +
				"cannot be packed; lab sdk update puts it back"})
	}
	_, found, err := suspectsOf(ctx, p)
	if len(found) > 0 {
		a.Note(Warning{Code: "SOURCE", Message: strings.Join(found, "; ")})
	}
	return err
}

// requestFromFile is that of a request file. Its splits are those of the splits.json
// beside it, as in a run's folder, else made by the scheme that it names.
func requestFromFile(ctx context.Context, a *App, slug string,
	o runOptions) (func(*request.Host) (*request.Prepared, error), error) {
	if len(o.Set) > 0 || o.Params != "" || o.ParamsFile != "" || o.Seed != "" {
		return nil, Usage("--request",
			"--request fixes everything: leave --set, --params, --params-file and --seed out")
	}
	if err := project.CheckSlug(slug); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(o.Request)
	if err != nil {
		return nil, Usage("--request", "%v", err)
	}
	r, err := request.ReadRequest(text)
	if err == nil {
		err = request.OfRun(r)
	}
	if err != nil {
		return nil, err
	}
	scheme := split.Scheme{Scheme: r.Splits.Scheme}
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(o.Request), "splits.json")); err == nil {
		var s artifact.Splits
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, Usage("--request", "splits.json beside it cannot be read: %v", err)
		}
		if scheme, err = request.SchemeOf(&s); err != nil {
			return nil, Usage("--request", "splits.json beside it: %v", err)
		}
	}
	return func(h *request.Host) (*request.Prepared, error) {
		return h.Repeat(ctx, r, request.Overrides{
			Slug: slug, Scheme: scheme, Plugin: o.Plugin,
		})
	}, nil
}

// revealTest notes a look at the locked test metrics of a run, and then looks. It is nil
// for a run without a test.
func revealTest(ctx context.Context, a *App, h *request.Host, x *request.Result,
	command string) (*artifact.LockedMetrics, error) {
	if !slices.ContainsFunc(x.Report.Splits, func(s artifact.SplitReport) bool {
		return s.ID == split.RoleTest
	}) {
		return nil, nil
	}
	peek := registry.Peek{RunID: x.RunID, FamilyID: x.Metadata.FamilyID, Command: command,
		Author: authorName(a)}
	if err := h.Registry.Peek(ctx, peek); err != nil {
		return nil, err
	}
	return artifact.ReadLocked(h.Artifacts.Dir(x.RunID), split.RoleTest)
}

// authorName is who uses the command line, for what is noted about people.
func authorName(a *App) string {
	return FirstOf(userName(a), "unknown")
}

// runWarnings are those of the report.
func runWarnings(x *request.Result) []Warning {
	list := []Warning{}
	if x.Withheld {
		list = append(list,
			Warning{Code: "METRICS_WITHHELD",
				Message: "no metrics are shown: nothing was stored and these parameters are not counted " +
					"as a trial of the family; run them without --no-reuse"})
	}
	for _, w := range x.Report.Warnings {
		list = append(list, Warning{Code: w.Code, Message: w.Message})
	}
	return append(list, refusedIntents(x)...)
}

// refusedIntents warns of intents that made or changed no order, on the split that has most of them. It is no
// part of the report, whose metrics count them.
func refusedIntents(x *request.Result) []Warning {
	most, on := 0.0, ""
	for _, s := range x.Report.Splits {
		if n, _ := s.Metrics.Get("rejected_intents"); n > most {
			most, on = n, s.ID
		}
	}
	if most == 0 {
		return nil
	}
	message := fmt.Sprintf("on %s %.0f intents did nothing, such as a cancel of an order that is unknown or "+
		"closed: lab export decisions %s --split %s has their reasons", on, most, x.RunID, on)
	return []Warning{{Code: "INTENTS_REFUSED", Message: message}}
}

// say prints a line for people on stderr.
func (a *App) say(format string, args ...any) {
	if !a.Quiet {
		fmt.Fprintf(a.IO.Err, format+"\n", args...)
	}
}

func findProject(a *App, slug, dir string) (*project.Project, error) {
	working, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p, err := project.Find(slug, dir, working)
	var missing *project.NotFoundError
	switch {
	case errors.As(err, &missing) && dir == "":
		return nil, notFound(missing, working)
	case err == nil && p.Config.Slug != slug:
		return nil, request.Errorf(request.CodeNameMismatch, "%s has the slug %q, not %q",
			filepath.Join(p.Dir, project.FileName), p.Config.Slug, slug).
			With("pointer", "/slug")
	}
	return p, err
}

// notFound names the strategies that there are and whose names are alike.
func notFound(missing *project.NotFoundError, working string) error {
	e := Classify(missing)
	var names []string
	for _, n := range project.List(working) {
		names = append(names, n.Slug)
	}
	if alike := hint.Nearest(missing.Slug, names); len(alike) > 0 {
		e.Message = fmt.Sprintf("did you mean %s? %s", strings.Join(alike, " or "), e.Message)
		e.Details["suggestions"] = alike
	}
	return e
}

// buildPlugin makes the plugin, or takes the finished one.
func buildPlugin(ctx context.Context, a *App, p *project.Project, plugin string) (project.Built, error) {
	if plugin != "" {
		return project.Finished(plugin)
	}
	sayFirstBuild(a, p)
	return p.Build(ctx, a.StateDir)
}

// sayFirstBuild reports why a first build is slow.
func sayFirstBuild(a *App, p *project.Project) {
	if p.IsFirstBuild(a.StateDir) {
		if p.Config.Plugin.Python != "" {
			a.say("copying the interpreter and the libraries of %s, some seconds the first time", p.Slug)
		} else {
			a.say("compiling %s and the SDK, about a minute the first time", p.Slug)
		}
	}
}

// parameters are those of lab.json, replaced by --params or --params-file and changed
// by --set.
func (o *runOptions) parameters(base json.RawMessage) (json.RawMessage, error) {
	text := base
	switch {
	case o.Params != "" && o.ParamsFile != "":
		return nil, Usage("--params-file", "--params and --params-file exclude each other")
	case o.Params != "":
		text = json.RawMessage(o.Params)
	case o.ParamsFile == "-":
		b, err := io.ReadAll(io.LimitReader(os.Stdin, maxParams+1))
		if err != nil {
			return nil, err
		}
		text = b
	case o.ParamsFile != "":
		b, err := os.ReadFile(o.ParamsFile)
		if err != nil {
			return nil, Usage("--params-file", "%v", err)
		}
		text = b
	}
	if len(o.Set) == 0 {
		return text, nil
	}
	params := map[string]json.RawMessage{}
	if _, err := digest.CanonicalJSON(text); err != nil {
		return nil, request.Errorf(request.CodeParams, "the parameters: %v", err).
			With("pointer", "")
	}
	if err := json.Unmarshal(text, &params); err != nil || params == nil {
		return nil, request.Errorf(request.CodeParams, "the parameters are not a JSON object").
			With("pointer", "")
	}
	for _, s := range o.Set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return nil, Usage("--set", "%q is not of the form key=value", s)
		}
		params[key] = valueOf(value)
	}
	return json.Marshal(params)
}

// maxParams bounds what is read as parameters.
const maxParams = 1 << 20

// valueOf is JSON if it reads as such, else text.
func valueOf(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil { // a string always has a form
		return json.RawMessage(`""`)
	}
	return quoted
}

// runAnswer is the result of lab run --json.
type runAnswer struct {
	RunID       string `json:"run_id"`
	RequestHash string `json:"request_hash"`
	ResultHash  string `json:"result_hash"`
	Reused      bool   `json:"reused"`
	Status      string `json:"status"`
	// Summary is null where nothing was stored and nothing like it is counted.
	Summary  *artifact.Summary `json:"summary"`
	PostPeek bool              `json:"post_peek"`
	// Test is null unless it was revealed.
	Test *artifact.LockedMetrics `json:"test"`
	// Trials is which trial the run was, null for one that is not counted.
	Trials *registry.Place `json:"trials"`
	Path   string          `json:"path"`
}

func runResult(x *request.Result, test *artifact.LockedMetrics, place *registry.Place) runAnswer {
	out := runAnswer{
		RunID: x.RunID, RequestHash: x.RequestHash, ResultHash: x.Report.ResultHash, Reused: x.Reused,
		Status:   x.Report.Status,
		PostPeek: x.Metadata.PostPeek, Test: test, Trials: place, Path: "runs/" + x.RunID,
	}
	if !x.Withheld {
		out.Summary = &x.Metadata.Summary
	}
	return out
}

// printTimed is the table of a run whose numbers are withheld: how long it took, and what
// it was, split by split.
func printTimed(w io.Writer, x *request.Result) {
	v := x.Metadata.Volatile
	fmt.Fprintf(w, "%s  %s, not stored, %v, result %s\n", x.RunID, x.Report.Status,
		v.CompletedAt.Time().Sub(v.StartedAt.Time()), Short(x.Report.ResultHash))
	rows := [][]string{{"SPLIT", "FROM", "TO", "CANDLES", "DECISIONS"}}
	for _, s := range x.Report.Splits {
		rows = append(rows,
			[]string{s.ID, s.TSFrom.String()[:10], s.TSTo.String()[:10], fmt.Sprint(s.To - s.From),
				Short(s.DecisionHash)})
	}
	Table(w, rows)
}

// printRun is the table of a run: a line per split. test is nil while it is locked, place
// for what is no trial.
func printRun(w io.Writer, x *request.Result, test *artifact.LockedMetrics, place *registry.Place) {
	if x.Withheld {
		printTimed(w, x)
		return
	}
	state := x.Report.Status
	if x.Reused {
		state += ", reused"
	}
	if x.Metadata.PostPeek {
		state += ", tried after the test was seen"
	}
	fmt.Fprintf(w, "%s  %s\n", x.RunID, state)
	rows := [][]string{{"SPLIT", "FROM", "TO", "RETURN", "SHARPE", "MAX DRAWDOWN", "TRADES", "STATUS"}}
	for _, s := range x.Report.Splits {
		if test != nil && s.ID == test.SplitID {
			s.Status, s.Metrics = test.Status+", revealed", test.Metrics
		}
		if s.HasFailed() { // what it came to until then counts for nothing
			s.Metrics = metric.Values{}
		}
		rows = append(rows,
			append([]string{s.ID, s.TSFrom.String()[:10], s.TSTo.String()[:10]},
				append(metricCells(s.Metrics), s.Status)...))
	}
	if wf := x.Report.WalkForward; wf != nil {
		rows = append(rows,
			append([]string{"walk-forward", fmt.Sprintf("%d windows", wf.Windows),
				fmt.Sprintf("%d days", wf.Days)}, append(metricCells(wf.Metrics), "")...))
	}
	Table(w, rows)
	if place != nil {
		fmt.Fprintln(w, place)
	}
	for i := range x.Report.Stress {
		fmt.Fprintln(w, stressLine(&x.Report.Stress[i]))
	}
}

// stressLine is a repetition under stress in one line. One that earns more than twice
// what the base does, or a profit where the base loses, is remarked: harder conditions
// have no reason to help.
func stressLine(s *artifact.Stress) string {
	line := fmt.Sprintf("stress %s: %s (net %s, base %s", s.ID, s.Verdict, s.Stressed.NetPnL, s.Base.NetPnL)
	if n := s.Stressed.LateMessages; n > 0 {
		line += fmt.Sprintf(", %d late messages", n)
	}
	line += ")"
	stressed, err := decimal.Parse(s.Stressed.NetPnL)
	base, bad := decimal.Parse(s.Base.NetPnL)
	if err != nil || bad != nil || !stressed.IsPos() {
		return line
	}
	if half, err := stressed.Quo(decimal.MustNew(2, 0)); err != nil || half.Cmp(base) <= 0 {
		return line
	}
	return line + "; far better than the base: find out why before you rely on either"
}

// metricCells are return, Sharpe ratio, drawdown and trades; n/a where undefined.
func metricCells(v metric.Values) []string {
	cell := func(key, format string, factor float64) string {
		x, defined := v.Get(key)
		if !defined {
			return "n/a"
		}
		return fmt.Sprintf(format, factor*x)
	}
	return []string{
		cell("total_return", "%+.2f %%", 100), cell("sharpe_ratio", "%.2f", 1),
		cell("max_drawdown", "%.2f %%", 100), cell("total_trades", "%.0f", 1),
	}
}

// gitTime is how long git may take to name the user.
const gitTime = 5 * time.Second

// userName is who uses the command line: by the environment, by the system's list of users, or
// by git, as in a container where the first two have no name; "" where none of them has one.
func userName(a *App) string {
	if name := FirstOf(a.IO.Getenv("USER"), a.IO.Getenv("USERNAME")); name != "" {
		return name
	}
	if who, err := user.Current(); err == nil && who.Username != "" {
		return who.Username
	}
	return FirstOf(gitSays("user.name"), gitSays("user.email"))
}

func gitSays(key string) string {
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "config", "--get", key).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
