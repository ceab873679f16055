package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/wire/launch"
	"github.com/assay-run/assay/host/fetch"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	// codeFetchStopped is of a fetch whose pages so far are kept.
	codeFetchStopped = "FETCH_STOPPED"
	// codeDatasetBusy is of a dataset that another process writes.
	codeDatasetBusy = "DATASET_BUSY"
	// codeConnectorUnavailable is of a connector that is not there or cannot be started.
	codeConnectorUnavailable = "CONNECTOR_UNAVAILABLE"
)

// fetchOptions are the flags of fetch and update.
type fetchOptions struct {
	Exchange   string `flag:"exchange" usage:"id of the exchange's connector (required)"`
	Symbol     string `flag:"symbol" usage:"what is traded, BASE/QUOTE (required)"`
	Timeframe  string `flag:"timeframe" usage:"length of a candle, for example 1h (required)"`
	Duplicates string `flag:"duplicates" usage:"of a stored and a fetched candle that differ take the first (stored) or last (default: refuse)" complete:"first,last"`
	Connectors string `flag:"connectors" usage:"folder of exchange connectors (SERVICE_CONNECTORS, default: connectors beside the executable)"`
	Endpoint   string `flag:"endpoint" usage:"ask at this address instead of the exchange's own, for example a test venue on loopback"`
}

func dataFetchCommand(a *App) *cobra.Command {
	var o struct {
		fetchOptions
		From string `flag:"from" usage:"first open time, like 2024-01-01 or 2024-01-01T00:00:00Z (required)"`
		To   string `flag:"to" usage:"end of the open times, exclusive (default: all that are closed)"`
	}
	c := &cobra.Command{
		Use:   "fetch --exchange NAME --symbol BASE/QUOTE --timeframe T --from TIME",
		Short: "Fetch candles from an exchange",
		Long: "Fetch asks the exchange's connector for closed candles, page by page, and stores them when " +
			"all are\nthere, joined with those of the series that are stored already. No key is needed " +
			"and none is used. A\nfetch that was stopped goes on after its last page when the same " +
			"command is given again. How the\ncandles came stands in the dataset's report.",
		Example: Examples(
			"lab data fetch --exchange binance --symbol BTC/USDT --timeframe 1h --from 2020-01-01",
			"lab data fetch --exchange binance --symbol ETH/USDT --timeframe 1m --from 2024-01-01 "+
				"--to 2024-02-01",
		),
	}
	a.Bind(c, &o)
	a.Folder(c, "connectors")
	return a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) {
		req, err := o.request()
		if err != nil {
			return Outcome{}, err
		}
		if o.From == "" {
			return Outcome{}, Usage("--from", "--from is missing: write the first day, like 2020-01-01")
		}
		if req.From, err = parseMoment(o.From); err != nil {
			return Outcome{}, err
		}
		if o.To != "" {
			if req.To, err = parseMoment(o.To); err != nil {
				return Outcome{}, Usage("--to", "--to %s is no time: write 2024-01-01 or "+
					"2024-01-01T00:00:00Z", o.To)
			}
		}
		if req.To <= req.From {
			return Outcome{}, Usage("--to", "--to %s is not after --from %s", o.To, o.From)
		}
		return runFetch(ctx, a, o.fetchOptions, req, false)
	})
}

func dataUpdateCommand(a *App) *cobra.Command {
	var o fetchOptions
	c := &cobra.Command{
		Use:   "update --exchange NAME --symbol BASE/QUOTE --timeframe T",
		Short: "Fetch the newest candles of a stored series",
		Long: fmt.Sprintf("Update asks again for the last %d stored candles, and for all after them. A "+
			"candle that the exchange\nhas changed is refused with CONFLICTING_DUPLICATES until "+
			"--duplicates decides. The earlier dataset\nstays for the runs that name it, and the "+
			"hold-out stays where it is.",
			fetch.Overlap),
		Example: Examples(
			"lab data update --exchange binance --symbol BTC/USDT --timeframe 1h",
			"lab data update --exchange binance --symbol BTC/USDT --timeframe 1h --duplicates last",
		),
	}
	a.Bind(c, &o)
	a.Folder(c, "connectors")
	return a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) {
		req, err := o.request()
		if err != nil {
			return Outcome{}, err
		}
		return runFetch(ctx, a, o, req, true)
	})
}

// request checks the flags and makes the request of them, but for its time.
func (o fetchOptions) request() (r fetch.Request, err error) {
	if err := candle.CheckExchange(o.Exchange); err != nil {
		return r, err
	}
	r = fetch.Request{Exchange: o.Exchange, Duplicates: o.Duplicates, To: fetch.Never}
	if r.Symbol, err = market.ParseSymbol(o.Symbol); err != nil {
		return r, Usage("--symbol", "--symbol: %v", err)
	}
	if r.Timeframe, err = market.ParseTimeframe(o.Timeframe); err != nil {
		return r, Usage("--timeframe", "--timeframe: %v", err)
	}
	if o.Duplicates != "" {
		err = oneOf("--duplicates", o.Duplicates, []string{"first", "last"})
	}
	return r, err
}

// openSource starts the connector.
func openSource(ctx context.Context, a *App, o fetchOptions, req fetch.Request) (*fetch.Source, error) {
	dir := FirstOf(o.Connectors, a.IO.Getenv("SERVICE_CONNECTORS"))
	if dir == "" {
		var err error
		if dir, err = launch.OwnFolder(); err != nil {
			return nil, Usage("--connectors", "the folder of the executable is not known (%v): name one", err)
		}
	}
	s, err := fetch.Open(ctx, fetch.Options{Dir: dir, StateDir: a.StateDir, Connector: req.Exchange,
		Endpoint: o.Endpoint, Symbol: req.Symbol, Timeframe: req.Timeframe,
		Sandbox: sandbox.Mode(a.Sandbox), Logger: a.Logger.Named("connectors")})
	var (
		missing     *launch.NotFoundError
		fault       *proc.Fault
		crash       *launch.CrashError
		refused     *exchange.Error
		unsupported *fetch.UnsupportedError
	)
	switch {
	case errors.As(err, &missing):
		return nil, request.Errorf(codeConnectorUnavailable, "there is no connector %s in %s: choose the "+
			"folder with --connectors", req.Exchange, dir).With("flag", "--connectors")
	case errors.As(err, &fault), errors.As(err, &crash):
		return nil, request.Errorf(codeConnectorUnavailable, "the connector %s: %v", req.Exchange, err)
	case errors.As(err, &refused):
		return nil, request.Errorf(codeFetchStopped, "%s could not be reached: %v", req.Exchange, refused)
	case errors.As(err, &unsupported):
		return nil, Usage("--timeframe", "--timeframe: %v", unsupported)
	}
	return s, err
}

func runFetch(ctx context.Context, a *App, o fetchOptions, req fetch.Request,
	update bool) (out Outcome, err error) {
	p := a.Progress("fetching").Count("candles", 0)
	req.Progress = p.Update
	req.Waiting = func(d time.Duration) {
		a.Logger.Warn("the exchange asks for a pause", "seconds", int(d/time.Second))
	}
	var d candle.Dataset
	var of *holdout.Standing
	err = withLedger(ctx, a, func(l holdout.Ledger) error {
		var old candle.Dataset
		if update {
			if old, err = newestOf(ctx, l.Candles, req); err != nil {
				return err
			}
		}
		s, err := openSource(ctx, a, o, req)
		if err != nil {
			return err
		}
		defer s.Close()
		if update {
			d, err = fetch.Update(ctx, l.Candles, a.StateDir, s, old, req)
		} else {
			d, err = fetch.Run(ctx, l.Candles, a.StateDir, s, req)
		}
		if err != nil {
			return err
		}
		of, err = holdoutOf(ctx, l, d)
		return err
	})
	p.End()
	var stopped *fetch.StoppedError
	var busy *fetch.BusyError
	switch {
	case errors.As(err, &busy):
		return out, request.Errorf(codeDatasetBusy, "%v", busy)
	case errors.As(err, &stopped):
		return out, cmp.Or(interrupted(ctx, stopped), request.Errorf(codeFetchStopped, "%v", stopped))
	case err != nil:
		return out, err
	}
	return storedOutcome(d, of, false), nil
}

// interrupted is of a fetch that its user has stopped; nil for others.
func interrupted(ctx context.Context, e *fetch.StoppedError) *Error {
	if ctx.Err() == nil {
		return nil
	}
	return request.Errorf(request.CodeInterrupted, "interrupted after %d pages, which are kept: the same "+
		"command goes on from there", e.Pages)
}

// newestOf is the current dataset of a series that was not resampled.
func newestOf(ctx context.Context, s *candle.Store, req fetch.Request) (candle.Dataset, error) {
	d, ok, err := fetch.Current(ctx, s, req)
	if err == nil && !ok {
		return candle.Dataset{}, request.Errorf(run.CodeDataUnavailable,
			"no %s candles of %s on %s are stored to be updated: lab data fetch brings them", req.Timeframe,
			req.Symbol, req.Exchange)
	}
	return d, err
}
