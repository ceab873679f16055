package binance

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/host/exchange"
)

// tuning are the times of the streams.
type tuning struct {
	deadline          time.Duration // without a message or a ping
	age               time.Duration // of a connection before it is replaced
	overlap           time.Duration // that the old one is still listened to
	shortest, longest time.Duration // between attempts
	steady            time.Duration // that a connection lives before its loss begins the back-off anew
	// in which the account's stream connects or explains why not; the host waits 30 s
	first time.Duration
}

func defaults() tuning {
	return tuning{deadline: 60 * time.Second, age: 23 * time.Hour, overlap: 5 * time.Second,
		shortest: 500 * time.Millisecond, longest: 30 * time.Second,
		steady: 10 * time.Second, first: 15 * time.Second}
}

const (
	dialLimit    = 10 * time.Second
	maxFrame     = 4 << 20
	pongsPerSec  = 4 // with the one subscription at most five messages a second
	closedAfter  = 2 * time.Second
	tokenFailure = "the stream could not be subscribed"
)

// link keeps a WebSocket open: it connects anew when it breaks or is silent, and replaces
// it by an overlapping second one before the exchange ends it.
type link struct {
	url   string
	times tuning
	// hello is said to a new connection; an error of type *exchange.Error is final.
	hello func(context.Context, *websocket.Conn) error
	// leaving reports that a message announces the end of the connection, ended that nothing
	// will follow on it although it stays open. ended can be nil.
	leaving, ended func([]byte) bool
	// silence is how long the exchange asks for silence. It can be nil.
	silence func() time.Duration
	// refused is called with a handshake that was answered with another status. It can be nil.
	refused func(status int, retryAfter time.Duration)
	// patience is for the first connection; 0 has no end.
	patience time.Duration

	backoff exchange.Backoff // of run alone
	frames  chan incoming
	dialed  chan attempt
	wg      sync.WaitGroup
}

// socket is one connection.
type socket struct {
	ws    *websocket.Conn
	since time.Time
	gone  chan struct{}
	once  sync.Once
}

func (w *socket) close() { w.once.Do(func() { close(w.gone); _ = w.ws.Close() }) }

type incoming struct {
	from *socket
	text []byte
	err  error
}

type attempt struct {
	ws  *socket
	err error
}

// pair is the connection in use and, for a while, its successor.
type pair struct {
	l               *link
	current, second *socket
	renew, retire   *time.Timer
	dialing         bool
}

var errEnded = errors.New("the exchange ended it")

// run calls back from this goroutine until ctx ends (nil), a subscription is refused, or the
// first connection takes longer than patience. With two connections open a message may come
// twice.
func (l *link) run(ctx context.Context, say func(exchange.LinkState, string), on func([]byte)) error {
	ctx, cancel := context.WithCancel(ctx)
	l.frames, l.dialed = make(chan incoming), make(chan attempt, 1)
	l.backoff = exchange.Backoff{Least: l.times.shortest, Most: l.times.longest}
	p := &pair{l: l, renew: time.NewTimer(l.times.age), retire: time.NewTimer(l.times.age)}
	p.retire.Stop()
	defer func() { cancel(); p.end() }()
	var err error
	if p.current, err = l.connect(ctx, 0, l.patience); err != nil {
		return quiet(ctx, err)
	}
	say(exchange.Connected, "")
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.renew.C:
			p.replace(ctx, 0)
		case a := <-l.dialed:
			p.arrived(ctx, a)
		case <-p.retire.C:
			if p.second != nil {
				p.promote()
			}
		case m := <-l.frames:
			if m.err == nil && l.ended != nil && l.ended(m.text) {
				m.err = errEnded
			}
			switch {
			case m.err == nil && l.leaving(m.text):
				p.replaceLeaving(ctx)
			case m.err == nil:
				on(m.text)
			case m.from == p.second:
				p.second.close()
				p.second = nil
				p.replace(ctx, l.backoff.Next())
			case m.from == p.current && p.second != nil:
				p.promote()
			case m.from == p.current:
				p.current.close()
				if l.lived(p.current) {
					l.backoff.Reset()
				}
				say(exchange.Reconnecting, "the stream broke: "+plain(m.err))
				if p.current, err = l.connect(ctx, l.backoff.Next(), 0); err != nil {
					return quiet(ctx, err)
				}
				p.renew.Reset(l.times.age)
				say(exchange.Connected, "")
			}
		}
	}
}

// replace dials a successor after some time, unless there is one.
func (p *pair) replace(ctx context.Context, after time.Duration) {
	if p.dialing || p.second != nil {
		return
	}
	p.dialing = true
	p.l.wg.Go(func() {
		var a attempt
		if a.err = p.l.rest(ctx, after); a.err == nil {
			a.ws, a.err = p.l.dial(ctx)
		}
		p.l.dialed <- a
	})
}

// replaceLeaving does so at once, but where one connection after the other reports that it leaves.
func (p *pair) replaceLeaving(ctx context.Context) {
	if p.dialing || p.second != nil {
		return
	}
	var after time.Duration
	if !p.l.lived(p.current) {
		after = p.l.backoff.Next()
	}
	p.replace(ctx, after)
}

// arrived takes the successor over, or has another one dialed later.
func (p *pair) arrived(ctx context.Context, a attempt) {
	p.dialing = false
	if a.err != nil {
		p.renew.Reset(p.l.times.longest)
		return
	}
	p.second = a.ws
	p.l.listen(ctx, p.second)
	p.retire.Reset(p.l.times.overlap)
}

// promote makes the successor the connection in use.
func (p *pair) promote() {
	p.current.close()
	p.current, p.second = p.second, nil
	p.retire.Stop()
	p.renew.Reset(p.l.times.age)
}

// end closes what is open and waits for the goroutines.
func (p *pair) end() {
	p.renew.Stop()
	p.retire.Stop()
	for _, w := range []*socket{p.current, p.second} {
		if w != nil {
			w.close()
		}
	}
	p.l.wg.Wait()
	select {
	case a := <-p.l.dialed:
		if a.ws != nil {
			a.ws.close()
		}
	default:
	}
}

func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lived reports whether a connection was no vain attempt.
func (l *link) lived(w *socket) bool { return time.Since(w.since) >= l.times.steady }

// silent returns how long the exchange asks for silence.
func (l *link) silent() time.Duration {
	if l.silence == nil {
		return 0
	}
	return l.silence()
}

// rest waits, and on while the exchange asks for silence.
func (l *link) rest(ctx context.Context, d time.Duration) error {
	for d = max(d, l.silent()); d > 0 && exchange.Pause(ctx, d); d = l.silent() {
	}
	return ctx.Err()
}

// connect tries, after some time, until it succeeds, ctx ends, or the subscription is refused.
// With a limit it gives up rather than wait beyond it.
func (l *link) connect(ctx context.Context, after, limit time.Duration) (*socket, error) {
	began, last := time.Now(), error(nil)
	for ; ; after = l.backoff.Next() {
		left := l.silent()
		switch {
		case limit == 0 || time.Since(began)+max(after, left) <= limit:
		case left > 0:
			return nil, turnedAway(&silence{left})
		default:
			return nil, exchange.NewError(exchange.Unknown, "the stream could not be opened: "+plain(last))
		}
		if err := l.rest(ctx, after); err != nil {
			return nil, err
		}
		w, err := l.dial(ctx)
		if err == nil {
			l.listen(ctx, w)
			return w, nil
		}
		if final := new(exchange.Error); errors.As(err, &final) || ctx.Err() != nil {
			return nil, err
		}
		last = err
	}
}

// dial opens and subscribes one connection.
func (l *link) dial(ctx context.Context) (*socket, error) {
	limited, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	d := websocket.Dialer{HandshakeTimeout: dialLimit}
	ws, resp, err := d.DialContext(limited, l.url, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		if resp != nil && l.refused != nil {
			l.refused(resp.StatusCode, retryAfter(resp.Header.Get("Retry-After")))
		}
		return nil, err
	}
	w := &socket{ws: ws, gone: make(chan struct{})}
	stop := context.AfterFunc(limited, w.close)
	ws.SetReadLimit(maxFrame)
	var second int64
	pongs := 0
	ws.SetPingHandler(func(text string) error {
		l.alive(ws)
		if now := time.Now().Unix(); now != second {
			second, pongs = now, 0
		}
		if pongs++; pongs > pongsPerSec {
			return nil
		}
		err := ws.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(time.Second))
		if errors.Is(err, websocket.ErrCloseSent) {
			return nil
		}
		return err
	})
	l.alive(ws)
	if l.hello != nil {
		err = l.hello(limited, ws)
	}
	if !stop() && err == nil {
		err = context.Cause(limited)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	w.since = time.Now()
	return w, nil
}

func (l *link) alive(ws *websocket.Conn) { _ = ws.SetReadDeadline(time.Now().Add(l.times.deadline)) }

// listen hands the messages of a connection to run.
func (l *link) listen(ctx context.Context, w *socket) {
	l.wg.Go(func() {
		for {
			_, text, err := w.ws.ReadMessage()
			if err == nil {
				l.alive(w.ws)
			}
			select {
			case l.frames <- incoming{w, text, err}:
			case <-w.gone:
				return
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
}
