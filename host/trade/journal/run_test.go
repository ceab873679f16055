package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestFillConflict(t *testing.T) {
	o := openAt(t, t.TempDir())
	r := begin(t, o.Journal, 1)
	must(t, r.Intent(t.Context(), sampleIntent(1, 0), sampleIntent(1, 1)))
	first := sampleFill(1, 0)
	out, err := r.Fill(t.Context(), first)
	if err != nil || out.Known || out.Conflict || !sameFill(out.Kept, first) {
		t.Fatalf("%+v %v", out, err)
	}
	same := first
	same.Price = first.Price.Pad(10)
	if out, err := r.Fill(t.Context(), same); err != nil || !out.Known || out.Conflict {
		t.Errorf("the same again: %+v %v", out, err)
	}
	for name, change := range map[string]func(*Fill){
		"order": func(f *Fill) {
			f.ClientOrderID = clientID(1, 2)
		}, "side": func(f *Fill) {
			f.Side = market.Sell
		}, "quantity": func(f *Fill) { f.Quantity = dec("9") },
		"price": func(f *Fill) {
			f.Price = dec("9")
		}, "fee": func(f *Fill) { f.Fee = dec("9") }, "asset": func(f *Fill) { f.FeeAsset = "BTC" },
		"liquidity": func(f *Fill) { f.Liquidity = market.Taker }, "time": func(f *Fill) { f.Time++ },
	} {
		other := first
		change(&other)
		if out, err := r.Fill(t.Context(), other); err != nil || !out.Known || !out.Conflict ||
			!sameFill(out.Kept, first) || out.KeptRun != r.Info().RunID {
			t.Errorf("%s: %+v %v", name, out, err)
		}
	}
	for _, other := range []string{"symbol", "trade", "account"} {
		f, w := first, r
		switch other {
		case "symbol":
			f.Symbol = "ETH/USDT"
		case "trade":
			f.TradeID += "x"
		case "account":
			info := sampleInfo(2)
			info.AccountID = "another"
			if w, err = o.Begin(t.Context(), info); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := w.Fill(t.Context(), f); err != nil || out.Known {
			t.Errorf("another %s: %+v %v", other, out, err)
		}
	}
	if rows, err := o.Fills(t.Context(), r.Info().RunID, Page{}); err != nil || len(rows.Items) != 3 ||
		!sameFill(rows.Items[0], first) {
		t.Errorf("%+v %v", rows, err)
	}
}

// TestWriteAhead: an order without an intent has no events and no fills, and no id, number
// or candle is used twice.
func TestWriteAhead(t *testing.T) {
	o := openAt(t, t.TempDir())
	r := begin(t, o.Journal, 1)
	ctx := t.Context()
	if err := r.Events(ctx, sampleEvent(1, 0, order.Sent)); !isInvalid(err) {
		t.Errorf("an event before the intent: %v", err)
	}
	if _, err := r.Fill(ctx, sampleFill(1, 0)); !isInvalid(err) {
		t.Errorf("a fill before the intent: %v", err)
	}
	must(t, r.Intent(ctx, sampleIntent(1, 0)))
	seqAgain, idAgain := sampleIntent(1, 1), sampleIntent(1, 0)
	seqAgain.Seq, idAgain.Seq = 1, 2
	for _, i := range []Intent{seqAgain, idAgain} {
		if err := r.Intent(ctx, sampleIntent(1, 7), i); !errors.Is(err, ErrExists) {
			t.Errorf("again: %v", err)
		}
	}
	must(t, r.Step(ctx, 0, []Candle{sampleCandle(0)}, nil))
	if err := r.Step(ctx, 1, []Candle{sampleCandle(0)}, nil); !errors.Is(err, ErrExists) {
		t.Errorf("a candle twice: %v", err)
	}
	if r.Failed() != nil {
		t.Error(r.Failed())
	}
}

func TestBadBatches(t *testing.T) {
	o := openAt(t, t.TempDir())
	r := begin(t, o.Journal, 1)
	must(t, r.Intent(t.Context(), sampleIntent(1, 0)))
	nan, source, seq, body, kind, from, trade := sampleCandle(0), sampleCandle(0), sampleIntent(1, 1),
		sampleIntent(1, 1), sampleEvent(1, 0, "two words"), sampleEvent(1, 0, order.Open), sampleFill(1, 0)
	nan.Candle.High, source.Source, seq.Seq, body.Body, from.Source, trade.TradeID = math.NaN(), "rumour", 0,
		json.RawMessage(`{"a":1,"a":2}`), "rumour", ""
	for name, b := range map[string]Batch{
		"NaN": {Candles: []Candle{nan}}, "source of a candle": {Candles: []Candle{source}},
		"seq": {Intents: []Intent{seq}}, "body": {Intents: []Intent{body}}, "kind": {Events: []Event{kind}},
		"source": {Events: []Event{from}}, "trade": {Fills: []Fill{trade}},
		"entry": {Entries: []Entry{{Kind: "a b"}}}, "reserved": {Entries: []Entry{{Kind: kindRows}}},
		"data": {Entries: []Entry{{Kind: "a", Data: math.Inf(1)}}},
	} {
		b.Equity = []Equity{sampleEquity(0)}
		if _, err := r.Commit(t.Context(), b); !isInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rows, err := o.Equity(t.Context(), r.Info().RunID, Page{}); err != nil || len(rows.Items) > 0 {
		t.Errorf("part of a refused batch was written: %v %v", rows, err)
	}
	must(t, r.Log(t.Context(), "alarm", "a venue's text: \xff\x00"))
	if err := r.Failed(); err != nil {
		t.Error(err)
	}
}

// TestFailedWrite: after a write that failed no intent is taken any more, also when others
// work again.
func TestFailedWrite(t *testing.T) {
	dir := t.TempDir()
	o := openAt(t, dir)
	r := begin(t, o.Journal, 1)
	must(t, r.Intent(t.Context(), sampleIntent(1, 0)))
	edit(t, dir, "CREATE TRIGGER broken BEFORE INSERT ON equity BEGIN INSERT INTO nowhere VALUES (1); END")
	err := r.Step(t.Context(), 1, []Candle{sampleCandle(1)}, []Equity{sampleEquity(1)})
	var first *WriteError
	if !errors.As(err, &first) || first.RunID != r.Info().RunID || !errors.Is(r.Failed(), first) {
		t.Fatalf("%v", err)
	}
	edit(t, dir, "DROP TRIGGER broken")
	if err := r.Intent(t.Context(), sampleIntent(1, 1)); !errors.Is(err, first) {
		t.Errorf("an intent: %v", err)
	}
	must(t, r.Step(t.Context(), 1, []Candle{sampleCandle(1)}, []Equity{sampleEquity(1)}))
	must(t, r.Events(t.Context(), sampleEvent(1, 0, order.Canceled)))
	must(t, r.End(t.Context(), End{Status: Failed, At: start + hour}))
	other := begin(t, o.Journal, 2)
	must(t, other.Intent(t.Context(), sampleIntent(2, 0)))
	must(t, o.Close())
	if o = openAt(t, dir); o.Quarantined != nil {
		t.Errorf("%+v", o.Quarantined)
	}
}

func TestOpenOrders(t *testing.T) {
	o := openAt(t, t.TempDir())
	ctx := t.Context()
	histories := map[int][]order.State{
		0: nil, 1: {order.Sent}, 2: {order.Sent, order.Lost}, 3: {order.Sent, order.Open},
		4: {order.Sent, order.Open, order.Partial}, 5: {order.Sent, order.Filled},
		6: {order.Sent, order.Open, order.Canceled}, 7: {order.Sent, order.Rejected},
		8: {order.Sent, order.Open, order.Expired}, 9: {order.Denied},
		10: {order.Sent, order.Open, order.Canceled, order.Partial},
		11: {order.Sent, order.Open, "query", "cancel"}, 12: {order.Sent, order.Filled, "query"},
		13: {order.Sent, order.Intent},
	}
	want := []string{"1 intent", "2 sent", "3 unknown", "4 open", "5 partial", "11 partial", "12 open",
		"14 intent"}
	for run := 1; run <= 3; run++ {
		info := sampleInfo(run)
		if run == 3 {
			info.AccountID = "another"
		}
		r, err := o.Begin(ctx, info)
		must(t, err)
		for i := range len(histories) {
			must(t, r.Intent(ctx, sampleIntent(run, i)))
			for _, s := range histories[i] {
				must(t, r.Events(ctx, sampleEvent(run, i, s)))
			}
		}
	}
	show := func(orders []Order, err error) (out []string) {
		must(t, err)
		for _, o := range orders {
			out = append(out, fmt.Sprint(o.Seq, " ", o.State))
		}
		return out
	}
	if got := show(o.OpenOrders(ctx, sampleInfo(1).RunID)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := show(o.EarlierOpenOrders(ctx, "binance", "acc", sampleInfo(2).RunID)); !slices.Equal(got,
		want) {
		t.Errorf("%q", got)
	}
	if got := show(o.EarlierOpenOrders(ctx, "binance", "acc", "new")); !slices.Equal(got,
		append(slices.Clone(want), want...)) {
		t.Errorf("%q", got)
	}
	if got := show(o.EarlierOpenOrders(ctx, "kraken", "acc", "new")); len(got) > 0 {
		t.Errorf("%q", got)
	}
	// Of the sixth, of which the venue said 0.005, fills come one after the other.
	short := []string{"6 filled", "7 canceled", "8 rejected", "9 expired", "10 denied", "13 filled"}
	for i, quantity := range []string{"0", "0.004", "0.001"} {
		if i > 0 {
			r, err := o.Resume(ctx, sampleInfo(1).RunID)
			must(t, err)
			f := sampleFill(1, 5)
			f.TradeID, f.Quantity = fmt.Sprint(i), dec(quantity)
			_, err = r.Fill(ctx, f)
			must(t, err)
		}
		if i == 2 {
			short = short[1:]
		}
		if got := show(o.EarlierUnfilled(ctx, "binance", "acc", sampleInfo(2).RunID)); !slices.Equal(got,
			short) {
			t.Errorf("after %d fills: %q", i, got)
		}
	}
	orders, err := o.OpenOrders(ctx, sampleInfo(1).RunID)
	must(t, err)
	partial := orders[4]
	if at := sampleEvent(1, 4, order.Sent).At; partial.RunID != sampleInfo(1).RunID ||
		partial.VenueOrderID != "7004" || partial.CumQuantity.String() != "0.004" || partial.SentAt != at ||
		partial.UpdatedAt != at || string(partial.Body) != string(sampleIntent(1, 4).Body) {
		t.Errorf("%+v", partial)
	}
	if orders[0].SentAt != 0 || orders[0].UpdatedAt != 0 {
		t.Errorf("%+v", orders[0])
	}
	if foreign, err := o.NotOurs(ctx,
		[]string{clientID(1, 1), "x", clientID(3, 2), clientID(9, 9)}); err != nil ||
		!slices.Equal(foreign, []string{"x", clientID(9, 9)}) {
		t.Errorf("%q %v", foreign, err)
	}
}

func TestStates(t *testing.T) {
	for _, s := range []order.State{order.Intent, order.Sent, order.Lost, order.Open, order.Partial,
		order.Filled, order.Canceled, order.Rejected, order.Expired, order.Denied} {
		if !strings.Contains(stateOf, "'"+string(s)+"'") {
			t.Errorf("the query does not know %s", s)
		}
		if terminal := !slices.Contains([]order.State{order.Intent, order.Sent, order.Lost, order.Open,
			order.Partial}, s); s.Terminal() != terminal {
			t.Errorf("%s is terminal: %v", s, s.Terminal())
		}
	}
}

// TestHistories: whatever is written in whatever batches, with reopening in between, is
// read again exactly, and the chain holds.
func TestHistories(t *testing.T) {
	dir := t.TempDir()
	o := openAt(t, dir)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		r := begin(t, o.Journal, run)
		id := r.Info().RunID
		done := [operations]int{} // how many of each operation
		for range rapid.IntRange(1, 10).Draw(rt, "actions") {
			var b Batch
			for range rapid.IntRange(0, 4).Draw(rt, "parts") {
				add(&b, &done, run, rapid.IntRange(0, operations-1).Draw(rt, "part"))
			}
			if _, err := r.Commit(t.Context(), b); err != nil {
				rt.Fatal(err)
			}
			if rapid.IntRange(0, 19).Draw(rt, "reopen") == 7 {
				must(t, o.Close())
				o = openAt(t, dir)
				var err error
				if r, err = o.Resume(t.Context(), id); err != nil || o.Quarantined != nil {
					rt.Fatal(err, o.Quarantined)
				}
			}
		}
		var got [operations]int
		if err := countAll(t, o.Journal, run, &got); err != nil || got != done {
			rt.Fatalf("%v, want %v (%v)", got, done, err)
		}
	})
}

// add puts the next row of a kind into a batch; an order has its intent first.
func add(b *Batch, done *[operations]int, run, k int) {
	i := done[k]
	switch k {
	case 0:
		b.Candles, b.Equity = append(b.Candles, sampleCandle(i)), append(b.Equity, sampleEquity(i))
	case 1:
		b.Intents = append(b.Intents, sampleIntent(run, i))
	case 2, 3:
		if i >= done[1] {
			return
		}
		if k == 2 {
			b.Events = append(b.Events, sampleEvent(run, i, order.Open))
		} else {
			b.Fills = append(b.Fills, sampleFill(run, i))
		}
	case 4:
		b.Entries = append(b.Entries, Entry{Kind: "alarm", Data: i})
	}
	done[k]++
}

func countAll(t *testing.T, j *Journal, run int, n *[operations]int) error {
	ctx, id := t.Context(), sampleInfo(run).RunID
	candles, err1 := j.Candles(ctx, id, "BTC/USDT", Page{})
	intents, err2 := j.Intents(ctx, id, Page{})
	events, err3 := j.Events(ctx, id, Page{})
	fills, err4 := j.Fills(ctx, id, Page{})
	log, err5 := j.Log(ctx, id, Page{})
	*n = [operations]int{len(candles.Items), len(intents.Items), len(events.Items), len(fills.Items),
		len(log.Items)}
	for i, c := range candles.Items {
		if c != sampleCandle(i) {
			return fmt.Errorf("candle %d: %+v", i, c)
		}
	}
	for i, f := range fills.Items {
		if f != sampleFill(run, i) {
			return fmt.Errorf("fill %d: %+v", i, f)
		}
	}
	return errors.Join(err1, err2, err3, err4, err5)
}
