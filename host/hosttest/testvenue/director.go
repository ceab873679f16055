package testvenue

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/govalues/decimal"
)

// The actions on requests: what is done before, and what after it was executed.
const (
	cutBefore, cutAfter   = "cut_before", "cut_after"
	hangBefore, hangAfter = "hang_before", "hang_after"
	actHTML, actEmpty     = "html", "empty"
	truncated, foreignID  = "truncated", "foreign_id"
	act500, act503        = "500", "503"
	act429, act418        = "429", "418"
	actClock, actEcho     = "clock", "echo"
	latency, lateAnswer   = "latency", "late_answer" // milliseconds, before and after it is executed
)

// director takes scripts.
type director struct {
	markets *markets
	hub     *hub
	matcher *matcher
	scripts []*pending
}

// Script is something that goes wrong. With Match it waits for requests; without, it
// happens at once.
type Script struct {
	// Match is the beginning of "METHOD /path", such as "POST /api/v3/order", for streams too, or of a
	// method of the WebSocket API, such as "userDataStream.subscribe".
	Match string `json:"match"`
	// Nth is the first request that is meant, from 1; Times how many from there; 1 if zero.
	Nth   int `json:"nth"`
	Times int `json:"times"`
	// Action is one of those in Actions.
	Action string   `json:"action"`
	Args   []string `json:"args,omitempty"`
}

// pending is a script that waits for its requests.
type pending struct {
	Script
	seen int
}

func requestActions() []string {
	return []string{cutBefore, cutAfter, hangBefore, hangAfter, actHTML, actEmpty, truncated, foreignID,
		act500, act503, act429, act418, actClock, actEcho, latency, lateAnswer}
}

// trouble is what is to happen to the streams.
type trouble struct {
	drop, double, late, corrected, reorder bool // the next candles
	refuse                                 bool // the next subscription to user data
	// balances are published after each report, not after all
	chatty               bool
	delay                time.Duration // of all account events from now on
	dropUser, doubleUser int           // account events
	held                 []frame
	offline              time.Time // until then nothing gets through
}

// effects are the actions that happen at once, with the arguments that they take.
func effects() map[string]func(*director, []string) error {
	kind := func(act func(*client)) func(*director, []string) error {
		return func(v *director, args []string) error {
			for c := range v.hub.clients {
				if args[0] == "all" || c.user == (args[0] == "user") {
					act(c)
				}
			}
			return nil
		}
	}
	flag := func(set func(*trouble)) func(*director, []string) error {
		return func(v *director, _ []string) error { set(&v.hub.trouble); return nil }
	}
	return map[string]func(*director, []string) error{
		"stream_cut/1":       kind(func(c *client) { c.cut() }),
		"stream_silence/1":   kind(func(c *client) { c.silent.Store(true) }),
		"offline/1":          (*director).setOffline,
		"server_shutdown/0":  func(v *director, _ []string) error { v.hub.announceShutdown(); return nil },
		"candle_skip/0":      flag(func(t *trouble) { t.drop = true }),
		"candle_duplicate/0": flag(func(t *trouble) { t.double = true }),
		"candle_late/0":      flag(func(t *trouble) { t.late = true }),
		"candle_corrected/0": flag(func(t *trouble) { t.corrected = true }),
		"stream_drop/0":      flag(func(t *trouble) { t.dropUser++ }),
		"stream_duplicate/0": flag(func(t *trouble) { t.doubleUser++ }),
		"stream_delay/1": func(v *director, a []string) error {
			ms, err := strconv.ParseUint(a[0], 10, 16)
			v.hub.trouble.delay = time.Duration(ms) * time.Millisecond
			return err
		},
		"chatty/0":             flag(func(t *trouble) { t.chatty = true }),
		"stream_reorder/0":     flag(func(t *trouble) { t.reorder = true }),
		"refuse_user_stream/0": flag(func(t *trouble) { t.refuse = true }),
		"end_user_stream/0":    func(v *director, _ []string) error { v.hub.endUserStreams(); return nil },
		// No request is meant any more.
		"calm/0":         func(v *director, _ []string) error { v.scripts = nil; return nil },
		"permission/0":   func(v *director, _ []string) error { v.matcher.readOnly = true; return nil },
		"clock_offset/1": (*director).setOffset,
		"halt/1":         func(v *director, a []string) error { return v.halt(a[0], true) },
		"resume/1":       func(v *director, a []string) error { return v.halt(a[0], false) },
		"rules/3":        (*director).setRules,
		"price/2":        (*director).setPrice,
		"jump/2":         (*director).jump,
		"liquidity/2":    (*director).setLiquidity,
		"candle_amend/1": (*director).amend,
		"move/0":         func(v *director, _ []string) error { v.matcher.pass(1); return nil },
		"split/1": func(v *director, a []string) (err error) {
			v.matcher.account.split, err = strconv.Atoi(a[0])
			return err
		},
		"overfill/0":      func(v *director, _ []string) error { v.matcher.account.over = true; return nil },
		"fee_asset/1":     (*director).setFeeAsset,
		"balance/2":       (*director).changeBalance,
		"foreign_order/1": func(v *director, a []string) error { return v.foreign(a[0], false) },
		"foreign_fill/1":  func(v *director, a []string) error { return v.foreign(a[0], true) },
		"manual_cancel/1": func(v *director, a []string) error { return v.byClient(a[0], v.matcher.cancel) },
		"late_fill/1":     func(v *director, a []string) error { return v.byClient(a[0], v.lateFill) },
	}
}

// do takes a script.
func (v *director) do(s Script) error {
	if s.Match != "" {
		for _, known := range requestActions() {
			if s.Action == known {
				v.markets.mu.Lock()
				defer v.markets.mu.Unlock()
				s.Nth, s.Times = max(s.Nth, 1), max(s.Times, 1)
				v.scripts = append(v.scripts, &pending{Script: s})
				return nil
			}
		}
		return fmt.Errorf("action %q is not one on requests: %s", s.Action,
			strings.Join(requestActions(), ", "))
	}
	if s.Action == "step" {
		v.matcher.step()
		return nil
	}
	act := effects()[fmt.Sprintf("%s/%d", s.Action, len(s.Args))]
	if act == nil {
		return fmt.Errorf(
			"there is no action %q with %d args that happens at once; on requests it needs match",
			s.Action, len(s.Args))
	}
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	return act(v, s.Args)
}

// script returns what is to happen to a request.
func (v *director) script(request string) *Script {
	var found *Script
	for _, p := range v.scripts {
		if !strings.HasPrefix(request, p.Match) {
			continue
		}
		if p.seen++; found == nil && p.seen >= p.Nth && p.seen < p.Nth+p.Times {
			found = &p.Script
		}
	}
	return found
}

// scripted returns the action on a request and its arguments.
func (v *director) scripted(request string) (action, arg string) {
	if s := v.script(request); s != nil {
		return s.Action, strings.Join(s.Args, "")
	}
	return "", ""
}

func (v *director) setOffset(args []string) error {
	ms, err := strconv.ParseInt(args[0], 10, 32)
	v.markets.offset = time.Duration(ms) * time.Millisecond
	return err
}

// setOffline pulls the plug for some seconds of the market's time: connections are cut, and so
// is every request.
func (v *director) setOffline(args []string) error {
	seconds, err := strconv.ParseUint(args[0], 10, 16)
	v.hub.trouble.offline = time.Now().Add(v.markets.wall(time.Duration(seconds) * time.Second))
	for c := range v.hub.clients {
		c.cut()
	}
	return err
}

func (v *director) symbolOf(name string, use func(*symbol) error) error {
	s := v.markets.find(name)
	if s == nil {
		return fmt.Errorf("there is no symbol %q", name)
	}
	return use(s)
}

func (v *director) halt(name string, halted bool) error {
	return v.symbolOf(name, func(s *symbol) error { s.halted = halted; return nil })
}

func (v *director) setRules(args []string) error {
	return v.symbolOf(args[0], func(s *symbol) (err error) {
		if s.tick, err = decimal.Parse(args[1]); err == nil {
			s.step, err = decimal.Parse(args[2])
			s.minimum = s.step
			s.book.move(s.book.at)
		}
		return err
	})
}

func (v *director) setPrice(args []string) error {
	return v.symbolOf(args[0], func(s *symbol) (err error) {
		s.through, err = s.scripted(args[1])
		return err
	})
}

// jump has the market trade at another price from now on, with a gap on the way there.
func (v *director) jump(args []string) error {
	return v.symbolOf(args[0], func(s *symbol) error {
		to, err := s.scripted(args[1])
		if err != nil {
			return err
		}
		s.tape.jump(s.tape.units(to))
		v.matcher.travel(s, s.last(), true)
		v.matcher.publishBalances()
		return nil
	})
}

// setLiquidity multiplies what the levels of a book have, from now on.
func (v *director) setLiquidity(args []string) error {
	return v.symbolOf(args[0], func(s *symbol) error {
		thin, err := decimal.Parse(args[1])
		if err != nil || !thin.IsPos() || thin.Cmp(decimal.MustNew(1000, 0)) > 0 {
			return fmt.Errorf("liquidity %q is not above 0 and at most 1000", args[1])
		}
		s.book.thin = thin
		s.book.move(s.book.at)
		return nil
	})
}

// amend changes the last closed minute of a symbol by a tick and publishes it again.
func (v *director) amend(args []string) error {
	return v.symbolOf(args[0], func(s *symbol) error {
		c := &s.tape.candles[len(s.tape.candles)-1]
		c.High = s.tape.float(s.tape.units(c.High) + 1)
		v.hub.pushCandle(s, "1m", *c, true)
		return nil
	})
}

// setFeeAsset makes the account rich enough in a third asset to pay fees in it.
func (v *director) setFeeAsset(args []string) error {
	v.matcher.account.feeAsset = args[0]
	if v.matcher.account.balances[args[0]].IsZero() {
		v.matcher.account.balances[args[0]] = decimal.MustNew(1, 0)
	}
	return nil
}

func (v *director) changeBalance(args []string) error {
	d, err := decimal.Parse(args[1])
	if err != nil {
		return err
	}
	v.matcher.account.balances[args[0]] = plus(v.matcher.account.balances[args[0]], d)
	v.hub.pushUser(map[string]any{"e": "balanceUpdate", "E": int64(v.markets.now()), "a": args[0],
		"d": fixed(d),
		"T": int64(v.markets.now())})
	v.matcher.publishBalances()
	return nil
}

// foreign returns an order of another client of the same account.
func (v *director) foreign(name string, filled bool) error {
	return v.symbolOf(name, func(s *symbol) error {
		half := floorTo(times(s.last(), decimal.MustNew(5, 1)), s.tick)
		o := &order{symbol: s, list: -1, client: "web_" + strconv.Itoa(len(v.matcher.account.orders)+1),
			terms: terms{side: "BUY", kind: kindLimit, tif: tifGTC, prevention: expireMaker, price: half,
				qty: s.portion(times(s.notional, decimal.MustNew(4, 0)), half)}}
		v.matcher.take(o)
		if filled {
			v.matcher.fill(o, []level{{s.last(), o.qty}}, false)
			v.matcher.publishBalances()
		}
		return nil
	})
}

func (v *director) byClient(client string, act func(*order)) error {
	for _, s := range v.markets.symbols {
		if o := v.matcher.account.find(s, 0, client); o != nil {
			act(o)
			return nil
		}
	}
	return fmt.Errorf("there is no order %q", client)
}

// lateFill fills an order although it is canceled.
func (v *director) lateFill(o *order) {
	v.matcher.execute(o, o.symbol.last(), minus(o.qty, o.cum), true)
	v.matcher.publishBalances()
}
