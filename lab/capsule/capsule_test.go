package capsule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func pointer[T any](v T) *T { return &v }

const someHash = "ad153fb1070403bf43c4f69de68013905c6fbad6c9827619413e805ca5de7476"

// example is a capsule with every part.
func example() *Capsule {
	c := &Capsule{
		Schema: Schema, Kind: PluginPanic, Severity: SeverityError, Claim: "Expected an answer; it failed.",
		Count: 1,
		Where: Where{SplitID: "train", Phase: PhaseCandle, Symbol: pointer("BTC/USDT"),
			CandleIndex: pointer(int64(137)), CandleTime: 1503439200000, EventSeq: pointer(int64(5))},
		Error: Fault{Code: "STRATEGY_ERROR", Message: "panic: boom", Type: "string",
			Stack: []Frame{{"main.f", "main.go", 7}}, StderrTail: "é\n"},
		Inputs: Inputs{
			RequestHash: someHash, RunID: "run_abc", Request: []byte(`{"kind":"run"}`),
			Data: []artifact.Dataset{{Symbol: "BTC/USDT", Timeframe: "1h", SHA256: someHash, Rows: 9,
				Start: 1, End: 2, ID: "x"}},
			Plugin: &artifact.Plugin{SHA256: someHash}, Engine: &artifact.Engine{Name: "lab"},
		},
		Environment: &artifact.Environment{GOOS: "linux"},
		State: &State{Cash: "1", Equity: "2", Positions: []Position{{Symbol: "BTC/USDT"}},
			OpenOrders: []Order{{OrderID: "o-000001", LimitPrice: pointer("3")}}},
		LastEvents: []json.RawMessage{[]byte(`{"candle":137,"kind":"candle"}`)}, DroppedBefore: 3,
		DataSlice: &Slice{FromIndex: 136, ToIndex: 137, Timeframe: "1h", Inline: true, Series: []SliceSeries{{
			Symbol: "BTC/USDT", SHA256: someHash, PriceStep: "0.01", Start: 1503432000000, End: 1503439200000,
			Rows:    2,
			Candles: []Row{{1503432000000, 1, 2, 0.5, 1.5, 1e17}, {1503435600000, 1.5, 2, 1, 2, 0}},
		}}},
		Minimal: &Minimal{StartIndex: 100, StartTime: 1503305600000, Params: []byte(`{"fast":5}`), Replays: 9,
			Complete: true},
		Replay: Replay{Argv: []string{"lab", "replay"},
			Take: &Take{SplitID: "train", Params: []byte(`{"fast":5}`), Execution: []byte(`{}`), Seed: "1",
				StepLimitMS: 30000}},
	}
	if err := c.Name("example.com/x"); err != nil {
		panic(err)
	}
	return c
}

func sealed(t testing.TB, c *Capsule) []byte {
	t.Helper()
	if err := c.Seal(NewRedactor(nil, "")); err != nil {
		t.Fatal(err)
	}
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEncodeAndDecode(t *testing.T) {
	c := example()
	text := sealed(t, c)
	back, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, c) {
		t.Errorf("came back as\n%+v\nwas\n%+v", back, c)
	}
	again, err := back.Encode()
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("%v: encoded again it is\n%s", err, again)
	}
	if !isID(c.ID) || c.FileName() != c.ID+".json" || NoteOf(c, text).Path != "capsules/"+c.ID+".json" {
		t.Errorf("id %q", c.ID)
	}
	// What was decoded may be sealed again, as after counting it.
	if !bytes.Equal(sealed(t, back), text) {
		t.Error("sealing twice changes it")
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := string(sealed(t, example()))
	replace := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %s in it", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for _, c := range []struct{ name, text, pointer, reason string }{
		{"empty", "", "", "EOF"},
		{"a list", "[]", "", "cannot unmarshal"},
		{"another schema", replace("failure-capsule/v1", "failure-capsule/v2"), "/schema",
			"not failure-capsule/v1"},
		{"an unknown field", replace(`"count":1`, `"count":1,"more":1`), "", "unknown field"},
		{"a field twice", replace(`"count":1`, `"count":1,"count":1`), "/count", "duplicate"},
		{"another kind", replace(`"kind":"plugin_panic"`, `"kind":"plugin_picnic"`), "/kind", "not known"},
		{"another severity", replace(`"severity":"error"`, `"severity":"violation"`), "/severity",
			"is error"},
		{"another place", replace(`"candle_index":137`, `"candle_index":138`), "/capsule_id", "not that of"},
		{"a bad phase", replace(`"phase":"candle"`, `"phase":"lunch"`), "/where/phase", "not known"},
		{"never seen", replace(`"count":1`, `"count":0`), "/count", "at least 1"},
		{"a path for a run", replace(`"run_id":"run_abc"`, `"run_id":"../../etc"`), "/inputs/run_id",
			"not the id"},
		{"a path for a plugin",
			replace(`"sdk_version":"","sha256":"`+someHash, `"sdk_version":"","sha256":"../x`),
			"/inputs/plugin/sha256", "is not a SHA-256"},
		{"candles that are not counted", replace(`"rows":2`, `"rows":3`), "/data_slice/series/0/rows",
			"count"},
		{"a candle of words", replace(`"0.5"`, `"x"`), "", "not a number"},
		{"a candle without end", replace(`"0.5"`, `"Inf"`), "", "not a number"},
		{"negative", replace(`"dropped_before":3`, `"dropped_before":-3`), "/dropped_before", "negative"},
		{"too large", good + strings.Repeat(" ", MaxBytes), "", "more than"},
	} {
		_, err := Decode([]byte(c.text))
		var form *FormatError
		if !errors.As(err, &form) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.pointer != "" && !strings.HasPrefix(form.Pointer, c.pointer) ||
			!strings.Contains(form.Error(), c.reason) {
			t.Errorf("%s: %s at %q, want %s at %q", c.name, form.Reason, form.Pointer, c.reason, c.pointer)
		}
	}
	var changed *ChangedError
	if _, err := Decode([]byte(replace("panic: boom", "panic: bang"))); !errors.As(err, &changed) {
		t.Errorf("a changed message: %v", err)
	}
}

func TestEncodeSheds(t *testing.T) {
	large := func(parts ...string) *Capsule {
		c := example()
		text := strings.Repeat("x", 2<<20)
		for _, p := range parts {
			switch p {
			case "candles":
				for range MaxCandles - 2 {
					c.DataSlice.Series[0].Candles = append(c.DataSlice.Series[0].Candles,
						Row{1, 2, 3, 4, 5, 6})
				}
				c.DataSlice.Series[0].Rows, c.DataSlice.Series[0].Calendar = MaxCandles, "24x7"
			case "events":
				for range MaxEvents - 1 {
					c.LastEvents = append(c.LastEvents, []byte(`{"tag":"`+text[:30<<10]+`"}`))
				}
			case "stderr":
				c.Error.StderrTail = text + text + "end"
			case "request":
				c.Inputs.Request = []byte(`{"a":"` + text + text + text + `"}`)
			}
		}
		return c
	}
	for _, c := range []struct {
		name    string
		capsule *Capsule
		check   func(*Capsule) bool
	}{
		{"all of it", large("candles"), func(c *Capsule) bool {
			return c.DataSlice.Inline && len(c.LastEvents) == 1
		}},
		{"events", large("candles", "events"), func(c *Capsule) bool {
			return !c.DataSlice.Inline && c.DataSlice.Series[0].Candles == nil && len(c.LastEvents) == 0 &&
				c.DroppedBefore == 3+MaxEvents && c.State != nil
		}},
		{"stderr", large("stderr"), func(c *Capsule) bool {
			return len(c.Error.StderrTail) == 4<<10 && strings.HasSuffix(c.Error.StderrTail, "end") &&
				c.Inputs.Request != nil
		}},
		{"the request", large("request"), func(c *Capsule) bool {
			return c.isBare() && c.Error.Message == "panic: boom" && c.Replay.Take == nil
		}},
	} {
		id := c.capsule.ID
		text := sealed(t, c.capsule)
		back, err := Decode(text)
		if err != nil || len(text) > MaxBytes {
			t.Errorf("%s: %d bytes, %v", c.name, len(text), err)
			continue
		}
		if back.ID != id || !c.check(back) {
			t.Errorf("%s: %.2000s", c.name, text)
		}
	}
}

func TestAdd(t *testing.T) {
	stored := map[string][]byte{"note.json": []byte("{}"), "fc_0000000000000000.json": []byte("broken")}
	put := func(c *Capsule) (*Capsule, error) {
		text := sealed(t, c)
		_ = text
		kept, err := Add(stored, c)
		if err == nil {
			content, err := kept.Encode()
			if err != nil {
				t.Fatal(err)
			}
			stored[kept.FileName()] = content
		}
		return kept, err
	}
	other := func(i int) *Capsule {
		c := example()
		c.Error.Type = fmt.Sprint("type", i)
		if err := c.Name("m"); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, err := put(other(0))
	if err != nil || first.Count != 1 {
		t.Fatalf("%v, %+v", err, first)
	}
	later := other(0)
	later.Where.CandleIndex = pointer(int64(999))
	if err := later.Name("m"); err != nil {
		t.Fatal(err)
	}
	if kept, err := put(later); err != nil || kept.ID != first.ID || kept.Count != 2 {
		t.Errorf("%v: the same failure elsewhere is %s, seen %d times", err, kept.ID, kept.Count)
	}
	for i := 1; i < MaxPerRun; i++ {
		if _, err := put(other(i)); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := put(other(MaxPerRun)); !errors.Is(err, ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	if kept, err := put(other(7)); err != nil || kept.Count != 2 {
		t.Errorf("a known one: %v", err)
	}
	// A bare one gives way to the whole.
	bare := other(3).Bare()
	stored[bare.FileName()] = sealed(t, bare)
	if kept, err := put(other(3)); err != nil || kept.Count != 2 || kept.isBare() {
		t.Errorf("%v, %+v", err, kept)
	}
}

func TestRowsAreExact(t *testing.T) {
	tf := market.MustTimeframe("1h")
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.Float64Range(1e-12, 1e300)
		s := &market.Series{Symbol: "A/B", Timeframe: tf}
		for i := range rapid.IntRange(0, 5).Draw(t, "n") {
			s.Append(market.Candle{
				OpenTime: market.Time(1e12) + market.Time(i)*3600_000, Open: price.Draw(t, "o"),
				High: price.Draw(t, "h"), Low: price.Draw(t, "l"),
				Close: price.Draw(t, "c"), Volume: price.Draw(t, "v"),
			})
		}
		text, err := json.Marshal(RowsOf(s))
		if err != nil {
			t.Fatal(err)
		}
		one := SliceSeries{Symbol: "A/B"}
		if err := json.Unmarshal(text, &one.Candles); err != nil {
			t.Fatal(err)
		}
		back := one.Columns(tf)
		if back.Len() != s.Len() || back.Len() > 0 && !reflect.DeepEqual(back, s) {
			t.Fatalf("%+v came back as %+v", s, back)
		}
	})
}

func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, limit := rapid.String().Draw(t, "s"), rapid.IntRange(3, 40).Draw(t, "limit")
		got := Cut(s, limit)
		if len(got) > limit || len(s) <= limit && got != s ||
			strings.ToValidUTF8(got, "?") != strings.ToValidUTF8(got, "") {
			t.Fatalf("%q cut to %d is %q", s, limit, got)
		}
	})
}

func FuzzDecode(f *testing.F) {
	whole := example()
	f.Add(sealed(f, whole))
	f.Add(sealed(f, example().Bare()))
	f.Add([]byte(`{"schema":"failure-capsule/v1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Decode(text)
		if err != nil {
			return
		}
		again, err := c.Encode()
		if err != nil {
			t.Fatalf("cannot be written again: %v", err)
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("cannot be read again: %v", err)
		}
		c.Lost()
		_ = c.Bare()
	})
}

// TestLock: what is left of a capsule of a locked split does not tell how it went there.
func TestLock(t *testing.T) {
	c := example()
	c.Kind = Nondeterminism
	c.State = &State{Cash: "1", Equity: "123456789"}
	c.LastEvents, c.DroppedBefore = []json.RawMessage{json.RawMessage(`{"close":"123456789"}`)}, 4
	c.DataSlice = &Slice{Inline: true, Series: []SliceSeries{{Symbol: "BTC/USDT"}}}
	c.Error.Message = "decision line 3 was 123456789 and is missing"
	where, id := c.Where, c.ID
	c.Lock()
	c.Claim = ""
	text, err := json.Marshal(c)
	if err != nil || strings.Contains(string(text), "123456789") {
		t.Errorf("%s, %v", text, err)
	}
	if c.State != nil || c.DataSlice != nil || c.LastEvents == nil || len(c.LastEvents) != 0 ||
		c.DroppedBefore != 5 {
		t.Errorf("%+v", c)
	}
	if c.Where.SplitID != where.SplitID || c.ID != id {
		t.Errorf("the place is lost: %+v", c.Where)
	}
}
