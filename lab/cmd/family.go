package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/family"
	"github.com/assay-run/assay/lab/search/queue"
	"github.com/assay-run/assay/lab/search/selection"
)

// planOptions are the flags of lab family plan.
type planOptions struct {
	sourceOptions
	Hypothesis string `flag:"hypothesis" usage:"one sentence: why this should work (default: that of lab.json)"`
	Method     string `flag:"method" usage:"how points are picked: grid, random, sobol, lhs or sha (default: that of lab.json, else sobol)" values:"grid,random,sobol,lhs,sha"`
	MaxTrials  int    `flag:"max-trials" usage:"how many points are tried at most (default: that of lab.json, else 64)"`
	Seed       string `flag:"seed" usage:"root of the points of random methods (default: that of lab.json)"`
	Amends     string `flag:"amends" usage:"the plan that this one changes, by its hash or id"`
	Register   bool   `flag:"register" usage:"name the plan in the log of the control plane before it runs"`
	ControlURL string `flag:"control-url" usage:"address of the control plane for --register (SERVICE_CONTROL_URL, default http://127.0.0.1:8010)"`
}

// searchOptions are the flags of lab family run.
type searchOptions struct {
	sourceOptions
	Plan    string `flag:"plan" usage:"id of the plan, or its beginning (default: the newest of the strategy)"`
	Workers int    `flag:"workers" usage:"how many trials are played side by side (default: number of CPUs)" min:"1"`
	Folders string `flag:"folders" usage:"which trials keep a folder: all, or selected: the selected one and failed ones (default: all up to 64 trials, else selected)" values:"all,selected"`
	onOptions
}

func familyCommand(a *App) *cobra.Command {
	return a.Group("family", "Search parameters by a plan that is registered before", "",
		familyPlanCommand(a), familyRunCommand(a))
}

func familyPlanCommand(a *App) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan <slug>",
		Short: "Register a search before it begins",
		Long: "Plan fixes everything about a search before the first number is seen: the hypothesis, the " +
			"space of\n" +
			"parameters of lab.json's family block, every point that will be tried, what is wanted and " +
			"how the winner\n" +
			"is selected. The plan is written and its hash registered; nothing is executed.",
		Example: Examples(
			"lab family plan sma_cross",
			"lab family plan sma_cross --method lhs --max-trials 200 --hypothesis \"Trends outlast the "+
				"lag of two averages.\"",
			"lab family plan sma_cross --register",
			"lab family plan sma_cross --max-trials 400 --amends plan_6rvs7gxczpvrxcpd    # more of an "+
				"earlier plan",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.Slugs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		options := family.PlanOptions{Hypothesis: o.Hypothesis, Method: o.Method}
		if c.Flags().Changed("max-trials") {
			options.MaxTrials = &o.MaxTrials
		}
		if o.Seed != "" {
			seed, err := strconv.ParseUint(o.Seed, 10, 64)
			if err != nil {
				return Outcome{}, Usage("--seed", "%q is not a whole number below 2^64", o.Seed)
			}
			options.Seed = &seed
		}
		if c.Flags().Changed("hypothesis") && strings.TrimSpace(o.Hypothesis) == "" {
			return Outcome{},
				request.Errorf(family.CodeHypothesis, "say in one sentence why this should work").
					With("flag", "--hypothesis")
		}
		return familyPlan(ctx, a, args[0], o, options)
	})
}

// familyPlanned is the result of lab family plan --json.
type familyPlanned struct {
	PlanID   string `json:"plan_id"`
	PlanHash string `json:"plan_hash"`
	Slug     string `json:"slug"`
	FamilyID string `json:"family_id"`
	// Added is false for a plan that was registered before.
	Added  bool   `json:"added"`
	Method string `json:"method"`
	Trials int    `json:"trials"`
	// Windows is how many walk-forward windows each trial has, Left how many points of a
	// grid max_trials leaves out.
	Windows int `json:"windows"`
	Left    int `json:"left"`
	// NTrials is N so far: what was tried on these days, NTrialsFamily how much of it in the
	// family.
	NTrials       int     `json:"n_trials"`
	NTrialsFamily int     `json:"n_trials_family"`
	Amends        *string `json:"amends"`
	Path          string  `json:"path"`
	Next          string  `json:"next"`
	// RegisteredAt is when the control plane first had it, null without --register.
	RegisteredAt *string `json:"registered_at"`
}

func familyPlan(ctx context.Context, a *App, slug string, o planOptions,
	options family.PlanOptions) (Outcome, error) {
	p, err := findProject(a, slug, o.Dir)
	if err != nil {
		return Outcome{}, err
	}
	built, err := buildPlugin(ctx, a, p, o.Plugin)
	if err != nil {
		return Outcome{}, err
	}
	var made *family.Proposed
	err = a.WithHost(ctx, func(h *request.Host) error {
		made, err = family.Propose(ctx, h,
			family.Proposal{Project: p, Built: built, Options: options, Amends: o.Amends,
				Author: authorName(a)})
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	out := familyPlanned{
		PlanID: made.ID, PlanHash: made.Hash, Slug: slug, FamilyID: made.Plan.FamilyID, Added: made.Added,
		Method: string(made.Plan.Method),
		Trials: len(made.Plan.Trials), Windows: made.Windows, Left: made.Left, NTrials: made.Trials,
		NTrialsFamily: made.FamilyTrials, Amends: made.Plan.Amends,
		Path: filepath.ToSlash(filepath.Join("families", slug, made.ID, "plan.json")),
		Next: familyNext(a, slug, made.ID, o.sourceOptions),
	}
	if o.Register {
		if out.RegisteredAt, err = registerPlan(ctx, a, o.ControlURL, made); err != nil {
			return Outcome{}, err
		}
	}
	return Outcome{Result: out, Warnings: planWarnings(made), Print: func(w io.Writer) {
		printPlanned(w, made, out)
	}}, nil
}

func printPlanned(w io.Writer, made *family.Proposed, out familyPlanned) {
	state := "registered"
	if !out.Added {
		state = "registered before"
	}
	fmt.Fprintf(w, "%s  %s\n", out.PlanID, state)
	plays := "trials"
	if made.Plan.SHA != nil {
		plays = fmt.Sprintf("trials, halved by %d from %d windows up", made.Plan.SHA.Eta,
			made.Plan.SHA.MinWindows)
	}
	rows := [][]string{
		{"hash", out.PlanHash},
		{"hypothesis", made.Plan.Hypothesis},
		{"search", fmt.Sprintf("%s, %d %s, %d walk-forward windows each", out.Method, out.Trials, plays,
			out.Windows)},
		{"objective",
			fmt.Sprintf("%s of %s (%s), selected by %s", made.Plan.Objective.Metric, made.Plan.Objective.On,
				made.Plan.Objective.Direction, made.Plan.SelectionRule)},
		{"N so far",
			fmt.Sprintf("%d trials on these days, %d of them of %s (%s)", out.NTrials, out.NTrialsFamily,
				out.FamilyID, registry.NotCounted)},
	}
	if out.RegisteredAt != nil {
		rows = append(rows, []string{"in the log", *out.RegisteredAt +
			": it claims a smaller N only on candles that open after this"})
	}
	if out.Amends != nil {
		rows = append(rows, []string{"amends", *out.Amends})
	}
	Table(w, rows)
	fmt.Fprintf(w, "next: %s\n", out.Next)
}

// familyNext is the command that executes or resumes a plan, with what it needs to find
// the same state and the same strategy.
func familyNext(a *App, slug, planID string, o sourceOptions) string {
	words := []string{"lab family run", slug, "--plan", planID}
	if a.StateDir != a.UnnamedStateDir() {
		words = append(words, "--state-dir", quoted(a.StateDir))
	}
	if o.Dir != "" {
		words = append(words, "--dir", quoted(o.Dir))
	}
	if o.Plugin != "" {
		words = append(words, "--plugin", quoted(o.Plugin))
	}
	return strings.Join(words, " ")
}

// quoted is a word for a shell.
func quoted(word string) string {
	if strings.ContainsAny(word, " \t\n'\"$&;<>()|*?[]#~\\`") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

func familyRunCommand(a *App) *cobra.Command {
	var o searchOptions
	c := &cobra.Command{
		Use:   "run <slug>",
		Short: "Execute or continue a registered search",
		Long: "Run plays every trial of a plan on its walk-forward windows, never on validation or test, " +
			"says what the\n" +
			"search as a whole would have earned, selects one trial by the plan's rule and says what so " +
			"many trials have\n" +
			"done to its numbers. What is finished is not executed again: interrupted, run goes on where " +
			"it was.",
		Example: Examples(
			"lab family run sma_cross",
			"lab family run sma_cross --plan plan_6rvs7gxczpvrxcpd --workers 4",
			"lab family run sma_cross --on nats://127.0.0.1:4222 --sign-key keys/me.key",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.Slugs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		if c.Flags().Changed("plan") && o.Plan == "" {
			return Outcome{}, Usage("--plan", "--plan wants the id of a plan")
		}
		return familyRun(ctx, a, args[0], o)
	})
}

// withSearch opens a plan whose inputs are what they were. The plan is looked at before
// anything is built or executed.
func withSearch(ctx context.Context, a *App, slug string, o searchOptions,
	use func(*request.Host, *family.Search) error) error {
	p, err := findProject(a, slug, o.Dir)
	if err != nil {
		return err
	}
	return a.WithHost(ctx, func(h *request.Host) error {
		file, err := family.Find(ctx, h, slug, o.Plan)
		if err != nil {
			return err
		}
		built, err := buildPlugin(ctx, a, p, o.Plugin)
		if err != nil {
			return err
		}
		s, err := family.Open(ctx, h, p, built, file)
		if err != nil {
			return err
		}
		defer s.Close()
		return use(h, s)
	})
}

func familyRun(ctx context.Context, a *App, slug string, o searchOptions) (Outcome, error) {
	var out Outcome
	err := withSearch(ctx, a, slug, o, func(h *request.Host, s *family.Search) error {
		resume := familyNext(a, slug, s.ID, o.sourceOptions)
		if s.Departs {
			a.Note(Warning{Code: "LAB_JSON_CHANGED",
				Message: "lab.json differs from the plan by now: the plan's rules are used"})
		}
		done, total := 0, len(s.Plan.Trials)
		outcome, run, err := searchFamily(ctx, a, h, s, o, &done, &total)
		if err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled)) {
			return request.Errorf(request.CodeInterrupted,
				"interrupted after %d of %d trials; go on with: %s", done, total, resume).
				With("plan_id", s.ID, "done", done, "total", total, "resume", resume)
		}
		if outcome == nil {
			return err
		}
		out = Outcome{
			Result: familyResult(s, outcome, run), Warnings: familyWarnings(outcome),
			Print: func(w io.Writer) {
				printFamily(w, s, outcome, run, filepath.Join(a.StateDir, filepath.FromSlash(pagePath(s.ID))))
			},
		}
		if err != nil {
			return err
		}
		return familyFailure(s, outcome, run)
	})
	return out, err
}

// searchFamily plays, concludes, runs the selected parameters, and writes the page. An outcome
// beside an error is one whose selected run could not be made.
func searchFamily(ctx context.Context, a *App, h *request.Host, s *family.Search, o searchOptions, done,
	total *int) (*family.Outcome, *request.Result, error) {
	bar := a.Progress("family "+s.ID).Count("trials", 0)
	defer bar.End()
	defer a.Employ(o.Workers, s.Candles())()
	begun := false
	options := family.Options{
		Workers: o.Workers, Author: authorName(a), Folders: family.Folders(o.Folders),
		Progress: func(st family.State) {
			if executed := st.Done > st.Known; !executed || !begun {
				// What was known does not count for the speed.
				begun = executed
				bar.Count("trials", int64(st.Known))
			}
			*done, *total = st.Done, st.Total
			shown := State{Done: int64(st.Done), Total: int64(st.Total), Running: st.Running,
				Failed: st.Failed}
			if st.Best != nil {
				shown.Best = fmt.Sprintf("best %.3g", *st.Best)
			}
			bar.Show(shown)
		},
		Waiting: func(owner string) { a.Logger.Info("another process is at a trial", "owner", owner) },
	}
	if o.On != "" {
		player, end, err := o.submit(ctx, a, "lab family run "+s.Plan.Slug, queue.Submission{Host: h,
			Root: s.Root(), Slug: s.Plan.Slug, PlanID: s.ID})
		if err != nil {
			return nil, nil, err
		}
		defer end()
		options.Elsewhere, options.Out = player, player.Out
	}
	searched, err := s.Run(ctx, options)
	if err != nil {
		return nil, nil, err
	}
	outcome, err := s.Conclude(ctx, searched)
	if err != nil {
		return nil, nil, err
	}
	var run *request.Result
	if selected := outcome.Result.Selected; selected != nil {
		if run, err = s.Evaluate(ctx, selected, request.Options{Author: authorName(a)}); err != nil &&
			ctx.Err() != nil {
			return nil, nil, err
		}
	}
	return outcome, run, errors.Join(err, familyPage(ctx, a, h, s, outcome, run))
}

// familyResult is the result of lab family run --json.
func familyResult(s *family.Search, o *family.Outcome, run *request.Result) any {
	out := struct {
		PlanID string `json:"plan_id"`
		Path   string `json:"path"`
		// Executed counts the plays of trials that were not answered before.
		Executed int            `json:"executed"`
		Family   *family.Result `json:"family"`
		// Verdict is that of selection_bias, null without a selected trial.
		Verdict    *string `json:"verdict"`
		Strong     bool    `json:"strong"`
		ReasonCode string  `json:"reason_code"`
		// RunID is the run of kind run with the selected parameters, null without one.
		RunID *string `json:"run_id"`
	}{PlanID: s.ID, Path: filepath.ToSlash(filepath.Join("families", s.Plan.Slug, s.ID)),
		Executed: o.Executed, Family: o.Result}
	if v := o.Verdict; v != nil {
		out.Verdict, out.Strong, out.ReasonCode = &v.Verdict, v.Strong, v.ReasonCode
	}
	if run != nil {
		out.RunID = &run.RunID
	}
	return out
}

func familyWarnings(o *family.Outcome) []Warning {
	var list []Warning
	for _, w := range o.Warnings {
		list = append(list, Warning{Code: w.Code, Message: w.Message})
	}
	if o.Blind > 0 {
		list = append(list, Warning{Code: "RUNGS_BLIND", Message: fmt.Sprintf(
			"%d trials went on to a longer rung without an objective, by their index alone: the windows "+
				"of a rung are too few to measure them, raise sha.min_windows", o.Blind)})
	}
	if x := o.Result.Optimised; x != nil && x.Undefined["metrics"] == family.ReasonNondeterministic {
		list = append(list, Warning{
			Code: request.CodeNondeterminism,
			Message: "a trial that was played again has decided differently: no number of this family can " +
				"be repeated",
		})
	}
	return list
}

// familyFailure is why a family that has come to its end has failed nevertheless.
func familyFailure(s *family.Search, o *family.Outcome, run *request.Result) error {
	switch {
	case o.Aborted != "":
		return request.Errorf("FAMILY_ABORTED", "%d of the first %d trials failed (%s): %s",
			o.Result.Counts.Failed, len(o.Trials),
			strings.ReplaceAll(o.Aborted, "_", " "), failures(o.Trials)).
			With("plan_id", s.ID, "rule", o.Aborted, "failed", o.Result.Counts.Failed, "trials",
				len(o.Trials), "path", s.Dir)
	case run != nil && run.Failure != nil:
		return runFailed("the run of the selected parameters: ", run)
	}
	return nil
}

// failures counts the codes of failed trials, in the order in which they came up.
func failures(trials []*family.Trial) string {
	var codes []string
	n := map[string]int{}
	for _, t := range trials {
		if t.Status == family.Failed {
			if n[t.FailureCode]++; n[t.FailureCode] == 1 {
				codes = append(codes, t.FailureCode)
			}
		}
	}
	for i, code := range codes {
		codes[i] = fmt.Sprintf("%s %d times", code, n[code])
	}
	return strings.Join(codes, ", ")
}

// mostShown is how many trials the terminal shows.
const mostShown = 10

// printFamily prints the estimate of the whole procedure first: it is the number that
// a search like this can expect.
func printFamily(w io.Writer, s *family.Search, o *family.Outcome, run *request.Result, file string) {
	r := o.Result
	fmt.Fprintf(w, "%s  %s\n", s.ID, r.Status)
	if x := r.Optimised; x != nil {
		fmt.Fprintln(w,
			"\nwalk-forward optimised: the best of each training window, judged on the test that follows")
		rows := [][]string{{"WINDOW", "CHOSEN", "TRAIN", "TEST"}}
		for _, c := range x.Windows {
			chosen := "none"
			if c.ChosenTrial != nil {
				chosen = "t" + strconv.Itoa(*c.ChosenTrial)
			}
			rows = append(rows,
				[]string{c.SplitID, chosen, family.Number(c.TrainObjective), family.Number(c.TestObjective)})
		}
		Table(w, rows)
		if x.Metrics != nil {
			m := metricCells(*x.Metrics)
			fmt.Fprintf(w, "as one series: return %s, sharpe %s, max drawdown %s, %s trades; efficiency %s\n",
				m[0], m[1], m[2], m[3], family.Number(x.Efficiency))
		}
	}
	c := r.Counts
	fmt.Fprintf(w, "\ntrials: %d completed, %d failed, %d pruned\n", c.Completed, c.Failed, c.Pruned)
	printTrials(w, s, o)
	if f := failures(o.Trials); f != "" {
		fmt.Fprintf(w, "failed: %s\n", f)
	}
	if text := unranked(s.Plan.Objective.Metric, o.Trials); text != "" {
		fmt.Fprintln(w, text)
	}
	fmt.Fprintln(w)
	for _, line := range family.Sentences(o) {
		fmt.Fprintln(w, line)
	}
	if r.Selected != nil && run != nil {
		fmt.Fprintf(w, "\nselected by %s: t%d %s\nrun %s  %s, validation contaminated\n", r.Selected.Rule,
			r.Selected.TrialIndex, r.Selected.Params, run.RunID, run.Report.Status)
		fmt.Fprintf(w, "next: lab falsify %s --run %s\n", s.Plan.Slug, run.RunID)
	}
	fmt.Fprintf(w, "report: %s\n", file)
}

// unranked names the completed trials that the table of ranks leaves out, and why: their objective is
// undefined.
func unranked(objective string, trials []*family.Trial) string {
	completed := 0
	var why []metric.Reason
	of := map[metric.Reason][]string{}
	for _, t := range trials {
		if t.Status != family.Completed {
			continue
		}
		if completed++; t.Objective == nil {
			if of[t.Why] == nil {
				why = append(why, t.Why)
			}
			of[t.Why] = append(of[t.Why], "t"+strconv.Itoa(t.Index))
		}
	}
	n := 0
	var parts []string
	for _, reason := range why {
		list := of[reason]
		n += len(list)
		more := ""
		if len(list) > mostShown {
			list, more = list[:mostShown], ", ..."
		}
		said := strings.ReplaceAll(string(reason), "_", " ")
		parts = append(parts,
			fmt.Sprintf("%s: %s%s", cmp.Or(said, "undefined"), strings.Join(list, ", "), more))
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("not ranked: %d of %d completed trials have no %s (%s)", n, completed, objective,
		strings.Join(parts, "; "))
}

func printTrials(w io.Writer, s *family.Search, o *family.Outcome) {
	head := []string{"RANK", "TRIAL"}
	// An objective that every row has anyway needs no column of its own.
	other := !slices.Contains([]string{"total_return", "sharpe_ratio", "max_drawdown", "total_trades"},
		s.Plan.Objective.Metric)
	if other {
		head = append(head, strings.ToUpper(s.Plan.Objective.Metric))
	}
	rows := [][]string{append(head, "RETURN", "SHARPE", "MAX DRAWDOWN", "TRADES", "PLATEAU", "PARAMETERS")}
	best := make([]*family.Trial, mostShown)
	for _, t := range o.Trials {
		if t.Rank > 0 && t.Rank <= mostShown {
			best[t.Rank-1] = t
		}
	}
	for _, t := range best {
		if t == nil {
			break
		}
		row := []string{strconv.Itoa(t.Rank), "t" + strconv.Itoa(t.Index)}
		if other {
			row = append(row, family.Number(t.Objective))
		}
		rows = append(rows,
			append(append(row, metricCells(t.Metrics)...), family.Number(t.Plateau), string(t.Params)))
	}
	if len(rows) > 1 {
		Table(w, rows)
	}
}

// runTrial is lab run --trial PLAN:INDEX.
func runTrial(ctx context.Context, a *App, slug string, o runOptions) (Outcome, error) {
	name, number, ok := strings.Cut(o.Trial, ":")
	index, err := strconv.Atoi(number)
	if !ok || name == "" || err != nil || index < 0 {
		return Outcome{},
			Usage("--trial", "%q is not of the form PLAN:INDEX, for example plan_6rvs7gxczpvrxcpd:12",
				o.Trial)
	}
	if len(o.Set) > 0 || o.Params != "" || o.ParamsFile != "" || o.Seed != "" || o.Request != "" ||
		o.Candidate != "" || o.Force || o.NoReuse || o.RevealTest {
		return Outcome{},
			Usage("--trial",
				"--trial fixes everything, and a trial has no test: leave --set, --params, --params-file, "+
					"--seed, --request, --candidate, --force, --no-reuse and --reveal-test out")
	}
	var answer *request.Result
	var place *registry.Place
	err = withSearch(ctx, a, slug, searchOptions{sourceOptions: o.sourceOptions, Plan: name},
		func(h *request.Host, s *family.Search) error {
			bar := a.Progress("trial "+s.ID+":"+number).Count("candles", 0)
			defer bar.End()
			answer, err = s.Expand(ctx, index, request.Options{
				Progress: bar.Update, Waiting: func(owner string) {
					a.say("waiting for %s, which answers the same question", owner)
				},
			})
			if err == nil {
				place, err = selection.PlaceOf(ctx, h.Registry, h.Artifacts, answer.RunID)
			}
			return err
		})
	if err != nil {
		return Outcome{}, err
	}
	out, err := runOutcome(a, answer, nil, place, false)
	if answer.Metadata.Deviation {
		out.Warnings = append(out.Warnings,
			Warning{Code: "DEVIATION",
				Message: "the plan's rule has not selected this trial: its record says so from now on"})
	}
	return out, err
}
