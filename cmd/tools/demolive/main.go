// Command demolive is make demo-live: a live run against the test venue whose host is killed.
// It shows what the connector does then, and what the next start of the service knows of
// every order. It ends all processes that it starts, and exits 0 only if all was as it should be.
//
// It drives the programs of bin/ over HTTP and signals, as an operator does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var d demo
	flags := flag.NewFlagSet("demolive", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&d.bin, "bin", "bin", "folder with assay and strategies/")
	flags.StringVar(&d.connectors, "connectors", "", "folder of connectors (default connectors in bin)")
	flags.StringVar(&d.testvenue, "testvenue", "", "the test venue (default tools/testvenue in bin)")
	flags.Float64Var(&d.speed, "speed", 60, "how many times faster than ours the market's time passes")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || flags.NArg() > 0:
		return 2
	}
	if d.connectors == "" {
		d.connectors = filepath.Join(d.bin, "connectors")
	}
	if d.testvenue == "" {
		d.testvenue = filepath.Join(d.bin, "tools", "testvenue")
	}
	d.out = out
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	err := d.play(ctx)
	if ended := d.cleanUp(); err == nil {
		err = ended
	}
	if err != nil {
		fmt.Fprintln(errs, "demo-live:", err)
		return 1
	}
	fmt.Fprintln(out, "\nAll was as it should be.")
	return 0
}

// demo is one demonstration.
type demo struct {
	bin, connectors, testvenue string
	speed                      float64
	out                        io.Writer

	state     string // the state folder
	processes []*process
	venue     venue
	host      *process
	api       string
	connector int // process id
	steps     int
}

func (d *demo) step(format string, args ...any) {
	d.steps++
	fmt.Fprintf(d.out, "\n%d. %s\n", d.steps, fmt.Sprintf(format, args...))
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "   %s\n", fmt.Sprintf(format, args...))
}

// play returns the demonstration from start to end.
func (d *demo) play(ctx context.Context) (err error) {
	if d.state, err = os.MkdirTemp("", "assay-demo-live-"); err != nil {
		return err
	}
	for _, act := range []func(context.Context) error{d.openVenue, d.openHost, d.begin, d.trade, d.kill,
		d.swept, d.reopen, d.account, d.reset} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// openVenue starts the exchange.
func (d *demo) openVenue(ctx context.Context) error {
	p, line, err := d.start(ctx, "exchange ", d.testvenue, "-speed",
		strconv.FormatFloat(d.speed, 'g', -1, 64))
	if err != nil {
		return err
	}
	d.venue = newVenue(line)
	d.step("An exchange is opened on this machine: %s (process %d).", line, p.pid())
	d.say("It speaks Binance's dialect and is no exchange of anybody's. A second of ours is %g of its "+
		"market.", d.speed)
	return nil
}

// openHost starts the service with the exchange in Binance's place.
func (d *demo) openHost(ctx context.Context) error {
	if err := d.startHost(ctx); err != nil {
		return err
	}
	d.step("The service is started with it in the place of Binance: %s (process %d).", d.api, d.host.pid())
	return nil
}

func (d *demo) startHost(ctx context.Context) error {
	p, url, err := d.start(ctx, "assay listening on ", filepath.Join(d.bin, "assay"), "--port", "0",
		"--state-dir", d.state, "--log-level", "warn",
		"--connectors", d.connectors, "--connector-endpoint", "binance="+d.venue.client.BaseURL,
		// On a machine that is busy a candle is late by many of a market that runs so much too fast.
		"--risk-max-candle-age", "60", "--risk-stale-candles", "200/1000")
	d.host, d.api = p, url
	return err
}

const liveRequest = `{"strategy_name":"rsi_bracket","strategy_params":{"period":2,"oversold":99.9,` +
	`"overbought":100,"stop_loss":0.04,"take_profit":0.04},` +
	`"symbols":["BTC/USDT"],"timeframe":"1m","mode":"live","exchange":"binance",` +
	`"exchange_config":{"apiKey":"` + testvenue.DefaultKey + `","secret":"` + testvenue.DefaultSecret + `"}}`

// begin starts the run.
func (d *demo) begin(ctx context.Context) error {
	var answer struct{ Message string }
	if err := d.call(ctx, "POST", "/run/live", liveRequest, &answer); err != nil {
		return err
	}
	d.step("%s.", strings.TrimSuffix(answer.Message, "."))
	d.say("The strategy buys with all cash and protects what it holds with a stop and a target at the " +
		"exchange.")
	return nil
}

// trade waits for a filled order and two that rest.
func (d *demo) trade(ctx context.Context) error {
	var orders []order
	err := d.until(ctx, 60*time.Second, "a filled entry and two resting exits", func() (bool, error) {
		var s status
		if err := d.call(ctx, "GET", "/status/detailed", "", &s); err != nil {
			return false, err
		}
		if s.Status != "running" {
			return false, fmt.Errorf("the run is %s: %s", s.Status, s.Error)
		}
		orders = s.Orders
		filled, open := 0, 0
		for _, o := range orders {
			switch {
			case o.Exchange == "" && o.Status == "new":
				return false, nil // on its way
			case o.Status == "filled":
				filled++
			case o.Status == "open":
				open++
			}
		}
		return filled > 0 && open > 1, nil
	})
	if err != nil {
		return err
	}
	d.step("It has traded:")
	for i := len(orders) - 1; i >= 0; i-- {
		o := orders[i]
		at := "not at the exchange"
		if o.Exchange != "" {
			at = "order " + o.Exchange + " of the exchange"
		}
		d.say("%s  %-4s %-6s %s %s: %s, %s", o.ID, o.Side, o.Type, o.Quantity, o.Symbol, o.Status, at)
	}
	if d.connector = child(d.host.pid()); d.connector != 0 {
		d.say("The connector that sends them is process %d.", d.connector)
	}
	return nil
}

// kill takes the host away without a word.
func (d *demo) kill(ctx context.Context) error {
	open, err := d.venue.open(ctx)
	if err != nil {
		return err
	}
	if open == 0 {
		return errors.New("the exchange has no open order although the run does")
	}
	if err := d.host.end(syscall.SIGKILL); err != nil {
		return err
	}
	d.step("The service is killed: SIGKILL to process %d. It can do nothing any more.", d.host.pid())
	d.say("The exchange has %d open orders.", open)
	return nil
}

// cleanUp ends what still runs and removes the state folder.
func (d *demo) cleanUp() error {
	var err error
	for i := len(d.processes) - 1; i >= 0; i-- {
		err = errors.Join(err, d.processes[i].end(syscall.SIGTERM))
	}
	if d.connector != 0 && alive(d.connector) {
		err = errors.Join(err, fmt.Errorf("the connector, process %d, is still there", d.connector))
	}
	if d.state != "" {
		err = errors.Join(err, os.RemoveAll(d.state))
	}
	return err
}
