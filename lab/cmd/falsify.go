package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/falsify"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/queue"
)

// falsifyOptions are the flags of lab falsify.
type falsifyOptions struct {
	Dir          string   `flag:"dir" usage:"folder of the strategy, where it has to be run first (default: looked up by slug)" complete:"folder"`
	Plugin       string   `flag:"plugin" usage:"a finished program instead of building one, where it has to be run first"`
	Run          string   `flag:"run" usage:"the run to attack (default: the one that was completed last)"`
	Candidate    string   `flag:"candidate" usage:"a packed revision: its baseline is attacked" complete:"candidates"`
	Profile      string   `flag:"profile" usage:"a file with other counts and thresholds than falsify-profile/2"`
	PrintProfile bool     `flag:"print-profile" usage:"print the profile that would be used, and attack nothing"`
	Full         bool     `flag:"full" usage:"999 replays instead of 199, and the whole search on shuffled candles"`
	Only         []string `flag:"only" usage:"make only this test; may be repeated" split:","`
	Skip         []string `flag:"skip" usage:"skip this test; may be repeated" split:","`
	Force        bool     `flag:"force" usage:"attack again even if there is a result; it must be the same"`
	RevealTest   bool     `flag:"reveal-test" usage:"show the locked test metrics of the run; this is noted, and later new trials of the family are post_peek"`
	Workers      int      `flag:"workers" usage:"how many replays are made side by side here (default: number of CPUs)"`
	onOptions
}

func falsifyCommand(a *App) *cobra.Command {
	var o falsifyOptions
	c := &cobra.Command{
		Use:   "falsify <slug>",
		Short: "Attack a run with a battery of tests",
		Long: "Falsify plays a completed run again and again: repeated, candle by candle, without the " +
			"candles to come,\n" +
			"at higher costs, later, on noisy, shuffled and reversed prices, beside its parameters, and " +
			"against chance\n" +
			"and holding. Each test attacks one claim. A gate that fails refutes the run and the exit " +
			"code is 1; with\n" +
			"a gate that says nothing it is 3. The run itself is not touched, and its test split is never " +
			"played.",
		Example: Examples(
			"lab falsify sma_cross    # the run that was completed last; there is one first if there is none",
			"lab falsify sma_cross --run run_6rvs7gxczpvrxcpd --full",
			"lab falsify sma_cross --candidate CR    # the baseline of a candidate",
			"lab falsify sma_cross --only cost_stress --only delay_stress",
			"lab falsify sma_cross --skip permuted_candles --workers 1",
			"lab falsify sma_cross --on nats://127.0.0.1:4222 --sign-key keys/me.key    # workers make the replays",
			"lab falsify sma_cross --print-profile > strict.json    # change it and its id, then: "+
				"--profile strict.json",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.Slugs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return falsifyRun(ctx, a, args[0], o)
	})
}

func falsifyRun(ctx context.Context, a *App, slug string, o falsifyOptions) (Outcome, error) {
	if err := project.CheckSlug(slug); err != nil {
		return Outcome{}, err
	}
	if o.Workers < 0 {
		return Outcome{}, Usage("--workers", "--workers must be at least 1, or 0 for the number of CPUs")
	}
	if o.Candidate != "" && (o.Run != "" || o.Plugin != "" || o.Dir != "") {
		return Outcome{},
			Usage("--candidate", "--candidate names the run: leave --run, --plugin and --dir out")
	}
	p, err := o.chosen()
	if err != nil {
		return Outcome{}, err
	}
	if o.PrintProfile {
		text, err := json.MarshalIndent(p, "", "  ")
		return Outcome{Result: p, Print: func(w io.Writer) { fmt.Fprintf(w, "%s\n", text) }}, err
	}
	var result *falsify.Result
	var test *artifact.LockedMetrics
	err = a.WithHost(ctx, func(h *request.Host) error {
		h.Workers = o.Workers
		base, err := baseOf(ctx, a, h, slug, o)
		if err != nil {
			return err
		}
		bar := a.Progress("falsify "+base.RunID).Count("replays", 0)
		defer bar.End()
		defer a.Employ(o.Workers, base.Candles())()
		result, err = falsify.Run(ctx, h, base, falsify.Options{
			Profile: p, Force: o.Force,
			Progress: func(done, planned int64, failed int) {
				left := ""
				if done < planned {
					left = fmt.Sprintf("%d replays left", planned-done)
				}
				bar.Show(State{Done: done, Total: planned, Failed: failed, Left: left})
			},
			Waiting: func(owner string) { a.say("waiting for %s, which attacks the same run", owner) },
			Sources: sourcesOf(a, slug, o.Dir),
			Queue:   o.queue(a, h, slug),
		})
		if err != nil {
			return err
		}
		sayPage(ctx, a, h, base.RunID) // which leads to the other
		sayPage(ctx, a, h, result.RunID)
		if !o.RevealTest {
			return nil
		}
		test, err = revealTest(ctx, a, h,
			&request.Result{RunID: base.RunID, Metadata: base.Metadata, Report: base.Report}, "falsify")
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Result: falsifyResult(result, test), Print: func(w io.Writer) {
		printFalsified(w, result, test)
	}, Warnings: falsifyWarnings(result)}
	return out, falsifyVerdict(result, test)
}

// queue is how workers of --on get the replays, nil without it.
func (o *falsifyOptions) queue(a *App, h *request.Host, slug string) func(context.Context,
	*request.Prepared) (battery.Queue, func(), error) {
	if o.On == "" {
		return nil
	}
	return func(ctx context.Context, root *request.Prepared) (battery.Queue, func(), error) {
		return o.submit(ctx, a, "lab falsify "+slug,
			queue.Submission{Host: h, Root: root, Slug: slug, Least: leastReplays})
	}
}

// leastReplays is how many replays are out at least: each has changed candles of its own, here and on the
// way, as long as the run's are.
const leastReplays = 2

// sourcesOf finds the sources of a strategy's program: its folder, where that builds the very
// program.
func sourcesOf(a *App, slug, dir string) falsify.Finder {
	return func(ctx context.Context, pluginSHA256 string) (*project.Sources, error) {
		p, err := findProject(a, slug, dir)
		if err != nil || p.Config.Plugin.Path != "" {
			return nil, nil
		}
		path, _, err := checkoutPlugin(ctx, a, slug, dir, pluginSHA256)
		if err != nil || path == "" {
			return nil, err
		}
		return &project.Sources{Dir: p.Dir}, nil
	}
}

// chosen is the profile of the options: the default or a file, changed by the flags.
func (o *falsifyOptions) chosen() (profile.Profile, error) {
	p := profile.Default()
	var bad *profile.FieldError
	if o.Profile != "" {
		f, err := os.Open(o.Profile)
		if err != nil {
			return p, Usage("--profile", "%v", err)
		}
		text, err := io.ReadAll(io.LimitReader(f, profile.MaxBytes+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return p, Usage("--profile", "%v", err)
		}
		if len(text) > profile.MaxBytes {
			return p, Usage("--profile", "%s is larger than %d bytes", o.Profile, profile.MaxBytes)
		}
		if p, err = profile.Decode(text, tests.IDs()); errors.As(err, &bad) {
			refused := Usage("--profile", "%s: %s", o.Profile, bad.Error())
			refused.Details["pointer"] = bad.Pointer
			return p, refused
		}
		if err != nil {
			return p, err
		}
	}
	for _, list := range []struct {
		flag string
		ids  []string
	}{{"--only", o.Only}, {"--skip", o.Skip}} {
		for _, id := range list.ids {
			if _, ok := tests.Find(id); !ok {
				refused := Unknown("test", id, testIDs())
				refused.Details["flag"] = list.flag
				return p, refused
			}
		}
	}
	chosen, err := p.With(profile.Options{Full: o.Full, Only: o.Only, Skip: o.Skip}, tests.IDs())
	if errors.As(err, &bad) {
		refused := Usage("--skip", "%s", bad.Message)
		refused.Details["pointer"] = bad.Pointer
		return p, refused
	}
	return chosen, err
}

func testIDs() []string {
	var ids []string
	for _, e := range tests.All() {
		ids = append(ids, e.ID)
	}
	return ids
}

// baseOf is the run that was named, else the one that was completed last, else one that
// is made now as lab run would.
func baseOf(ctx context.Context, a *App, h *request.Host, slug string,
	o falsifyOptions) (*falsify.Base, error) {
	id := o.Run
	var err error
	if o.Candidate != "" {
		if id, err = baselineOf(ctx, a, h, slug, o.Candidate); err != nil {
			return nil, err
		}
	}
	if id == "" {
		if id, err = falsify.Newest(ctx, h, slug); err != nil {
			return nil, err
		}
	}
	if id == "" {
		ask, err := resolveRequest(ctx, a, slug,
			runOptions{sourceOptions: sourceOptions{folderOption{o.Dir}, o.Plugin}})
		if err != nil {
			return nil, err
		}
		prepared, err := ask(h)
		if err != nil {
			return nil, err
		}
		defer prepared.Close()
		bar := a.Progress("run "+prepared.RunID).Count("candles", 0)
		defer bar.End()
		answer, err := h.Run(ctx, prepared, request.Options{Progress: bar.Update})
		if err != nil {
			return nil, err
		}
		if answer.Failure != nil {
			return nil, runFailed("", answer)
		}
		id = answer.RunID
	}
	return falsify.Open(ctx, h, slug, id)
}

// falsifyAnswer is the result of lab falsify --json.
type falsifyAnswer struct {
	RunID       string           `json:"run_id"`
	RequestHash string           `json:"request_hash"`
	ResultHash  string           `json:"result_hash"`
	Reused      bool             `json:"reused"`
	Summary     *falsify.Summary `json:"summary"`
	// FailureCapsule is null unless a plugin failed or decided otherwise.
	FailureCapsule any `json:"failure_capsule"`
	// Test is null unless it was revealed.
	Test *artifact.LockedMetrics `json:"test"`
	Path string                  `json:"path"`
}

func falsifyResult(r *falsify.Result, test *artifact.LockedMetrics) falsifyAnswer {
	return falsifyAnswer{
		RunID: r.RunID, RequestHash: r.RequestHash, ResultHash: r.Report.ResultHash, Reused: r.Reused,
		Summary:        r.Summary,
		FailureCapsule: r.Report.FailureCapsule, Test: test, Path: "runs/" + r.RunID,
	}
}

// falsifyWarnings are those of the report, and one of runs that the count of trials does
// not see.
func falsifyWarnings(r *falsify.Result) []Warning {
	list := runWarnings(r.Result)
	if r.Again > 0 {
		list = append(list, Warning{Code: "SAME_TRIAL_AGAIN", Message: fmt.Sprintf(
			"other runs of the base's parameters that differ only in their seed or splits: %d. They are "+
				"one trial in the ledger, so choosing among them is not paid for", r.Again)})
	}
	return list
}

// falsifyVerdict is the error of a run that was refuted, or about which nothing can be
// said.
func falsifyVerdict(r *falsify.Result, test *artifact.LockedMetrics) error {
	if code, message := r.Summary.Refusal(); code != "" {
		x := falsifyResult(r, test)
		return request.Errorf(code, "%s", message).With("run_id", x.RunID, "request_hash", x.RequestHash,
			"result_hash", x.ResultHash, "reused", x.Reused, "summary", x.Summary,
			"failure_capsule", x.FailureCapsule, "test", x.Test, "path", x.Path)
	}
	return nil
}

// printFalsified is a line per test and what they have not shown.
func printFalsified(w io.Writer, r *falsify.Result, test *artifact.LockedMetrics) {
	state := "completed"
	if r.Reused {
		state += ", reused"
	}
	fmt.Fprintf(w, "%s  %s, base %s, profile %s\n", r.RunID, state, r.Summary.BaseRunID, r.Summary.Profile.ID)
	Table(w, r.Summary.Table())
	if test != nil {
		fmt.Fprintf(w, "test of %s, revealed: %s\n", r.Summary.BaseRunID,
			strings.Join(metricCells(test.Metrics), ", "))
	}
	r.Summary.Print(w)
	fmt.Fprintf(w, "thresholds are policy; page: %s\n", "runs/"+r.RunID+"/falsify/summary.html")
}
