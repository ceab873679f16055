package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/request"
)

func replayCommand(a *App) *cobra.Command {
	var o struct {
		Plugin string `flag:"plugin" usage:"a program to play instead of the one of the capsule"`
	}
	c := &cobra.Command{
		Use:   "replay <capsule>",
		Short: "Repeat the failure in a capsule",
		Long: "Replay plays what failed once more, with the plugin and the candles that the state " +
			"directory has by their\n" +
			"hashes, or else with the candles of the capsule, and compares the fingerprint of the failure.",
		Example: Examples(
			"lab replay .assay/runs/run_6rvs7gxczpvrxcpd/capsules/fc_0123456789abcdef.json",
			"lab replay fc_0123456789abcdef.json --plugin bin/strategies/sma_cross    # is it fixed?",
		),
	}
	a.Bind(c, &o)
	a.CapsuleFile(c)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		limit := c.Flags().Changed("plugin-timeout")
		return replayCapsule(ctx, a, args[0], o.Plugin, limit)
	})
}

func replayCapsule(ctx context.Context, a *App, file, plugin string, limited bool) (Outcome, error) {
	c, err := readCapsule(file)
	if err != nil {
		return Outcome{}, err
	}
	var result *capsule.Result
	err = a.WithHost(ctx, func(h *request.Host) error {
		host := capsule.Host{
			StateDir: h.StateDir, Candles: h.Candles, Artifacts: h.Artifacts, Engine: h.Engine,
			Sandbox: h.Sandbox, Logger: h.Logger,
		}
		if limited {
			host.StepLimit = a.PluginTimeout
		}
		result, err = host.Replay(ctx, c, plugin)
		return err
	})
	if err != nil {
		return Outcome{}, replayError(c, err)
	}
	out := Outcome{Result: result, Print: func(w io.Writer) { printReplay(w, c, result) }}
	for _, remark := range result.Remarks {
		out.Warnings = append(out.Warnings, Warning{Code: "REPLAY_DIFFERS", Message: remark})
	}
	if !result.Reproduced {
		return out, request.Errorf(request.CodeNotReproduced, "capsule %s is not reproduced", c.ID).
			With("capsule_id", c.ID, "expected_fingerprint", result.Expected, "fingerprint",
				result.Fingerprint, "differences", result.Differences)
	}
	return out, nil
}

// readCapsule reads at most a little more than a capsule may have.
func readCapsule(file string) (*capsule.Capsule, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, Usage("<capsule>", "the capsule cannot be read: %v", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, capsule.MaxBytes+1))
	if err != nil {
		return nil, Usage("<capsule>", "the capsule cannot be read: %v", err)
	}
	c, err := capsule.Decode(text)
	return c, replayError(nil, err)
}

// replayError gives the errors of replays their codes.
func replayError(c *capsule.Capsule, err error) error {
	var (
		missing *capsule.MissingError
		name    *capsule.NameError
		form    *capsule.FormatError
		changed *capsule.ChangedError
	)
	switch {
	case errors.As(err, &missing):
		return request.Errorf(request.CodeInputsMissing, "the replay lacks: %s", missing.List()).
			With("capsule_id", c.ID, "missing", missing.What)
	case errors.As(err, &name):
		return request.Errorf(request.CodeNameMismatch, "%v", err).With("flag", "--plugin")
	case errors.As(err, &form):
		return request.Errorf(request.CodeUsage, "%v", err).With("pointer", form.Pointer)
	case errors.As(err, &changed):
		return request.Errorf(request.CodeArtifactMismatch, "%v", err).
			With("expected", changed.Want, "got", changed.Have)
	}
	return err
}

func printReplay(w io.Writer, c *capsule.Capsule, r *capsule.Result) {
	state := "reproduced"
	if !r.Reproduced {
		state = "not reproduced"
	}
	fmt.Fprintf(w, "%s  %s  %s\n%s\n", state, c.ID, c.Kind, c.Claim)
	rows := [][]string{{"", "CAPSULE", "REPLAY"}, {"fingerprint", Short(r.Expected), Short(r.Fingerprint)}}
	if r.Where != nil && r.Where.CandleIndex != nil && c.Where.CandleIndex != nil {
		rows = append(rows,
			[]string{"candle", fmt.Sprint(*c.Where.CandleIndex), fmt.Sprint(*r.Where.CandleIndex)})
	}
	for _, d := range r.Differences {
		rows = append(rows, []string{d.Field, d.Expected, d.Got})
	}
	Table(w, rows)
}
