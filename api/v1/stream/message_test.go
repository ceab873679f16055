package stream

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestParse(t *testing.T) {
	r, refused, err := parse(
		[]byte(`{"type":"series","payload":{"id":"7","series":"annotation:a b","symbol":"BTC/USDT","from":"2024-01-01","max_points":2}}`))
	want := request{kind: "series", id: "7", series: "annotation:a b", symbol: "BTC/USDT",
		from: 1704067200000, maxPoints: 2}
	if r != want || refused != nil || err != nil {
		t.Errorf("got %+v, %+v, %v", r, refused, err)
	}
	r, refused, err = parse([]byte(`{"type":"rows","payload":{"table":"trades"}}`))
	if want = (request{kind: "rows", table: "trades", limit: 200}); r != want || refused != nil ||
		err != nil {
		t.Errorf("got %+v, %+v, %v", r, refused, err)
	}
	if r, refused, err = parse([]byte(`{"type":"snapshot"}`)); r.kind != "snapshot" || refused != nil ||
		err != nil {
		t.Errorf("got %+v, %+v, %v", r, refused, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range Events() {
		if e.Direction == FromClient {
			f.Add([]byte(`{"type":"` + e.Type + `","payload":` + string(e.Example) + `}`))
		}
	}
	for _, s := range []string{"", "{}", `{"type":1}`, `{"type":"rows","payload":null}`,
		`{"type":"rows","payload":{"limit":1e3}}`, `{"type":"series","payload":{"series":"annotation:"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, refused, err := parse(text)
		switch {
		case err != nil || refused != nil:
			if refused != nil &&
				(refused.Message == "" || len(refused.Message) > 300 || len(refused.ID) > maxID) {
				t.Errorf("refusal %+v", refused)
			}
		case r.kind == "rows" && (r.limit < 1 || r.limit > maxRows || r.offset < 0),
			r.kind == "series" &&
				(r.maxPoints < minPoints || r.maxPoints > maxSeriesPoints || r.series == ""):
			t.Errorf("accepted %+v", r)
		}
	})
}

func FuzzAggregate(f *testing.F) {
	f.Add(uint16(0), uint16(1000), uint16(10))
	f.Add(uint16(17), uint16(403), uint16(2))
	f.Add(uint16(3), uint16(3), uint16(5))
	r := rand.New(rand.NewPCG(3, 4))
	s := &market.Series{Timeframe: market.MustTimeframe("1m")}
	for i := range 1000 {
		s.Append(market.Candle{OpenTime: market.Time(1 + i*60000), Open: r.Float64(), High: 1 + r.Float64(),
			Low: -r.Float64(), Close: r.Float64(), Volume: float64(r.IntN(9))})
	}
	f.Fuzz(func(t *testing.T, from, to, most uint16) {
		a, b, n := int(from)%1001, int(to)%1001, max(minPoints, int(most)%maxSeriesPoints)
		if a > b {
			a, b = b, a
		}
		p := aggregate(s, a, b, n)
		volume, want := 0.0, 0.0
		last := market.Time(0)
		for i := range p.n {
			at, v := p.point(i)
			if at <= last || v[1] < v[0] || v[2] > v[0] {
				t.Fatalf("point %d: %d %v", i, at, v)
			}
			last, volume = at, volume+v[4]
		}
		for i := a; i < b; i++ {
			want += s.Volume[i]
		}
		if volume != want || p.n > n || p.n == 0 && a < b || b-a <= n && p.n != b-a {
			t.Errorf("[%d, %d) in %d: %d points, volume %v of %v", a, b, n, p.n, volume, want)
		}
	})
}

// The window never lets more than its number through in a second.
func TestWindow(t *testing.T) {
	var w window
	now := time.Unix(1000, 0)
	var sent []time.Time
	for range 5000 {
		now = now.Add(time.Duration(rand.IntN(40)) * time.Millisecond)
		if w.open(now) {
			w.take(now)
			sent = append(sent, now)
		}
	}
	for i := maxBroadcasts; i < len(sent); i++ {
		if d := sent[i].Sub(sent[i-maxBroadcasts]); d < time.Second {
			t.Fatalf("%d frames within %v", maxBroadcasts+1, d)
		}
	}
}

func TestBucket(t *testing.T) {
	b := newBucket(10, 10)
	now := time.Unix(1000, 0)
	for i := range 10 {
		if !b.take(1, now) {
			t.Fatalf("message %d refused", i)
		}
	}
	for range 100 {
		if now = now.Add(100 * time.Millisecond); !b.take(1, now) {
			t.Fatal("ten a second refused")
		}
	}
	if b.take(1, now) {
		t.Error("a burst allowed without rest")
	}
}

// Frames are JSON with their members in the order of the documentation.
func TestBody(t *testing.T) {
	b, err := body("a", map[string]string{"x": "<&>"}, time.UnixMilli(1700000000123))
	if err != nil {
		t.Fatal(err)
	}
	b = numbered(b, 7)
	if want := `{"type":"a","payload":{"x":"<&>"},"timestamp":"2023-11-14T22:13:20.123Z","seq":7}`; string(
		b) != want || !json.Valid(b) {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	if _, err := body("a", func() {}, time.Now()); err == nil {
		t.Error("a function was encoded")
	}
	if m := share(b); m.shared == nil || bytes.Contains(m.own, b) {
		t.Error("not prepared")
	}
}
