package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/trade/order"
)

// dump is everything that can be read of a run, through pages of a size.
func dump(ctx context.Context, j *Journal, runID string, size int) (string, error) {
	var out strings.Builder
	info, err := j.Run(ctx, runID)
	if err != nil {
		return "", err
	}
	show := func(v any) {
		if err == nil {
			var text []byte
			text, err = json.Marshal(v)
			out.Write(append(text, '\n'))
		}
	}
	show(info)
	for _, s := range info.Symbols {
		err = each(err, size, func(p Page) (Rows[Candle], error) { return j.Candles(ctx, runID, s, p) }, show)
	}
	err = each(err, size, func(p Page) (Rows[Equity], error) { return j.Equity(ctx, runID, p) }, show)
	err = each(err, size, func(p Page) (Rows[Intent], error) { return j.Intents(ctx, runID, p) }, show)
	err = each(err, size, func(p Page) (Rows[Event], error) { return j.Events(ctx, runID, p) }, show)
	err = each(err, size, func(p Page) (Rows[Fill], error) { return j.Fills(ctx, runID, p) }, show)
	err = each(err, size, func(p Page) (Rows[Entry], error) { return j.Log(ctx, runID, p) }, show)
	return out.String(), err
}

func each[T any](err error, size int, read func(Page) (Rows[T], error), show func(any)) error {
	for p := (Page{Limit: size}); err == nil; {
		var rows Rows[T]
		if rows, err = read(p); err != nil {
			return err
		}
		if len(rows.Items) > size {
			return fmt.Errorf("%d rows on a page of %d", len(rows.Items), size)
		}
		for _, item := range rows.Items {
			show(item)
		}
		if rows.Next == 0 {
			return nil
		}
		p.After = rows.Next
	}
	return err
}

// mustDump returns the dump without the numbers of events.
func mustDump(t testing.TB, j *Journal, runID string) string {
	t.Helper()
	text, err := dump(t.Context(), j, runID, MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	return withoutIDs(text)
}

// expected returns the dump of a run after so many operations, from the samples alone.
func expected(t testing.TB, run, ops int) string {
	t.Helper()
	var out strings.Builder
	show := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	info := sampleInfo(run)
	info.Status, info.StartedAt = Running, start
	info.Request = json.RawMessage(`{"exchange_config":{"secret":"[redacted]"},"mode":"live"}`)
	show(info)
	for i := 0; i*operations < ops; i++ {
		show(sampleCandle(i))
	}
	for i := 0; i*operations < ops; i++ {
		show(sampleEquity(i))
	}
	for i := 0; i*operations+1 < ops; i++ {
		show(sampleIntent(run, i))
	}
	for i := 0; i*operations+2 < ops; i++ {
		show(sampleEvent(run, i, order.Sent))
		show(sampleEvent(run, i, order.Open))
		if i*operations+3 < ops {
			show(sampleEvent(run, i, order.Filled))
		}
	}
	for i := 0; i*operations+3 < ops; i++ {
		show(sampleFill(run, i))
	}
	for i := 0; i*operations+4 < ops; i++ {
		// Entry 1 is of Begin, each operation writes one, and so does this.
		show(Entry{N: int64(i*operations + 6), Kind: "alarm", At: start,
			Data: json.RawMessage(fmt.Sprintf(`{"code":"LATE_FILL","i":%d}`, i)), Version: Version})
	}
	return withoutIDs(out.String())
}

var eventID = regexp.MustCompile(`"ID":[0-9]+`)

// withoutIDs leaves out the numbers that depend on what else is in the journal.
func withoutIDs(dump string) string { return eventID.ReplaceAllString(dump, `"ID":0`) }
