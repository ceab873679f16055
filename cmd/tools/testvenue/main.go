// Command testvenue runs an exchange on loopback that speaks Binance's dialect, for tests
// and demonstrations.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var o testvenue.Options
	var start string
	flags := flag.NewFlagSet("testvenue", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		fmt.Fprint(errs,
			"testvenue is an exchange on loopback that speaks Binance's dialect, with a synthetic "+
				"market\nand one account. It is for tests and demonstrations.\n\nOptions:\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.Address, "listen", "127.0.0.1:0", "address of the exchange, REST and WebSockets")
	flags.StringVar(&o.ScriptAddress, "listen-scripts", "127.0.0.1:0",
		"address that takes scripts: POST /scripts")
	flags.StringVar(&o.Key, "key", testvenue.DefaultKey, "API key of the account")
	flags.StringVar(&o.Secret, "secret", testvenue.DefaultSecret, "secret of the API key")
	flags.StringVar(&o.Seed, "seed", "1", "of the market: the same seed gives the same candles")
	flags.StringVar(&o.Cash, "cash", "10000", "USDT of the account")
	flags.StringVar(&start, "start", "",
		"the market's time at the start, such as 2025-01-01T00:00:00Z (default now)")
	flags.Float64Var(&o.Speed, "speed", 1,
		"how many times faster than ours the market's time passes; 0: it stands until the script step")
	flags.IntVar(&o.History, "history", 20000, "minutes of candles before the start")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || flags.NArg() > 0:
		return 2
	}
	if start != "" {
		var err error
		if o.Start, err = time.Parse(time.RFC3339, start); err != nil {
			fmt.Fprintf(errs, "--start: %v\n", err)
			return 2
		}
	}
	v, err := testvenue.Start(o)
	if err != nil {
		fmt.Fprintln(errs, "testvenue:", err)
		return 1
	}
	fmt.Fprintf(out, "exchange %s\nsandbox  %s\nscripts  %s/scripts\n", v.URL(), v.SandboxURL(),
		v.ScriptURL())
	<-ctx.Done()
	if err := v.Close(); err != nil {
		fmt.Fprintln(errs, "testvenue:", err)
		return 1
	}
	return 0
}
