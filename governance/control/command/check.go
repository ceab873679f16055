package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/shadow"
	"github.com/assay-run/assay/host/base/cli"
)

type checkOptions struct {
	controlOption
	jsonOption
	KeyFile  string `flag:"key" usage:"file of a private key with the role shadow or replay, other than the worker's"`
	Root     string `flag:"artifact-root" default:".assay" usage:"folder for work; the default is looked for in the folders above, too"`
	Folder   string `flag:"connectors" env:"SERVICE_CONNECTORS" usage:"folder of exchange connectors (default: connectors beside the executable)"`
	Endpoint string `flag:"endpoint" usage:"fetch from this address instead of the exchange's own, for example a test venue on loopback; disputes no attested day"`
	Sandbox  string `flag:"sandbox" default:"require" usage:"require, or auto" values:"require,auto"`
	Days     int    `flag:"days" default:"7" usage:"check the days that began within this many days"`
	Withdraw bool   `flag:"withdraw" usage:"take back what this key disputes and is now given as it was stated"`
	LogLevel string `flag:"log-level" default:"warn" usage:"trace, debug, info, warn or error" values:"trace,debug,info,warn,error"`

	w   World
	set *cli.Flags
}

func checkCommand(w World) *cobra.Command {
	o := &checkOptions{w: w}
	cmd := &cobra.Command{
		Use: "check", Short: "Fetch the candles of stated days once more, and dispute those that differ",
		Args: cobra.NoArgs,
		Long: "Fetches the candles of the days that a worker of shadows has stated once more, from the " +
			"exchange and from\nnothing that was kept, and compares their hashes. Where they differ it " +
			"says so to the plane: these days\ncount for no revision then, but for what they lost. " +
			"Checking again says nothing twice.",
		Example: "  governance shadow check --key second.key\n" +
			"  governance shadow check --key second.key --days 60 --withdraw",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.set = bind(cmd, w, o)
	return cmd
}

func (o *checkOptions) run(ctx context.Context) (err error) {
	if o.Days < 1 || o.Days > 3650 {
		return usagef("--days: %d is not from 1 to 3650", o.Days)
	}
	key, plane, err := openSigner(o.w, o.set, o.KeyFile, o.ControlURL)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	options := shadow.Options{Root: o.Root, Connectors: o.Folder, Endpoint: o.Endpoint, Sandbox: o.Sandbox,
		Log: newLogger(o.w, "check", o.LogLevel)}
	stage, err := openStage(ctx, o.w, o.set, options, shadow.OpenCheck)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	checker := &shadow.Checker{Plane: plane, Stage: stage, Key: key, Now: o.w.Now, Log: options.Log,
		Withdraw: o.Withdraw}
	since := o.w.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -o.Days)
	list, err := checker.Check(ctx, since)
	return answer(o.w.Out, o.JSON, err, "chunks", list, printChecked,
		func(c shadow.Checked) bool { return c.Status == shadow.Failed }, "days could not be checked")
}

func printChecked(out io.Writer, list []shadow.Checked) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "no day was stated on candles of an exchange")
		return err
	}
	equal := 0
	tab := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, c := range list {
		if c.Status == shadow.Equal && c.Reason == "" {
			equal++
			continue
		}
		news := ""
		if c.Posted {
			news = "new"
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Date, c.Exchange, c.Symbols, c.Timeframe, c.Status,
			news, c.Reason)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d of %d days are equal\n", equal, len(list))
	return err
}
