package wire

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/connectorpb"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const somewhere = "http://127.0.0.1:1"

// TestClockOverTheWire: the time of a venue that has one of its own goes on here as it does there.
func TestClockOverTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := exchange.PacedClock{Then: 1_700_000_000_000, Since: time.Now(), Pace: 60}
		time.Sleep(3 * time.Second) // between the venue's word and the reply
		p := openedMessage(exchange.Opened{AccountID: "7", ClockOffset: -time.Second, Clock: &there}, nil)
		o := readOpened(&reader{}, p, somewhere)
		if o.AccountID != "7" || o.ClockOffset != -time.Second || o.Clock == nil {
			t.Fatalf("%+v", o)
		}
		for range 3 {
			if got, want := o.Clock.Now(), there.Now(); got != want {
				t.Errorf("%s here, %s there", got, want)
			}
			time.Sleep(time.Minute)
		}
		if now := o.Clock.Now(); now != 1_700_000_000_000+market.Time(183*60*1000) {
			t.Errorf("%s", now)
		}
		if wall := o.Clock.Wall(time.Hour); wall != time.Minute {
			t.Errorf("an hour there lasts %s", wall)
		}
		if o := readOpened(&reader{}, openedMessage(exchange.Opened{AccountID: "7"}, nil),
			""); o.Clock != nil {
			t.Errorf("%+v", o)
		}
	})
}

// TestClockIsNotBelieved: an exchange has no time of its own, and nothing passes at no pace.
func TestClockIsNotBelieved(t *testing.T) {
	for _, c := range []struct {
		endpoint string
		time     int64
		pace     float64
	}{
		{"", 1, 60}, {somewhere, 1, math.NaN()}, {somewhere, 1, math.Inf(1)}, {somewhere, 1, -1},
		{somewhere, 1, 1e-9}, {somewhere, 1, 1e9}, {somewhere, -1, 60},
	} {
		r := &reader{}
		readOpened(r, &connectorpb.OpenReply{MarketTimeMs: c.time, MarketPace: c.pace}, c.endpoint)
		if broke := new(ProtocolError); !errors.As(r.err(), &broke) {
			t.Errorf("%+v: %v", c, r.err())
		}
	}
}

func FuzzOpenReply(f *testing.F) {
	for _, pace := range []float64{0, 60, math.NaN(), -1} {
		b, err := proto.Marshal(&connectorpb.OpenReply{AccountId: "7", MarketTimeMs: 5, MarketPace: pace})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := new(connectorpb.OpenReply)
		if proto.Unmarshal(b, p) != nil {
			return
		}
		for _, endpoint := range []string{"", somewhere} {
			r := &reader{}
			o := readOpened(r, p, endpoint)
			if r.err() == nil && o.Clock != nil &&
				(endpoint == "" || !(o.Clock.Pace >= exchange.LeastPace) || o.Clock.Wall(time.Hour) <= 0) {
				t.Errorf("took %+v", o.Clock)
			}
		}
	})
}
