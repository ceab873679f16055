package shadow

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var first = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)

func at(hours int) market.Time { return market.FromTime(first.Add(time.Duration(hours) * time.Hour)) }

// TestDaily: the return of a day is its last close against that of the day before; a day without
// candles is idle.
func TestDaily(t *testing.T) {
	opens := []market.Time{at(0), at(23), at(24), at(47), at(72)}
	days := daily(first, first.AddDate(0, 0, 4), 100, opens, []float64{90, 110, 120, 99, 198})
	want := []float64{0.1, -0.1, 0, 1}
	if len(days) != 4 || days[3].Date != "2026-11-28" {
		t.Fatalf("%+v", days)
	}
	for i, d := range days {
		if math.Abs(d.Return-want[i]) > 1e-12 {
			t.Errorf("day %d: %v, want %v", i, d.Return, want[i])
		}
	}
	count(days, first, []market.Fill{{Time: at(0)}, {Time: at(23)}, {Time: at(48)}, {Time: at(-1)}},
		[]market.Trade{{ExitTime: at(50)}, {ExitTime: at(500)}})
	if days[0].Fills != 2 || days[2].Fills != 1 || days[2].Trades != 1 || days[1].Fills != 0 {
		t.Errorf("%+v", days)
	}
	if gone := daily(first, first.AddDate(0, 0, 2), 100, opens[:1], []float64{0}); gone[1].Return != 0 {
		t.Errorf("an account without money has a return: %+v", gone)
	}
}

func TestChunk(t *testing.T) {
	s := &market.Series{Symbol: "A/B", Time: []market.Time{at(-1), at(0), at(23), at(24)}}
	for range s.Time {
		s.Open, s.High = append(s.Open, 1), append(s.High, 3)
		s.Low, s.Close = append(s.Low, 1), append(s.Close, 2)
		s.Volume = append(s.Volume, 5)
	}
	d := dataset{Dataset: candle.Dataset{Symbol: "A/B", Timeframe: market.MustTimeframe("1h")}, series: s}
	made := chunkOf([]dataset{d}, first)
	rows, sum := made.rows(), made.sum()
	if rows != 2 || len(sum) != 64 {
		t.Fatalf("%d rows, %s", rows, sum)
	}
	s.Close[0], s.Close[3] = 7, 7 // candles of other days
	if again := chunkOf([]dataset{d}, first).sum(); again != sum {
		t.Error("candles of other days are in the chunk")
	}
	s.Close[2] = 2.5
	if again := chunkOf([]dataset{d}, first).sum(); again == sum {
		t.Error("another close has the same chunk")
	}
}

// TestDiffers: of candles that are 15 to a mark or fewer, marks tell the first one that differs; of more
// the part that it is in.
func TestDiffers(t *testing.T) {
	day := func(timeframe string, n int, edit func(*market.Series)) *chunk {
		tf := market.MustTimeframe(timeframe)
		s := &market.Series{Symbol: "A/B"}
		for i := range n {
			s.Time = append(s.Time, at(0).Add(time.Duration(i)*tf.Duration()))
			s.Open, s.High = append(s.Open, 1), append(s.High, 3)
			s.Low, s.Close = append(s.Low, 1), append(s.Close, 2)
			s.Volume = append(s.Volume, 5)
		}
		edit(s)
		return chunkOf([]dataset{{Dataset: candle.Dataset{Symbol: "A/B", Timeframe: tf}, series: s}}, first)
	}
	none := func(*market.Series) {}
	drop := func(i int) func(*market.Series) {
		return func(s *market.Series) { *s = *s.Slice(0, i) }
	}
	for name, c := range map[string]struct {
		timeframe string
		stated    int
		own       func(*market.Series)
		n         int
		want      bundle.DifferingCandle
	}{
		"one candle": {"1h", 24, func(s *market.Series) { s.High[7] = 4 }, 24,
			bundle.DifferingCandle{Symbol: "A/B", OpenTime: "2026-11-25T07:00:00Z", Within: 1, Own: "1,4,1,2,5"}},
		"of minutes": {"1m", 1440, func(s *market.Series) { s.Close[100] = 4 }, 1440,
			bundle.DifferingCandle{Symbol: "A/B", OpenTime: "2026-11-25T01:30:00Z", Within: 15}},
		"one too many": {"1h", 23, none, 24,
			bundle.DifferingCandle{Symbol: "A/B", OpenTime: "2026-11-25T23:00:00Z", Within: 1, Own: "1,3,1,2,5"}},
		"the last is missing": {"1h", 24, drop(23), 24,
			bundle.DifferingCandle{Symbol: "A/B", OpenTime: "2026-11-25T23:00:00Z", Within: 1}},
	} {
		stated := day(c.timeframe, c.stated, none)
		marks := stated.marks(bundle.MarkStep(stated.rows()))
		own := day(c.timeframe, c.n, c.own)
		if own.sum() == stated.sum() {
			t.Fatalf("%s: the chunks are equal", name)
		}
		if got := own.differs(stated.rows(), marks); got == nil || *got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if got := own.differs(stated.rows(), ""); got != nil {
			t.Errorf("%s: without marks %+v", name, got)
		}
	}
}

func TestPair(t *testing.T) {
	own := map[execution]int64{
		{at(1), "A/B", "buy", "1"}: 1, {at(2), "A/B", "sell", "1"}: 2, {at(25), "A/B", "buy", "1"}: 1,
	}
	shadow := map[execution]int64{
		{at(1), "A/B", "buy", "1"}: 1, {at(2), "A/B", "sell", "1"}: 1, {at(26), "A/B", "buy", "1"}: 1,
	}
	got := pair(own, shadow)
	if got.Fills != 4 || got.Diverging != 3 || len(got.Days) != 2 {
		t.Fatalf("%+v", got)
	}
	if d := got.Days[0]; d.Date != "2026-11-25" || d.Fills != 3 || d.Diverging != 1 {
		t.Errorf("%+v", d)
	}
	if d := got.Days[1]; d.Fills != 1 || d.Diverging != 2 {
		t.Errorf("%+v", d)
	}
	if same := pair(own, own); same.Diverging != 0 || same.Fills != 4 {
		t.Errorf("%+v", same)
	}
}

func TestDeclared(t *testing.T) {
	collar := 250.0
	l := bundle.Limits{MaxCapital: "10000", MaxOrderValue: "500", MaxPositionValue: "2500",
		MaxOrdersPerMinute: 10, MaxDrawdown: "0.25", MaxDailyLoss: "300", PriceCollarBps: &collar}
	got, cash, err := declared(&l)
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]string{
		"order": {got.MaxOrderNotional.String(), "500"}, "position": {got.MaxPositionNotional.String(), "2500"},
		"loss": {got.MaxDailyLossAmount.String(), "300"}, "drawdown": {got.MaxDrawdown.String(), "0.25"},
		"collar": {got.PriceCollar.Trim(0).String(), "0.025"}, "cash": {cash.String(), "10000"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %s, want %s", name, pair[0], pair[1])
		}
	}
	if got.OrdersPerMinute != 10 || got.MaxDailyLoss.Cmp(decimal.One) != 0 {
		t.Errorf("%+v", got)
	}
	l.MaxDrawdown = "much"
	if _, _, err := declared(&l); err == nil {
		t.Error("a limit that is no number is taken")
	}
}

func TestOpenEnded(t *testing.T) {
	got, err := openEnded(json.RawMessage(`{"close_at_end":true,"fee_taker":0.001}`))
	if err != nil || string(got) != `{"close_at_end":false,"fee_taker":0.001}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := openEnded(json.RawMessage(`[]`)); err == nil {
		t.Error("rules that are none are taken")
	}
}

func TestSameDays(t *testing.T) {
	days := []bundle.ShadowDay{{Date: "2026-11-25", Return: 0.01}, {Date: "2026-11-26"}}
	sum, err := bundle.ShadowHistory(days[:1])
	if err != nil {
		t.Fatal(err)
	}
	if same, _ := sameDays(days, 1, sum); !same {
		t.Error("the same days differ")
	}
	days[0].Return = 0.02
	if same, _ := sameDays(days, 1, sum); same {
		t.Error("another return is the same")
	}
	if same, _ := sameDays(days, 3, sum); same {
		t.Error("days are missing")
	}
}

func TestClosedBy(t *testing.T) {
	d := dataset{Dataset: candle.Dataset{Timeframe: market.MustTimeframe("1h"), Last: at(46)}}
	if got := closedBy([]dataset{d}, first.AddDate(0, 0, 9)); !got.Equal(first.AddDate(0, 0, 1)) {
		t.Errorf("an hour is missing, and %s is over", got)
	}
	d.Last = at(47)
	if got := closedBy([]dataset{d}, first.AddDate(0, 0, 9)); !got.Equal(first.AddDate(0, 0, 2)) {
		t.Errorf("%s", got)
	}
	if got := closedBy([]dataset{d}, first.Add(30*time.Hour)); !got.Equal(first.AddDate(0, 0, 1)) {
		t.Errorf("a day is over before its end: %s", got)
	}
}
