package command

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	planeclient "github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/governance/shadow"
	"github.com/assay-run/assay/host/base/bucket"
	"github.com/assay-run/assay/host/base/cli"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/file"
)

type shadowOptions struct {
	controlOption
	jsonOption
	KeyFile   string `flag:"key" usage:"file of a private key with the role shadow"`
	Root      string `flag:"artifact-root" default:".assay" usage:"folder that holds runs/, plugins/ and the candles; the default is looked for in the folders above, too"`
	Artifacts string `flag:"artifacts" usage:"what holds runs/ and plugins/ in the place of --artifact-root, which keeps the candles: s3://BUCKET/PREFIX, or a folder"`
	Source    string `flag:"source" default:"exchange" usage:"where candles come from: exchange, fetched by its connector, or import, by lab data import --merge into that folder, whose days are unattested" values:"exchange,import"`
	Folder    string `flag:"connectors" env:"SERVICE_CONNECTORS" usage:"folder of exchange connectors (default: connectors beside the executable)"`
	Endpoint  string `flag:"endpoint" usage:"fetch from this address instead of the exchange's own, for example a test venue on loopback; its days are unattested"`
	Sandbox   string `flag:"sandbox" default:"require" usage:"require, or auto: days of a weaker sandbox are unattested" values:"require,auto"`
	Once      bool   `flag:"once" usage:"play what is there and end, as from cron"`
	Every     string `flag:"every" default:"1h" usage:"how often the worker looks for further days"`
	LogLevel  string `flag:"log-level" default:"warn" usage:"trace, debug, info, warn or error" values:"trace,debug,info,warn,error"`

	w   World
	set *cli.Flags
}

func shadowCommand(w World) *cobra.Command {
	o := &shadowOptions{w: w}
	cmd := &cobra.Command{
		Use: "shadow", Short: "Play every sealed revision on candles that came after its seal",
		Args: cobra.NoArgs,
		Long: "Plays every sealed revision of the plane, candle by candle, on whole UTC days that began " +
			"after its seal,\nand posts what they came to. No program can hold these candles, and no " +
			"search has used them.\nRuns until a signal ends it; with --once plays what is there and ends.",
		Example: "  governance shadow --once --key shadow.key\n  governance shadow --key shadow.key " +
			"--every 15m",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.set = bind(cmd, w, o)
	cmd.AddCommand(checkCommand(w))
	return cmd
}

func (o *shadowOptions) run(ctx context.Context) (err error) {
	every, err := parseValid(o.Every)
	if err != nil {
		return usagef("--every: %v", err)
	}
	key, plane, err := openSigner(o.w, o.set, o.KeyFile, o.ControlURL)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	options := shadow.Options{Root: o.Root, Source: o.Source, Connectors: o.Folder, Endpoint: o.Endpoint,
		Sandbox: o.Sandbox, Log: newLogger(o.w, "shadow", o.LogLevel)}
	done, err := o.openArtifacts(ctx, &options)
	if err != nil {
		return err
	}
	defer done()
	stage, err := openStage(ctx, o.w, o.set, options, shadow.OpenStage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	logger := options.Log
	worker := &shadow.Worker{Plane: plane, Stage: stage, Key: key, Now: o.w.Now, Log: logger}
	if o.Once {
		return o.once(ctx, worker)
	}
	fmt.Fprintf(o.w.Out, "playing what %s has sealed, every %s\n", plane.URL(), every)
	for {
		if err := o.once(ctx, worker); err != nil && ctx.Err() == nil {
			logger.Warn("this round did not come to its end: the next one tries again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// openArtifacts finds the place of --artifacts, if it names one, until done is called.
func (o *shadowOptions) openArtifacts(ctx context.Context, to *shadow.Options) (done func(), err error) {
	if bucket.Is(o.Root) {
		return nil, usagef("--artifact-root: a bucket has no candles: name it with --artifacts")
	}
	if o.Artifacts == "" {
		return func() {}, nil
	}
	root, err := bucket.NewRoot(o.Artifacts, o.w.getenv)
	if err == nil {
		err = root.Check(ctx)
	}
	if err == nil {
		to.Artifacts, done, err = root.Open(ctx)
	}
	if err != nil {
		return nil, usagef("--artifacts: %v", err)
	}
	return done, nil
}

// openSigner reads the key of a worker, and finds its plane.
func openSigner(w World, set *cli.Flags, keyFile, url string) (crypto.Signer, *planeclient.Client, error) {
	if keyFile == "" {
		return nil, nil, usagef("--key is missing: a private key to which trust.json gives the role shadow " +
			"(governance keys new NAME, governance keys trust --role shadow)")
	}
	key, err := dsse.ReadP256(keyFile, dsse.UnlockFrom("", w.Env))
	if err != nil {
		return nil, nil, usagef("--key: %v", err)
	}
	plane, err := planeclient.New(planeclient.Options{URL: url})
	if err != nil {
		return nil, nil, usagef("%s: %v", set.Source("control-url"), err)
	}
	return key, plane, nil
}

func newLogger(w World, name, level string) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: name, Output: w.Err, Level: hclog.LevelFromString(level)})
}

// openStage opens a stage in the folder of --artifact-root: the one that is named, else the nearest.
func openStage(ctx context.Context, w World, set *cli.Flags, o shadow.Options,
	open func(context.Context, shadow.Options) (*shadow.Stage, error)) (_ *shadow.Stage, err error) {
	if set.Source("artifact-root") == "" {
		o.Root = file.FindState(".")
	}
	if o.Root, err = filepath.Abs(o.Root); err != nil {
		return nil, usagef("--artifact-root: %v", err)
	}
	o.Now = w.Now
	stage, err := open(ctx, o)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return stage, nil
}

// answer prints what became of a round that ended with err; the error also reports that some of it failed.
func answer[T any](out io.Writer, asJSON bool, err error, name string, list []T,
	print func(io.Writer, []T) error, failed func(T) bool, what string) error {
	if away := new(planeclient.UnreachableError); errors.As(err, &away) {
		return &unreachable{err}
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(out, map[string]any{name: list})
	} else {
		err = print(out, list)
	}
	n := 0
	for _, one := range list {
		if failed(one) {
			n++
		}
	}
	if err == nil && n > 0 {
		err = refusef("%d of %d %s", n, len(list), what)
	}
	return err
}

// once is one round; the error reports that a revision could not be played.
func (o *shadowOptions) once(ctx context.Context, w *shadow.Worker) error {
	list, err := w.Once(ctx)
	return answer(o.w.Out, o.JSON, err, "revisions", list, printShadows,
		func(r shadow.Outcome) bool { return r.Status == shadow.Failed }, "revisions could not be played")
}

func printShadows(out io.Writer, list []shadow.Outcome) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "nothing is sealed")
		return err
	}
	tab := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprint(tab, "revision\tstatus\tdays\tfrom\tto\treason\n")
	for _, r := range list {
		fmt.Fprintf(tab, "%s\t%s\t%d\t%s\t%s\t%s\n", r.CandidateRevisionID, r.Status, r.Days,
			cmp.Or(r.From, "-"), cmp.Or(r.To, "-"), r.Reason)
		for _, c := range r.Compared {
			fmt.Fprintf(tab, "  %s\tcompared\t%d\t\t\t%d of %d fills diverge; %s\n", c.RunID, len(c.Days),
				c.Diverging, c.Fills, c.Beside())
		}
	}
	return tab.Flush()
}
