package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/lab/project/scaffold"
	"github.com/assay-run/assay/lab/python"
	"github.com/assay-run/assay/lab/request"
)

// adoptOptions are the flags of lab adopt.
type adoptOptions struct {
	Slug   string `flag:"slug" usage:"name of the strategy and its folder (default: that of the class)"`
	Compat bool   `flag:"compat" usage:"fill as the other engine does, to compare trades"`
	NoVenv bool   `flag:"no-venv" usage:"make no environment"`
}

func adoptCommand(a *App) *cobra.Command {
	backtesting := &cobra.Command{
		Use:   "backtesting.py <FILE[:Class]>",
		Short: "Make a strategy from a file for backtesting.py",
		Long: "Adopt makes ./<slug> with the file as it is, and an environment. A Backtest in the file " +
			"gives cash,\n" +
			"fees, exclusive_orders and finalize_trades. What cannot be carried over is refused by name " +
			"and line.",
		Example: Examples(
			"lab adopt backtesting.py crossover.py",
			"lab adopt backtesting.py strategies.py:SmaCross --slug sma_theirs --compat",
		),
	}
	freqtrade := &cobra.Command{
		Use:   "freqtrade <FILE[:Class]>",
		Short: "Make a strategy from a file for freqtrade",
		Long: "Adopt makes ./<slug> with the file as it is, and an environment. Signals, ROI, stops, " +
			"callbacks,\n" +
			"protections and parameters are carried over; what cannot be is refused by name and line, " +
			"and what\ndiffers is said.",
		Example: Examples(
			"lab adopt freqtrade SampleStrategy.py",
			"lab adopt freqtrade strategies.py:Trend --slug trend_theirs --compat",
		),
	}
	for engine, c := range map[python.Engine]*cobra.Command{
		python.BacktestingPy: backtesting, python.Freqtrade: freqtrade,
	} {
		var o adoptOptions
		a.Bind(c, &o)
		a.Arguments(c)
		a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
			return adoptFile(ctx, a, engine, args[0], o)
		})
	}
	const short = "Bring a strategy that was written for another engine"
	return a.Group("adopt", short, "", backtesting, freqtrade)
}

// adopted is the result of lab adopt.
type adopted struct {
	made
	Class      string   `json:"class"`
	Parameters []string `json:"parameters"`
	Left       []string `json:"left"`
	Differs    []string `json:"differs,omitempty"`
}

// codeNotCarried is the code of what a strategy uses and Assay does not have.
const codeNotCarried = "NOT_CARRIED_OVER"

func adoptFile(ctx context.Context, a *App, engine python.Engine, argument string,
	o adoptOptions) (Outcome, error) {
	path, class, _ := strings.Cut(argument, ":")
	path, err := filepath.Abs(path)
	if err != nil {
		return Outcome{}, err
	}
	working, err := os.Getwd()
	if err != nil {
		return Outcome{}, err
	}
	found, err := python.Inspect(ctx, working, engine, path, class)
	if wrong, ok := errors.AsType[*python.Error](err); ok {
		return Outcome{}, request.Errorf(codeNotCarried, "%s", wrong.Message).With("cases", []string{})
	}
	if err != nil {
		return Outcome{}, err
	}
	if len(found.Refused) > 0 {
		return Outcome{}, request.Errorf(codeNotCarried, "cannot be carried over: %s",
			strings.Join(found.Refused, "; ")).With("cases", found.Refused)
	}
	n, err := adoptFolder(working, path, engine, found, o)
	if err != nil {
		return Outcome{}, err
	}
	m := adopted{made: made{Slug: filepath.Base(n.Dir), Path: n.Dir, StandAlone: true, Files: n.Files},
		Class: found.Class, Parameters: found.Parameters, Left: found.Left, Differs: found.Differs}
	m.Next, err = environment(ctx, a, n, o.NoVenv, append([]string{"pytest"}, found.Requires...))
	return Outcome{Result: m, Print: func(w io.Writer) {
		printMade(w, m.made)
		fmt.Fprintf(w, "parameters: %s\n", FirstOf(strings.Join(m.Parameters, ", "), "none"))
		for _, left := range m.Left {
			fmt.Fprintf(w, "not carried over: %s; see lab.json\n", left)
		}
		for _, differs := range m.Differs {
			fmt.Fprintf(w, "differs: %s\n", differs)
		}
	}}, err
}

// adoptFolder makes the folder around the file.
func adoptFolder(working, path string, engine python.Engine, found *python.Adoption,
	o adoptOptions) (*scaffold.New, error) {
	own := map[string][]byte{}
	name := filepath.Base(path)
	if name == "strategy.py" || name == "conftest.py" || strings.HasPrefix(name, "test_") {
		name = "original.py"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	own[name] = text
	for _, module := range found.Beside {
		beside := module + ".py"
		if _, taken := own[beside]; taken || module == "strategy" {
			return nil, request.Errorf(codeNotCarried, "cannot be carried over: the module %s, whose name "+
				"the folder needs itself: rename it", beside)
		}
		if own[beside], err = os.ReadFile(filepath.Join(filepath.Dir(path), beside)); err != nil {
			return nil, err
		}
	}
	execution := map[string]any{}
	if found.Short {
		execution["allow_short"] = true
	}
	if found.CloseAtEnd {
		execution["close_at_end"] = true
	}
	if found.Fee != nil {
		execution["fee_maker"], execution["fee_taker"] = *found.Fee, *found.Fee
	}
	if o.Compat {
		execution["profile"] = "compat:" + string(engine)
		if engine == python.BacktestingPy {
			execution["quantity_step"] = 1
		}
	}
	settings, err := json.Marshal(execution)
	if err != nil {
		return nil, err
	}
	cash := "10000"
	if found.Cash != nil {
		cash = strconv.FormatFloat(*found.Cash, 'f', -1, 64)
	}
	return scaffold.Adopt(FirstOf(o.Slug, snake(found.Class)), working, found.Class, scaffold.Adopted{
		Engine: string(engine), Module: engine.Module(), File: name, Exclusive: found.Exclusive,
		Timeframe: FirstOf(found.Timeframe, "1h"), Differs: found.Differs, Needs: found.Requires, Cash: cash,
		Execution: string(settings),
	}, own)
}

// snake makes a slug of the name of a class: SmaCross is sma_cross.
func snake(class string) string {
	var b strings.Builder
	lower := false
	for _, r := range class {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
		}
		lower = !unicode.IsUpper(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
