package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
)

// inputRequest makes the request of the flags of data import where they name an input.
func (o dataImportOptions) inputRequest(paths []string) (r candle.InputImport, err error) {
	alone := o
	alone.Input, alone.KnownDelay, alone.Zone, alone.Merge, alone.DryRun = "", "", "", false, false
	if alone != (dataImportOptions{}) {
		return r, Usage("--input", "--input: of the other options only --known-delay, --tz, --merge and "+
			"--dry-run go with it: an input has no exchange and no symbol")
	}
	if len(paths) != 1 {
		return r, Usage("FILE", "an input is read from one file, %d are named", len(paths))
	}
	r = candle.InputImport{Name: o.Input, Merge: o.Merge, DryRun: o.DryRun}
	if o.KnownDelay != "" {
		delay, err := time.ParseDuration(o.KnownDelay)
		if err != nil {
			return r, Usage("--known-delay", "--known-delay %q is no time: write 90s, 30m or 24h",
				o.KnownDelay)
		}
		r.Options.KnownDelay = &delay
	}
	if r.Options.Zone, err = o.zone(); err != nil {
		return r, err
	}
	if r.File, err = importer.File(paths[0]); err != nil {
		return r, Usage("FILE", "%v", err)
	}
	return r, nil
}

func runInputImport(ctx context.Context, a *App, o dataImportOptions,
	paths []string) (out Outcome, err error) {
	req, err := o.inputRequest(paths)
	if err != nil {
		return out, err
	}
	var in candle.StoredInput
	err = withStore(ctx, a, func(s *candle.Store) error {
		in, err = s.Inputs().Import(ctx, req)
		return err
	})
	if refused, ok := errors.AsType[*importer.Error](err); ok && refused.Code == importer.ColumnsMissing {
		return out, Classify(err).With("flag", "--known-delay")
	}
	if err != nil {
		return out, err
	}
	return Outcome{
		Result: map[string]any{"input": in, "stored": !o.DryRun},
		Print: func(w io.Writer) {
			verb := "stored"
			if o.DryRun {
				verb = "would store"
			}
			known := "as the file says"
			if in.KnownDelay != "" {
				known = in.KnownDelay + " after its time"
			}
			fmt.Fprintf(w, "%s %s\n", verb, candle.InputID(in.Name, in.SHA256))
			Table(w, [][]string{
				{"rows", count(in.Rows)},
				{"known", fmt.Sprintf("%s to %s, each value %s", in.FirstKnown, in.LastKnown, known)},
				{"sha256", in.SHA256},
			})
		},
	}, nil
}

// codeInputUnreadable is of stored inputs of which it cannot be told what they have.
const codeInputUnreadable = "INPUT_UNREADABLE"

func printInputs(w io.Writer, list []candle.StoredInput) {
	if len(list) == 0 {
		return
	}
	rows := [][]string{{"INPUT", "ROWS", "FROM", "TO", "LAST KNOWN", "SHA256"}}
	for _, in := range list {
		first, last := "unknown", "unknown" // a record of before
		if in.Last != 0 {
			first, last = moment(in.First), moment(in.Last)
		}
		rows = append(rows, []string{in.Name, count(in.Rows), first, last, moment(in.LastKnown),
			Short(in.SHA256)})
	}
	fmt.Fprintln(w)
	Table(w, rows)
}
