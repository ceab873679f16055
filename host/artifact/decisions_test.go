package artifact

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// packed is lines as decisions.columns, given to the writer in parts of a size.
func packed(tb testing.TB, lines string, part int) []byte {
	tb.Helper()
	var out bytes.Buffer
	d, err := NewDecisionsWriter(&out)
	if err != nil {
		tb.Fatal(err)
	}
	for rest := lines; len(rest) > 0; rest = rest[min(part, len(rest)):] {
		if _, err := io.WriteString(d, rest[:min(part, len(rest))]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func unpacked(text []byte) (string, error) {
	r, err := NewDecisionsReader(bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	lines, err := io.ReadAll(r)
	return string(lines), err
}

// tradingLines are those of n market orders, each an intent, an order and a fill.
func tradingLines(n int) string {
	var b strings.Builder
	for i := range n {
		at := fixtureT0 + market.Time(i)*hour
		side := []string{"buy", "sell"}[i%2]
		price := 20000 + float64((i*7919)%100000)/10
		fmt.Fprintf(&b, `{"action":"submit","candle":%d,"kind":"intent","quantity":"0.%05d","seq":%d,"side":"%s",`+
			`"split":"full","symbol":"BTC/USDT","time":"%s","time_in_force":"gtc","type":"market"}`+"\n",
			i, i*31%99999+1, 3*i, side, at)
		fmt.Fprintf(&b, `{"candle":%d,"kind":"order","order_id":"o-%06d","quantity":"0.%05d","role":"entry",`+
			`"seq":%d,"side":"%s","split":"full","status":"new","symbol":"BTC/USDT","time":"%s","type":"market"}`+
			"\n", i, i+1, i*31%99999+1, 3*i+1, side, at)
		fmt.Fprintf(&b, `{"candle":%d,"fee":"%.4f","fill_id":"f-%06d","kind":"fill","liquidity":"taker",`+
			`"order_id":"o-%06d","price":"%.2f","quantity":"0.%05d","role":"entry","seq":%d,"side":"%s",`+
			`"slippage":"0","split":"full","symbol":"BTC/USDT","time":"%s"}`+"\n", i, price/1000, i+1, i+1, price,
			i*31%99999+1, 3*i+2, side, at)
	}
	return b.String()
}

// TestDecisionsComeBack: what is written is read, byte for byte, however it was handed over.
func TestDecisionsComeBack(t *testing.T) {
	for name, lines := range map[string]string{
		"none": "", "an empty line": "\n", "two": "\n\n", "no JSON": "abc\"de\n\"\n1\n-\n",
		"escapes":      `{"tag":"a \"quote\" 12","x":-1.5e-07,"ref":"\u0000"}` + "\n",
		"leading zero": "{\"a\":007}\n{\"a\":08}\n{\"a\":9}\n",
		"ids": `{"id":"o-000998"}` + "\n" + `{"id":"o-000999"}` + "\n" + `{"id":"o-1000000"}` + "\n" +
			`{"id":"o-01"}` + "\n",
		"wide":       `{"n":"999999999999999999"}` + "\n" + `{"n":"1000000000000000000"}` + "\n",
		"digits":     `{"n":"` + strings.Repeat("9", 40) + `"}` + "\n" + `{"n":"1"}` + "\n",
		"mixed":      `{"n":"1"}` + "\n" + `{"n":""}` + "\n" + `{"n":"x1"}` + "\n",
		"epoch":      `{"t":"1970-01-01T00:00:00.000Z"}` + "\n" + `{"t":"1970-01-01T00:00:00.001Z"}` + "\n",
		"years":      `{"t":"0001-01-01T00:00:00.000Z"}` + "\n" + `{"t":"9999-12-31T23:59:59.999Z"}` + "\n",
		"no day":     `{"t":"2024-02-30T00:00:00.000Z"}` + "\n" + `{"t":"2024-03-01T00:00:00.000Z"}` + "\n",
		"many":       strings.Repeat("{\"a\":1}\n", 3*maxBlockLines+1),
		"long":       strings.Repeat(`{"x":"`+strings.Repeat("y", maxLineText-10)+`"}`+"\n", 20),
		"many parts": "[" + strings.Repeat(`1,"a",`, 2*maxValues) + "0]\n",
		"trading":    tradingLines(3000),
	} {
		t.Run(name, func(t *testing.T) {
			whole := packed(t, lines, 1<<20)
			if got, err := unpacked(whole); err != nil || got != lines {
				t.Fatalf("%d bytes became %d, %v", len(lines), len(got), err)
			}
			if len(lines) < 10_000 && !bytes.Equal(whole, packed(t, lines, 1)) {
				t.Error("byte by byte it is another file")
			}
		})
	}
}

// TestDecisionsAreSmall: orders with ids, times and prices take less than a tenth of their lines.
func TestDecisionsAreSmall(t *testing.T) {
	lines := tradingLines(5000)
	if n := len(packed(t, lines, 1<<16)); n*10 > len(lines) {
		t.Errorf("%d bytes of %d", n, len(lines))
	}
}

// TestDecisionsThatAreNone: a writer refuses what it could not give back, a reader what no writer writes.
func TestDecisionsThatAreNone(t *testing.T) {
	for name, lines := range map[string]string{
		"a zero byte": "a\x00b\n", "a long line": strings.Repeat("x", maxLineText+1) + "\n", "no end": "{}\n{",
	} {
		d, err := NewDecisionsWriter(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(d, lines)
		if err = errors.Join(err, d.Close()); err == nil {
			t.Errorf("%s: it was written", name)
		}
	}
	number := func(list ...uint64) (b []byte) {
		for _, n := range list {
			b = binary.AppendUvarint(b, n)
		}
		return b
	}
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"cut":               {number(1, 1), "EOF"},
		"more lines":        {number(maxBlockLines + 1), "more than"},
		"more shapes":       {number(1, 2), "more than"},
		"an endless shape":  {number(1, 1, 1<<40), "more than"},
		"no such shape":     {append(number(1, 1, 1, 'x'), 1), "not there"},
		"an idle shape":     {number(2, 2, 1, 'x', 1, 'y', 0, 0), "no line"},
		"no such column":    {number(1, 1, 1, slot, 0, 9), "kind 9"},
		"an endless column": {number(2048, 1, 1, slot), "EOF"},
		"more behind":       {append(number(1, 1, 1, 'x', 0), 0, 0), "behind"},
		"a huge block": {append(append(number(2048, 1, 1, slot), make([]byte, 2048)...),
			append(number(uint64(columnSame), 4096), make([]byte, 4096)...)...), "too large"},
		"no time": {number(1, 1, 1, slot, 0, uint64(columnTime), 0), "is none"},
		"below 0": {number(1, 1, 1, slot, 0, uint64(columnCount), 0, 0, 1), "out of range"},
	} {
		var file bytes.Buffer
		file.WriteString(decisionsMagic)
		z, _ := flate.NewWriter(&file, flate.BestSpeed)
		if _, err := z.Write(c.body); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := unpacked(file.Bytes()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	whole := packed(t, tradingLines(10), 1<<20)
	for n := range len(whole) {
		if _, err := unpacked(whole[:n]); err == nil {
			t.Fatalf("%d bytes of %d are read", n, len(whole))
		}
	}
}

// TestBombOfDecisions: a small file of very many lines is read in the room of one block, up to its bound.
func TestBombOfDecisions(t *testing.T) {
	block := binary.AppendUvarint(nil, maxBlockLines)
	block = append(binary.AppendUvarint(append(block, 1), 200), bytes.Repeat([]byte{'x'}, 200)...)
	block = append(block, make([]byte, maxBlockLines)...)
	var file bytes.Buffer
	file.WriteString(decisionsMagic)
	z, _ := flate.NewWriter(&file, flate.BestSpeed)
	for range 10 {
		if _, err := z.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewDecisionsReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	d := r.(*decisionsReader)
	d.total = maxDecisionText - 3*maxBlockLines*201 // the blocks before are like these
	n, err := io.Copy(io.Discard, d)
	if err == nil || !strings.Contains(err.Error(), "bytes of lines") || n != 3*maxBlockLines*201 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if cap(d.block) > 2*(maxBlockText+maxLineText) {
		t.Errorf("it holds %d bytes", cap(d.block))
	}
}

// TestDecisionLines: a folder of this version and one of before are read alike, and one without says so.
func TestDecisionLines(t *testing.T) {
	store := NewStore(t.TempDir())
	for i, mode := range []string{"", "paper"} {
		run := fixtureRun(t, 260)
		run.ID = fmt.Sprintf("svc_%d", i)
		run.Manifest.Request.Mode = mode
		w, err := store.Write(run)
		if err != nil {
			t.Fatal(err)
		}
		columns, lines := "splits/full/"+DecisionsFile, "splits/full/"+DecisionLinesFile
		if _, ok := w.Metadata.File(columns); ok != (mode == "") {
			t.Errorf("mode %q: columns %t", mode, ok)
		}
		if _, ok := w.Metadata.File(lines); ok == (mode == "") {
			t.Errorf("mode %q: lines %t", mode, ok)
		}
		want := &bytes.Buffer{}
		if err := run.Splits[0].Decisions(want); err != nil {
			t.Fatal(err)
		}
		got, err := DecisionLines(store.Dir(run.ID), FullSplitID)
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%q, %v", got, err)
		}
		body, err := store.Decisions(w.Metadata, FullSplitID)
		if err != nil {
			t.Fatal(err)
		}
		if got, err = io.ReadAll(body); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%q, %v", got, err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
		if _, err := DecisionLines(store.Dir(run.ID), "test"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no such split: %v", err)
		}
		if _, err := store.Decisions(w.Metadata, "test"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no such split: %v", err)
		}
		for _, name := range []string{columns, lines} {
			path := filepath.Join(store.Dir(run.ID), filepath.FromSlash(name))
			if _, err := os.Stat(path); err == nil {
				if err := os.WriteFile(path, []byte(decisionsMagic+"?"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := store.Decisions(w.Metadata, FullSplitID); err == nil {
			t.Error("a changed file is read")
		}
	}
}

// FuzzReadDecisions: whatever a file has, it is refused or has lines that come back.
func FuzzReadDecisions(f *testing.F) {
	for _, lines := range []string{"", "\n", tradingLines(5), "{\"a\":007}\n{\"a\":08}\n"} {
		f.Add(packed(f, lines, 1<<20))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := NewDecisionsReader(bytes.NewReader(text))
		if err != nil {
			return
		}
		lines, err := io.ReadAll(io.LimitReader(r, 1<<22))
		if err != nil || len(lines) == 1<<22 || strings.ContainsRune(string(lines), slot) {
			return
		}
		if again, err := unpacked(packed(t, string(lines), 1000)); err != nil || again != string(lines) {
			t.Errorf("%q, %v, want %q", again, err, lines)
		}
	})
}

// FuzzWriteDecisions: lines come back whatever they are.
func FuzzWriteDecisions(f *testing.F) {
	f.Add(tradingLines(3), 7)
	f.Add("{\"a\":\"1\"}\n{\"a\":\"01\"}\n", 1)
	f.Fuzz(func(t *testing.T, lines string, part int) {
		lines = strings.ReplaceAll(lines, "\x00", "") + "\n"
		if got, err := unpacked(packed(t, lines, max(part, 1))); err != nil || got != lines {
			t.Errorf("%q, %v, want %q", got, err, lines)
		}
	})
}

// BenchmarkWriteDecisions compares the columns with the lines as they are, for 66,000 orders.
func BenchmarkWriteDecisions(b *testing.B) {
	lines := []byte(tradingLines(66_000))
	store := NewStore(b.TempDir())
	for _, mode := range []string{"paper", ""} {
		name := map[string]string{"paper": "lines", "": "columns"}[mode]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(lines)))
			b.ReportAllocs()
			for b.Loop() {
				st, err := newStage(store.root, "run", nil)
				if err != nil {
					b.Fatal(err)
				}
				run := &Run{}
				run.Manifest.Request.Mode = mode
				split := &Split{Decisions: func(w io.Writer) error {
					_, err := io.Copy(w, bytes.NewReader(lines))
					return err
				}}
				lines := &lineHash{h: sha256.New()}
				if err := st.writeAll([]content{decisionsOf("", run, split, lines)}); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(st.files[0].Size), "bytes")
				if err := st.removeFolder(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
