package trade

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// started returns a paper run that goes on beside a test.
func started(t *testing.T, d *testHost, req runner.StartRequest) (*Execution, <-chan runner.Outcome) {
	t.Helper()
	x := d.launch(req)
	ctx, cancel := context.WithCancel(context.Background())
	outcome, over := make(chan runner.Outcome, 1), make(chan struct{})
	go func() {
		defer close(over)
		outcome <- x.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return x, outcome
}

// ofHand returns a request for a run at the venue by hand.
func ofHand(strategy string, params map[string]any) runner.StartRequest {
	req := request(strategy, params, `{}`)
	req.Exchange = "hand"
	return req
}

func inPhase(x *Execution, phase string) func() bool {
	return func() bool { return x.Progress().Phase == phase }
}

// looks waits until a run that waits for a candle has looked at the time. It looks when it has taken a
// nudge, and has done so when it takes the next one.
func looks(t *testing.T, x *Execution) {
	t.Helper()
	x.gate.Lock()
	src := x.paper.recorder.src
	x.gate.Unlock()
	for range 2 {
		src.nudge()
		wait(t, "look at the time", func() bool { return len(src.wake) == 0 })
	}
}

// missing are the verdicts about candles that do not come.
func missing(t *testing.T, d *testHost, x *Execution) (list []map[string]any) {
	for _, v := range verdictsOf(t, d, x.runID) {
		if v["code"] == string(risk.CandlesMissing) {
			list = append(list, v)
		}
	}
	return list
}

// TestPaperStaleCandles: a paper run looks at the age of its candles while none comes. Enforced, it is
// reducing, then halted, orders are denied by that, and it trades again when the candles have caught up;
// in shadow that is written down and shown, and the run stays equal to a backtest.
func TestPaperStaleCandles(t *testing.T) {
	d := newTestHost(t, 60, "good")
	for _, mode := range []risk.Mode{risk.Enforce, risk.Shadow} {
		t.Run(string(mode), func(t *testing.T) {
			v := byHand(t, d, 10)
			d.launcher.opts.Risk = limited(t, mode,
				map[string]string{"max-position-fraction": "1", "max-drawdown": "1", "max-daily-loss": "1"})
			req := ofHand("good", map[string]any{"every": 2})
			from := v.Now()
			x, ended := started(t, d, req)
			enforced := mode == risk.Enforce
			seen := func(n int, phase string) {
				t.Helper()
				wait(t, phase, func() bool { return len(missing(t, d, x)) >= n })
				if enforced {
					wait(t, "phase "+phase, inPhase(x, phase))
				}
			}
			v.step(t) // 0 buys
			v.step(t) // and has bought
			v.pass(3*time.Hour + 9*time.Second)
			looks(t, x)
			if list := missing(t, d, x); len(list) > 0 {
				t.Errorf("too early: %v", list)
			}
			v.pass(2 * time.Second)
			looks(t, x)
			seen(1, engine.Reducing)
			v.pass(11 * time.Hour)
			looks(t, x)
			seen(2, engine.Halted)
			for range 13 { // 2 and 4 may not sell, 6 may, 8 to 12 may not buy, 14 may
				v.step(t)
			}
			v.step(t)
			if phase := x.Progress().Phase; phase != engine.Trading {
				t.Errorf("phase %s with candles on time", phase)
			}
			before := len(missing(t, d, x))
			v.pass(3*time.Hour + 11*time.Second)
			looks(t, x)
			seen(before+1, engine.Reducing)
			v.move(t, exchange.ErrEnded)
			if o := <-ended; o.Failure != nil || o.Stopped {
				t.Fatalf("%+v %+v", o, o.Failure)
			}
			for _, one := range missing(t, d, x) {
				if one["shadow"] != !enforced || one["symbol"] != string(v.symbol) {
					t.Errorf("%v", one)
				}
			}
			r := x.Results()
			if !warned(r, "CANDLES_MISSING") {
				t.Errorf("warnings %v", r.Warnings)
			}
			reasons := map[string]int{}
			for _, o := range r.Orders {
				reasons[string(o.Reason)]++
			}
			phases := phasesOf(t, d, x.runID)
			if !enforced {
				if len(reasons) != 1 || slices.Contains(phases, engine.Reducing) ||
					slices.Contains(phases, engine.Halted) {
					t.Errorf("shadow: reasons %v, phases %v", reasons, phases)
				}
				sameBacktest(t, d.backtests, x, req, from.String(), r.Window.End.String())
				return
			}
			if reasons["STATE_HALTED"] != 2 || reasons["STATE_REDUCING"] != 3 || len(r.Fills) != 3 {
				t.Errorf("reasons %v, %d fills", reasons, len(r.Fills))
			}
			readBackEqual(t, d, x)
		})
	}
}

// TestPaperConnectorCrash: a connector that is gone at any time of a paper run is started again, and the
// candles are those of a backtest, each once. So it is with a stream that gives up.
func TestPaperConnectorCrash(t *testing.T) {
	d := newTestHost(t, 200, "randomly")
	v := byHand(t, d, 30)
	died := map[string]bool{}
	v.dies = func(call string) bool {
		once := !died[call]
		died[call] = true
		return once // opening, telling its markets, in the warm-up
	}
	req := ofHand("randomly", map[string]any{"seed": 4})
	from := v.Now()
	x, ended := started(t, d, req)
	for range 20 {
		v.step(t)
	}
	if n := v.starts(); n != 4 || x.Progress().Phase != engine.Trading {
		t.Errorf("%d connectors, phase %s", n, x.Progress().Phase)
	}
	v.move(t, errors.New("connection reset"))
	v.unheard(7)
	for range 10 {
		v.step(t)
	}
	v.mu.Lock()
	opening := make(chan struct{})
	v.dies = func(call string) bool {
		if call == "open" { // it is gone until the test has seen that
			v.mu.Unlock()
			<-opening
			v.mu.Lock()
		}
		return false
	}
	v.mu.Unlock()
	v.crash()
	wait(t, "phase halted", inPhase(x, engine.Halted))
	v.unheard(12)
	close(opening)
	for range 20 {
		v.step(t)
	}
	wait(t, "phase trading", inPhase(x, engine.Trading))
	v.move(t, exchange.ErrEnded)
	if o := <-ended; o.Failure != nil || o.Stopped {
		t.Fatalf("%+v %+v", o, o.Failure)
	}
	if n := v.starts(); n != 5 {
		t.Errorf("%d connectors", n)
	}
	told := map[string]int{}
	for _, w := range x.Results().Warnings {
		told[w.Code]++
	}
	if told[engine.CodeConnectorCrashed] != 1 || told[engine.CodeConnectorBack] != 1 ||
		told[feed.CandleMissing] != 0 {
		t.Errorf("%v", told)
	}
	if n := checkJournal(t, d, x, v.symbol, x.chart.candles[0]); n != 19 || x.chart.candles[0].Len() != 69 {
		t.Errorf("%d candles, %d of them were fetched", x.chart.candles[0].Len(), n)
	}
	if n := len(x.Results().Fills); n < 5 {
		t.Errorf("only %d fills", n)
	}
	sameBacktest(t, d.backtests, x, req, from.String(), x.Results().Window.End.String())
}

// TestPaperConnectorCrashes: the fourth loss of the connector within five minutes ends a paper run.
func TestPaperConnectorCrashes(t *testing.T) {
	d := newTestHost(t, 60, "good")
	v := byHand(t, d, 10)
	x, ended := started(t, d, ofHand("good", map[string]any{"every": 2}))
	for n := 1; n <= 3; n++ {
		v.step(t)
		v.crash()
		wait(t, "another connector", func() bool { return v.starts() == n+1 })
	}
	v.step(t)
	v.crash()
	wait(t, "end of the run", func() bool { return len(ended) > 0 })
	o := <-ended
	if o.Failure == nil || o.Failure.Code != "EXCHANGE_ERROR" ||
		o.Failure.Data["reason"] != "connector_crashed" || v.starts() != 4 {
		t.Errorf("%+v after %d connectors", o.Failure, v.starts())
	}
	if n := x.Progress().CandlesDone; n != 4 {
		t.Errorf("%d candles", n)
	}
}

// TestPaperClock: a venue without a time of its own has that which it told, and it goes on by what has
// passed.
func TestPaperClock(t *testing.T) {
	x := (&Execution{clock: time.Now, gate: &run.Gate{}}).withParts()
	conn := &exchange.Connection{}
	x.paper.onOpened(conn, exchange.Opened{ClockOffset: time.Hour}, 0)
	if ahead := time.Until(conn.Clock.Now().Time()); ahead < 59*time.Minute || ahead > 61*time.Minute ||
		x.link.Synthetic {
		t.Errorf("%s ahead, %+v", ahead, x.link)
	}
	paced := &exchange.PacedClock{Then: market.Time(5), Since: time.Now(), Pace: 1}
	conn = &exchange.Connection{}
	if x.paper.onOpened(conn, exchange.Opened{Clock: paced}, 0); conn.Clock != exchange.VenueClock(paced) ||
		!x.link.Synthetic {
		t.Errorf("%v, %+v", conn.Clock, x.link)
	}
}

// TestPaperClockIsHeard: the time of a paper run goes on from what its connector says with every beat.
func TestPaperClockIsHeard(t *testing.T) {
	d := newTestHost(t, 60, "good")
	v := byHand(t, d, 10)
	v.told = true
	x, ended := started(t, d, ofHand("good", map[string]any{"every": 2}))
	wait(t, "phase trading", inPhase(x, engine.Trading))
	if list := missing(t, d, x); len(list) > 0 {
		t.Errorf("too early: %v", list)
	}
	v.pass(3*time.Hour + 11*time.Second)
	wait(t, "word about the candles", func() bool { return len(missing(t, d, x)) > 0 })
	if off := time.Duration(
		v.Now()-market.FromTime(time.Now().Add(x.Link().Offset))) * time.Millisecond; off.Abs() > 10*
		time.Second {
		t.Errorf("the offset that is shown is %s off", off)
	}
	v.move(t, exchange.ErrEnded)
	if o := <-ended; o.Failure != nil || o.Stopped {
		t.Fatalf("%+v %+v", o, o.Failure)
	}
}

// told is a session that answers as a test says.
type told struct {
	exchange.Connector
	open    func(n int) error // the n-th time, from 1
	markets func(n int) error
	close   func(context.Context) error

	opened, asked, closed, released int
}

func (s *told) Open(context.Context, exchange.OpenRequest) (exchange.Opened, error) {
	s.opened++
	return exchange.Opened{}, s.open(s.opened)
}

func (s *told) Markets(context.Context) ([]exchange.Market, error) {
	s.asked++
	return []exchange.Market{{Symbol: one, Trading: true}}, s.markets(s.asked)
}

func (s *told) Close(ctx context.Context, _ bool) ([]string, error) {
	s.closed++
	return nil, s.close(ctx)
}

func (s *told) Beat(context.Context, int64) (exchange.Ack, error) { return exchange.Ack{}, nil }
func (s *told) ArmDeadMan(context.Context, time.Duration) error   { return errors.ErrUnsupported }
func (s *told) connect(context.Context) (*exchange.Connection, error) {
	return &exchange.Connection{Connector: s, Release: func() { s.released++ }}, nil
}

// bare returns a paper run over a session, of which only the connection is there.
func (s *told) bare() *Execution {
	return (&Execution{
		log: hclog.NewNullLogger(), clock: time.Now, gate: &run.Gate{},
		opts: &Options{ConnectLimit: 2 * time.Minute},
		setup: setup{plan: run.Plan{Symbols: []market.Symbol{one}},
			venue: Venue{ID: "told", Connect: s.connect}},
	}).withParts()
}

func refused(o exchange.Outcome, silence time.Duration) error {
	return &exchange.Error{Result: exchange.Result{Outcome: o, RetryAfterMS: silence.Milliseconds()}}
}

// TestPaperIsPatient: the start of a paper run asks nothing while the venue wants no requests, and comes
// back after that; where the answer is definite it is over at once.
func TestPaperIsPatient(t *testing.T) {
	for _, c := range []struct {
		name        string
		answer      error // to all but the last request
		times       int   // that it comes
		least, most time.Duration
		reason      string // "": it starts
	}{
		{"banned", refused(exchange.Banned, 50*time.Second), 2, 100 * time.Second, 101 * time.Second, ""},
		{"turned away", refused(exchange.NotSent, 50*time.Second), 2, 100 * time.Second, 101 * time.Second,
			""},
		{"banned for long", refused(exchange.Banned, 5*time.Minute), 1, 0, 2 * time.Minute, "unreachable"},
		{"out of reach", errDown, 2, 0, 5 * time.Second, ""},
	} {
		for _, what := range []string{"open", "markets"} {
			t.Run(c.name+" "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var last time.Time
					silent := exchange.ResultOf(c.answer).HoldOff()
					answers := func(n int) error {
						if n > 1 && time.Since(last) < silent {
							t.Errorf("request %d after %s", n, time.Since(last))
						}
						last = time.Now()
						if n <= c.times {
							return c.answer
						}
						return nil
					}
					fine := func(int) error { return nil }
					s := &told{open: fine, markets: fine}
					if what == "open" {
						s.open = answers
					} else {
						s.markets = answers
					}
					x, began := s.bare(), time.Now()
					conn, err := x.paper.connectVenue(t.Context())
					if err == nil {
						_, err = x.paper.readMarkets(t.Context(), conn)
					}
					took := time.Since(began)
					f, ok := errors.AsType[*engine.Fault](err)
					if c.reason == "" && err != nil || c.reason != "" &&
						(!ok || f.Code != engine.CodeExchange || f.Data["reason"] != c.reason) ||
						took < c.least || took > c.most {
						t.Errorf("after %s: %v", took, err)
					}
				})
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s, began := &told{open: func(int) error { return refused(exchange.Rejected, 0) }}, time.Now()
		_, err := s.bare().paper.connectVenue(t.Context())
		f, ok := errors.AsType[*engine.Fault](err)
		if took := time.Since(began); !ok || f.Data["reason"] != "unreachable" || took > 0 || s.opened != 1 ||
			s.released != 1 {
			t.Errorf("after %s, %d attempts: %v", took, s.opened, err)
		}
	})
}

// TestPaperHangsUpInTime: a connector that does not come to the end of its session holds a paper run up for
// no longer than a live one.
func TestPaperHangsUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &told{open: func(int) error { return nil }, close: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		x := s.bare()
		conn, err := x.paper.connectVenue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l, began := &line{x: x}, time.Now()
		l.take(conn)
		l.hangUp(t.Context())
		if took := time.Since(began); took != engine.CloseLimit || s.closed != 1 || s.released != 1 {
			t.Errorf("after %s, closed %d times, ended %d times", took, s.closed, s.released)
		}
	})
}
