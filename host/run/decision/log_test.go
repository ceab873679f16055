package decision

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func writeAll(t *testing.T, l *Log) {
	t.Helper()
	in := &market.Intent{
		Symbol: "BTC/USDT", Side: market.Sell, Type: market.StopLimit,
		Size:       market.Size{Kind: market.SizeQuoteAmount, Value: 1e-9},
		LimitPrice: 99.5, StopPrice: 1e22, TimeInForce: market.GTD, ExpireAfter: 3, ReduceOnly: true,
		StopLoss: &market.Child{Percent: 0.02}, TakeProfit: &market.Child{},
		Tag: "tab\tand \"quotes\" \u2028é", ClientRef: "r",
	}
	l.Intent(3, 1577836800000, in, "")
	l.Intent(4, 1577840400000, &market.Intent{Action: market.Cancel, Ref: "gone"}, "unknown_order")
	l.Intent(4, 1577840400000,
		&market.Intent{Size: market.Size{Kind: market.SizeCashFraction, Value: 1}, TrailPercent: 0.1,
			TrailAmount: 2}, "")
	l.Intent(4, 1577840400000, &market.Intent{Size: market.Size{Kind: market.SizeQuantity, Value: 0.15}}, "")
	l.Order(5, 1577844000000, &market.Order{
		ID: 2, ParentID: 1, Symbol: "BTC/USDT", Status: market.StatusCanceled, Reason: "oco",
		Quantity: decimal.MustParse("1.50"), LimitPrice: decimal.MustParse("99.5"),
		StopPrice: decimal.MustParse("98"),
	})
	l.Fill(5, 1577840400000,
		&market.Fill{ID: 1, OrderID: 2, Symbol: "BTC/USDT", Price: decimal.MustParse("100.10"),
			Quantity: decimal.MustParse("1"), Ambiguous: true})
	l.Intent(6, 1577847600000, &market.Intent{ClientRef: "c", ExpireAfter: 2, PostOnly: true,
		TimeInForce: market.GTD,
		Size:        market.Size{Kind: market.SizeEquityFraction, Value: 0.5}}, "")
	l.Intent(6, 1577847600000, &market.Intent{Ref: "gone", Action: market.Replace,
		Size: market.Size{Kind: market.SizeRiskFraction, Value: 0.01}}, "invalid_size")
	l.Intent(6, 1577847600000, &market.Intent{
		Size: market.Size{Kind: market.SizeTargetFraction, Value: 0}}, "")
	l.Order(7, 1577851200000, &market.Order{ID: 3, Symbol: "BTC/USDT", Status: market.StatusFilled,
		Clamped: true})
	l.Intent(8, 1577854800000, &market.Intent{OCO: 2, LimitPrice: 5, PostOnly: true,
		Targets: []market.TakeProfit{{Level: market.Child{Price: 7}, Share: 0.5},
			{Level: market.Child{Percent: 0.5}, Share: 0.25}}}, "")
	l.Intent(8, 1577854800000, &market.Intent{
		StopLoss: &market.Child{Percent: 0.5, TightenTo: 0.25, TightenAfter: 2}}, "")
}

func TestLinesAreCanonicalJSON(t *testing.T) {
	l, err := New(t.TempDir(), "full")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	writeAll(t, l)
	var out bytes.Buffer
	for range 2 { // reading does not disturb writing
		out.Reset()
		if err := l.WriteLines(&out); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 12 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		canonical := jsontext.Value(line).Clone()
		if err := canonical.Canonicalize(); err != nil {
			t.Fatalf("line %d: %v\n%s", i, err, line)
		}
		if string(canonical) != line {
			t.Errorf("line %d is\n%s\ncanonical would be\n%s", i, line, canonical)
		}
	}
	want := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	if got := l.Sum(); got != hex.EncodeToString(want[:]) {
		t.Errorf("hash %s of the lines joined by newlines, want %x", got, want)
	}
	if want := `"kind":"reject","reason":"unknown_order","ref":"gone","seq":1`; !strings.Contains(lines[1],
		want) {
		t.Errorf("%s lacks %s", lines[1], want)
	}
	if want := `"fee":"0","fill_id":"f-000001","kind":"fill","liquidity":"taker","order_id":"o-000002","price":"100.1"`; !strings.Contains(lines[5], want) {
		t.Errorf("%s lacks %s", lines[5], want)
	}
	for i, want := range map[int]string{
		6: `"equity_fraction":"0.5","expire_after":2,"kind":"intent","post_only":true`,
		7: `"risk_fraction":"0.01"`, 8: `"target_fraction":"0","time":`, 9: `"clamped":true`,
		10: `"targets":[{"price":"7","share":"0.5"},{"percent":"0.5","share":"0.25"}],"time"`,
		11: `"stop_loss":{"percent":"0.5","tighten_after":"2","tighten_to":"0.25"}`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("%s lacks %s", lines[i], want)
		}
	}
}

func TestNoLinesIsNoText(t *testing.T) {
	dir := t.TempDir()
	l, err := New(dir, "full")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out bytes.Buffer
	if err := l.WriteLines(&out); err != nil || out.Len() != 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
	empty := sha256.Sum256(nil)
	if l.Sum() != hex.EncodeToString(empty[:]) {
		t.Error("the hash of no lines is that of nothing")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("the spool file has a name: %v", left)
	}
	if _, err := New("/nowhere/at/all", "full"); err == nil {
		t.Error("a folder that is not there was taken")
	}
}

func TestTailIsTheEndOfTheLines(t *testing.T) {
	l, err := New(t.TempDir(), "full")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if lines, total, err := l.Tail(5); len(lines) != 0 || total != 0 || err != nil {
		t.Errorf("before the first: %d of %d, %v", len(lines), total, err)
	}
	for i := range 1500 {
		l.Intent(int64(i), 1577836800000, &market.Intent{Tag: strings.Repeat("x", i)}, "")
	}
	var all bytes.Buffer
	if err := l.WriteLines(&all); err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(all.String(), "\n"), "\n")
	for _, n := range []int{0, 1, 7, 200, 1499, 1500, 5000} {
		lines, total, err := l.Tail(n)
		if err != nil || total != 1500 || len(lines) != min(n, 1500) {
			t.Fatalf("%d: %d of %d, %v", n, len(lines), total, err)
		}
		for i, line := range lines {
			if string(line) != want[1500-len(lines)+i] {
				t.Fatalf("%d: line %d is %.80s", n, i, line)
			}
		}
	}
	l.Intent(1500, 1577836800000, &market.Intent{}, "")
	if lines, total, err := l.Tail(1); err != nil || total != 1501 ||
		!strings.Contains(string(lines[0]), `"candle":1500`) {
		t.Errorf("after reading: %q, %d, %v", lines, total, err)
	}
}

// TestSpoolIsWhatWasWritten: pieces of any size come back whole and in part, from
// memory and from the file.
func TestSpoolIsWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := spool{dir: dir}
		var want []byte
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, spoolMemory/3), 0, 10).Draw(t, "pieces") {
			piece := bytes.Repeat([]byte{byte('a' + i)}, n)
			want = append(want, piece...)
			if err := s.write(piece); err != nil {
				t.Fatal(err)
			}
		}
		var got bytes.Buffer
		if err := s.copy(&got); err != nil || !bytes.Equal(got.Bytes(), want) || s.size != int64(len(want)) {
			t.Fatalf("%d bytes of %d, %v", got.Len(), len(want), err)
		}
		from := rapid.IntRange(0, len(want)).Draw(t, "from")
		part := make([]byte, rapid.IntRange(0, len(want)-from).Draw(t, "length"))
		if err := s.readAt(part, int64(from)); err != nil || !bytes.Equal(part, want[from:from+len(part)]) {
			t.Fatalf("%d bytes from %d on: %v", len(part), from, err)
		}
		if (s.file != nil) != (len(want) >= spoolMemory) {
			t.Fatalf("%d bytes, a file: %v", len(want), s.file != nil)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if err := s.copy(&got); !errors.Is(err, os.ErrClosed) {
			t.Fatalf("after its end: %v", err)
		}
	})
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
