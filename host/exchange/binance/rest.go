package binance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	gb "github.com/adshao/go-binance/v2"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// rest makes the requests of a session, and measures the venue's clock by them.
type rest struct {
	config exchange.Config
	at     Endpoints
	http   transport
	queue  *queue
	resync chan struct{}        // asks for the clock
	offset atomic.Int64         // milliseconds: the venue's clock minus ours
	clock  exchange.SteadyClock // the venue's, since it was measured last
	market *exchange.PacedClock // of a venue on loopback whose candles have a time of their own
}

// call makes one request, once. A submit names its number of orders.
func call[T any](s *rest, ctx context.Context, k kind, p priority, weight int,
	do func(context.Context, *gb.Client) (T, error), orders ...int) (T, exchange.Result) {
	var none T
	if err := s.queue.enter(ctx, p, weight, orders...); err != nil {
		return none, turnedAway(err).Result
	}
	// A client of its own: the library's writes to its fields without a lock.
	c := gb.NewClient(s.config.APIKey.Reveal(), s.config.Secret.Reveal())
	c.BaseURL, c.HTTPClient, c.TimeOffset, c.Logger = s.at.REST, s.http.client(), -s.offset.Load(),
		log.New(io.Discard, "", 0)
	ctx, e := withEvidence(ctx)
	out, err := do(ctx, c)
	s.queue.heard(e.counted)
	r := s.judge(k, e, err)
	if r.Outcome != exchange.Accepted {
		return none, r
	}
	return out, r
}

// turnedAway is of a request that the queue did not let go.
func turnedAway(err error) *exchange.Error {
	r := exchange.Result{Outcome: exchange.NotSent, Message: exchange.Clip(err.Error())}
	if quiet := new(silence); errors.As(err, &quiet) {
		r.RetryAfterMS = max(1, quiet.left.Milliseconds())
	}
	return &exchange.Error{Result: r}
}

// errShape is of an answer that can be decoded and is not what was asked for.
var errShape = errors.New("the answer has another shape")

// list makes one request whose answer is a list. The library takes null, or any other JSON, for
// an empty one, and none at all must not pass for nothing there.
func list[T any](s *rest, ctx context.Context, p priority, weight int,
	do func(context.Context, *gb.Client) ([]*T, error)) ([]*T, exchange.Result) {
	return call(s, ctx, reading, p, weight, func(ctx context.Context, c *gb.Client) ([]*T, error) {
		items, err := do(ctx, c)
		e, _ := ctx.Value(evidenceKey{}).(*evidence)
		if err == nil &&
			(!bytes.HasPrefix(bytes.TrimSpace(e.body), []byte("[")) || slices.Contains(items, nil)) {
			err = errShape
		}
		return items, err
	})
}

// judge derives the outcome from the evidence.
func (c *rest) judge(k kind, e *evidence, err error) exchange.Result {
	r := exchange.Result{Outcome: exchange.Unknown, RequestSHA256: e.requestSHA, HTTPStatus: e.status}
	if e.body != nil {
		r.RawSHA256 = exchange.Fingerprint(e.body)
	}
	switch {
	case err == nil && e.whole && e.status == 200:
		r.Outcome = exchange.Accepted
		return r
	case !e.connected.Load():
		r.Outcome, r.Message = exchange.NotSent, "no connection: "+plain(err)
		return r
	case !e.whole:
		r.Message = "no whole answer: " + plain(err)
		return r
	case e.status == 200:
		r.Message = "the answer is not what it should be"
		return r
	}
	code, message, ok := refusal(e.body)
	if ok {
		r.VenueCode, r.Message = strconv.Itoa(code), exchange.Clip(message)
	} else {
		r.Message = "an error without a code of the exchange"
	}
	r.Outcome = classify(k, e.status, code, message)
	if code == badSignature {
		r.Message = exchange.Clip(
			"the signature is not that of the key: is the secret the right one? " + keysWanted +
				"; the exchange says: " + message)
	}
	if d := c.hush(e.status, code, e.retryAfter); d > 0 {
		r.RetryAfterMS = d.Milliseconds()
	} else if r.Outcome == exchange.Clock {
		c.askTime()
	}
	return r
}

// hush begins the silence that a 418 or a 429 asks for, and returns how long it is; 0 is of any
// other status.
func (c *rest) hush(status, code int, asked time.Duration) time.Duration {
	switch status {
	case http.StatusTeapot:
		asked = cmp.Or(asked, banTime)
	case http.StatusTooManyRequests:
		asked = cmp.Or(asked, throttleTime)
	default:
		return 0
	}
	c.queue.hush(asked, status == http.StatusTooManyRequests && code == -1015)
	return asked
}

// askTime has the clock measured soon.
func (c *rest) askTime() {
	select {
	case c.resync <- struct{}{}:
	default:
	}
}

// plain returns an error without the URL, which is signed.
func plain(err error) string {
	if err == nil {
		return ""
	}
	if u := new(url.Error); errors.As(err, &u) {
		err = u.Err
	}
	return exchange.Clip(err.Error())
}

// takeTime measures the clock: the median of five, but one where each would have to wait for long.
func (c *rest) takeTime(ctx context.Context) error {
	n := clockSamples
	if c.queue.interval() > time.Second {
		n = 1
	}
	var samples []sample
	for range n {
		var sent time.Time
		at, r := call(c, ctx, reading, data, 1, func(ctx context.Context, c *gb.Client) (int64, error) {
			sent = time.Now()
			at, err := c.NewServerTimeService().Do(ctx)
			if err == nil && at <= 0 {
				err = errShape
			}
			return at, err
		})
		if r.Outcome != exchange.Accepted {
			return &exchange.Error{Result: r}
		}
		took := time.Since(sent)
		samples = append(samples, sample{market.Time(at), sent.Add(took / 2)})
	}
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(a.offset(), b.offset()) })
	median := samples[n/2]
	c.offset.Store(median.offset())
	c.clock.Set(median.venue, median.ours)
	return nil
}

// takeMarketTime asks a venue on loopback, which is none of Binance's, whether its candles have a
// time of their own: Binance's answer has neither member.
func (c *rest) takeMarketTime(ctx context.Context, endpoint string) error {
	c.market = nil
	if u, err := url.Parse(endpoint); err != nil || !loopback(u.Hostname()) {
		return nil
	}
	if err := c.queue.enter(ctx, data, 1); err != nil {
		return turnedAway(err)
	}
	ctx, _ = withEvidence(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.at.REST+"/api/v3/time", nil)
	if err != nil {
		return exchange.NewError(exchange.NotSent, plain(err))
	}
	resp, err := c.http.client().Do(req)
	if err != nil {
		return exchange.NewError(exchange.Unknown, "the venue's time: "+plain(err))
	}
	defer resp.Body.Close()
	var at struct {
		MarketTime int64   `json:"marketTime"`
		MarketPace float64 `json:"marketPace"`
	}
	switch err := json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&at); {
	case err != nil || resp.StatusCode != http.StatusOK:
		return exchange.NewError(exchange.Unknown, "the venue's time could not be read")
	case at.MarketPace >= exchange.LeastPace && at.MarketPace <= exchange.MostPace && at.MarketTime > 0:
		c.market = &exchange.PacedClock{Then: market.Time(at.MarketTime), Since: time.Now(),
			Pace: at.MarketPace}
	}
	return nil
}

// keepTime measures it again every ten minutes, and when the exchange complained.
func (c *rest) keepTime(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.resync:
		case <-time.After(clockEvery - time.Duration(rand.Int64N(int64(time.Minute)))):
		}
		limited, cancel := context.WithTimeout(ctx, 10*time.Second+c.queue.interval())
		_ = c.takeTime(limited) // the old offset stays
		cancel()
	}
}

func (c *rest) clockOffset() time.Duration {
	return time.Duration(c.offset.Load()) * time.Millisecond
}
