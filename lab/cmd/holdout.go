package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func dataHoldoutCommand(a *App) *cobra.Command {
	var o struct {
		From string `flag:"from" usage:"move the hold-out: it begins after this time, like 2024-01-01 or 2024-01-01T00:00:00Z"`
	}
	c := &cobra.Command{
		Use:   "holdout [dataset]",
		Short: "Show which candles are held out and who has looked at them, or move the hold-out",
		Long: "Holdout lists the markets, from when on each is held out, and every look at it. Datasets " +
			"with 90 %\nequal rows of time and close are one market under any name. A hold-out begins with " +
			"the last fifth of\nthe first dataset of its market and has no end. --from moves it: forward " +
			"over candles that were\nlooked at; to an earlier time only before any candle of the market " +
			"was shown.",
		Example: Examples(
			"lab data holdout",
			"lab data holdout binance-btc-usdt-1h-0123456789ab --from 2024-01-01",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.datasets)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		if len(args) > 1 {
			return Outcome{}, Usage(args[1], "%q is too much: lab data holdout takes one dataset", args[1])
		}
		return runHoldout(ctx, a, strings.Join(args, ""), o.From)
	})
}

// datasets are the ids of the current datasets.
func (a *App) datasets([]string) []string {
	var list []string
	a.StateDir = a.FindStateDir() // no command has been configured
	if _, err := os.Stat(filepath.Join(a.StateDir, "data", candle.CatalogName)); err != nil {
		return nil // nothing is made by completing
	}
	_ = withStore(context.Background(), a, func(s *candle.Store) error {
		all, err := s.List(context.Background())
		for _, d := range all {
			if d.Current {
				list = append(list, d.ID)
			}
		}
		return err
	}) // a shell shows nothing of an error
	return list
}

// withLedger opens the candle store and the registry.
func withLedger(ctx context.Context, a *App, use func(holdout.Ledger) error) error {
	return withStore(ctx, a, func(s *candle.Store) error {
		return withRegistry(ctx, a, func(_ *artifact.Store, reg *registry.Registry) error {
			return use(holdout.Ledger{Candles: s, Registry: reg})
		})
	})
}

func runHoldout(ctx context.Context, a *App, dataset, from string) (Outcome, error) {
	if from != "" && dataset == "" {
		return Outcome{}, Usage("dataset", "--from needs the dataset whose hold-out is to move: "+
			"lab data holdout DATASET --from %s; lab data list --json shows the ids", from)
	}
	var list []*holdout.Standing
	err := withLedger(ctx, a, func(l holdout.Ledger) error {
		var err error
		if list, err = l.List(ctx); err != nil || dataset == "" {
			return err
		}
		one, err := marketOf(ctx, l, list, dataset)
		if err != nil || from == "" {
			list = []*holdout.Standing{one}
			return err
		}
		at, err := parseMoment(from)
		if err != nil {
			return err
		}
		if err := l.Move(ctx, one, at, authorName(a)); err != nil {
			return moveRefused(err)
		}
		if list, err = l.List(ctx); err == nil {
			list = slices.DeleteFunc(list, func(s *holdout.Standing) bool { return s.Market != one.Market })
		}
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{
		Result: map[string]any{"markets": append([]*holdout.Standing{}, list...)},
		Print:  func(w io.Writer) { printHoldouts(w, list, dataset != "") },
	}, nil
}

// marketOf is the market of a dataset, named by its id or the beginning of its hash.
func marketOf(ctx context.Context, l holdout.Ledger, list []*holdout.Standing,
	dataset string) (*holdout.Standing, error) {
	d, err := datasetNamed(ctx, l.Candles, dataset)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if s.Has(d.SHA256) {
			return s, nil
		}
	}
	return nil, request.Errorf(request.CodeCheckFailed,
		"the candles of %s cannot be read: lab data check shows why; import them again", d.ID).
		With("flag", "dataset")
}

// datasetNamed finds a dataset by its id or the beginning of its hash.
func datasetNamed(ctx context.Context, s *candle.Store, name string) (candle.Dataset, error) {
	all, err := s.List(ctx)
	if err != nil {
		return candle.Dataset{}, err
	}
	var ids []string
	for _, d := range all {
		if d.ID == name || len(name) >= 8 && strings.HasPrefix(d.SHA256, name) {
			return d, nil
		}
		ids = append(ids, d.ID)
	}
	text := "lab data list --json shows the ids"
	if alike := hint.Nearest(name, ids); len(alike) > 0 {
		text = "did you mean " + strings.Join(alike, " or ") + "?"
	}
	return candle.Dataset{}, Usage("dataset", "there is no dataset %q: %s", name, text)
}

// parseMoment reads a day or a time in UTC.
func parseMoment(text string) (market.Time, error) {
	if len(text) == len("2024-01-01") {
		text += "T00:00:00Z"
	}
	at, err := market.ParseTime(text)
	if err != nil {
		return 0, Usage("--from", "--from %s is no time: write 2024-01-01 or 2024-01-01T00:00:00Z", text)
	}
	return at, nil
}

func moveRefused(err error) error {
	var refused *holdout.RefusedError
	switch {
	case errors.As(err, &refused):
		return request.Errorf(refused.Code, "%s", refused.Message).With("flag", "--from")
	case errors.Is(err, registry.ErrHoldoutMoved):
		return request.Errorf(request.CodeInconclusive, "%v", err).With("flag", "--from")
	}
	return err
}

func printHoldouts(w io.Writer, list []*holdout.Standing, looks bool) {
	rows := [][]string{{"MARKET", "STORED AS", "HELD OUT FROM", "TO", "LOOKS", "SET BY"}}
	for _, s := range list {
		rows = append(rows, []string{s.Market, strings.Join(s.Names, ", "), moment(s.From), day(s.To),
			count(len(s.Looks)), s.SetBy})
	}
	Table(w, rows)
	if !looks {
		return
	}
	for _, s := range list {
		fmt.Fprintln(w)
		printLooks(w, s.Looks)
	}
	fmt.Fprintln(w, registry.NotCounted)
}

// moment is a time as a day where it is midnight.
func moment(t market.Time) string {
	return strings.TrimSuffix(t.String(), "T00:00:00.000Z")
}

// printLooks shows who has looked at held out days.
func printLooks(w io.Writer, looks []registry.Look) {
	if len(looks) == 0 {
		fmt.Fprintln(w, "no look at held out candles")
		return
	}
	rows := [][]string{{"LOOK", "THROUGH", "SHOWS FROM", "TO", "COMMAND", "AUTHOR"}}
	for _, k := range looks {
		rows = append(rows,
			[]string{fmt.Sprintf("%.19s", k.At), k.SourceID, day(k.From), day(k.To), k.Command, k.Author})
	}
	Table(w, rows)
}
