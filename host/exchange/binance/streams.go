package binance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	gb "github.com/adshao/go-binance/v2"
	"github.com/adshao/go-binance/v2/common"
	"github.com/gorilla/websocket"
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// klineEvent is a kline of the combined stream. Names that differ in case only are all
// here: the decoder would take one for the other.
type klineEvent struct {
	Data struct {
		Event string `json:"e"`
		Time  int64  `json:"E"`
		Kline struct {
			Open      int64  `json:"t"`
			CloseTime int64  `json:"T"`
			Symbol    string `json:"s"`
			Interval  string `json:"i"`
			O         string `json:"o"`
			C         string `json:"c"`
			H         string `json:"h"`
			L         string `json:"l"`
			LastTrade int64  `json:"L"`
			V         string `json:"v"`
			TakerV    string `json:"V"`
			Closed    bool   `json:"x"`
		} `json:"k"`
	} `json:"data"`
}

// StreamCandles implements exchange.Connector. A hole between two candles is told as a Gap
// before the later one, what was told already is dropped.
func (s *session) StreamCandles(ctx context.Context, on func(exchange.CandleEvent)) error {
	if err := s.ready(false); err != nil {
		return err
	}
	var streams []string
	for _, name := range s.symbols() {
		streams = append(streams, strings.ToLower(name)+"@kline_"+s.req.Timeframe.String())
	}
	say := func(state exchange.LinkState, reason string) {
		on(exchange.CandleEvent{State: state, Reason: reason})
	}
	next := map[market.Symbol]market.Time{}
	l := s.link(s.rest.at.Streams + "/stream?streams=" + strings.Join(streams, "/"))
	return l.run(ctx, say, func(text []byte) {
		symbol, c, ok := s.closedCandle(text)
		if !ok {
			return
		}
		want := next[symbol]
		switch {
		case c.OpenTime < want:
			return
		case want != 0 && c.OpenTime > want:
			say(exchange.Gap, fmt.Sprintf("candles of %s from %s are missing", symbol, want))
		}
		next[symbol] = c.CloseTime
		on(exchange.CandleEvent{Symbol: symbol, Candle: c})
	})
}

// closedCandle reads a message; false: it is no closed candle of the session.
func (s *session) closedCandle(text []byte) (market.Symbol, market.Candle, bool) {
	var e klineEvent
	if json.Unmarshal(text, &e) != nil || e.Data.Event != "kline" || !e.Data.Kline.Closed ||
		e.Data.Kline.Interval != s.req.Timeframe.String() {
		return "", market.Candle{}, false
	}
	k := e.Data.Kline
	symbol, known := s.names[k.Symbol]
	c, err := s.candle(&gb.Kline{OpenTime: k.Open, Open: k.O, High: k.H, Low: k.L, Close: k.C, Volume: k.V})
	return symbol, c, known && err == nil
}

// link returns one that keeps the silence that the exchange asks for.
func (s *session) link(url string) link {
	return link{url: url, times: s.tuning, leaving: leaving, silence: s.rest.queue.silence,
		refused: func(status int, after time.Duration) {
			s.rest.hush(status, 0, after)
		}}
}

// leaving reports whether the exchange is about to end a connection.
func leaving(text []byte) bool { return isEvent(text, "serverShutdown") }

// terminated reports whether the exchange has ended the account's stream; the connection stays open.
func terminated(text []byte) bool { return isEvent(text, "eventStreamTerminated") }

// isEvent reports whether a message is an event of that name.
func isEvent(text []byte, name string) bool {
	if !strings.Contains(string(text), name) {
		return false
	}
	var e struct {
		Event any   `json:"e"`
		Time  int64 `json:"E"`
		Data  head  `json:"data"`
		Inner head  `json:"event"`
	}
	if json.Unmarshal(text, &e) != nil {
		return false
	}
	return e.Event == name || e.Data.Event == name || e.Inner.Event == name
}

// head is the name and the time of an event: without the one the decoder would take the other for it.
type head struct {
	Event string `json:"e"`
	Time  int64  `json:"E"`
}

// StreamAccount implements exchange.Connector over the WebSocket API. Where the first connection
// has to wait for long it reports so, and the host asks again.
func (s *session) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	if err := s.ready(true); err != nil {
		return err
	}
	say := func(state exchange.LinkState, reason string) {
		on(exchange.AccountEvent{State: state, Reason: reason})
	}
	l := s.link(s.rest.at.API + "/ws-api/v3")
	l.hello, l.ended, l.patience = s.subscribe, terminated, s.tuning.first
	return l.run(ctx, say, func(text []byte) { s.accountEvent(text, on) })
}

// subscribe asks for the account's events. A refusal is final but where the exchange was
// too busy or the clock was off; it is never taken for silence.
func (s *session) subscribe(ctx context.Context, ws *websocket.Conn) error {
	key, stamp := s.req.Config.APIKey.Reveal(), time.Now().UnixMilli()+s.rest.offset.Load()
	payload := fmt.Sprintf("apiKey=%s&recvWindow=%d&timestamp=%d", key, recvWindow, stamp)
	signature, err := common.Hmac(s.req.Config.Secret.Reveal(), payload)
	if err != nil {
		return exchange.NewError(exchange.AuthFailed, "the request could not be signed")
	}
	const id = "assay-account"
	if err := ws.WriteJSON(map[string]any{"id": id, "method": "userDataStream.subscribe.signature",
		"params": map[string]any{"apiKey": key, "recvWindow": recvWindow, "timestamp": stamp,
			"signature": *signature}}); err != nil {
		return errors.New("the subscription could not be sent")
	}
	for {
		_, text, err := ws.ReadMessage()
		if err != nil {
			return errors.New("the subscription was not answered")
		}
		var answer struct {
			ID     string `json:"id"`
			Status int    `json:"status"`
			Error  struct {
				Code int             `json:"code"`
				Msg  string          `json:"msg"`
				Data json.RawMessage `json:"data"`
			} `json:"error"`
		}
		if json.Unmarshal(text, &answer) != nil || answer.ID != id {
			continue
		}
		switch code := answer.Error.Code; {
		case answer.Status == 200:
			return nil
		case s.rest.hush(answer.Status, code, s.retryTime(answer.Error.Data)) > 0:
			return errors.New("the exchange accepts no subscription now")
		case code == -1021:
			if s.rest.takeTime(ctx) != nil {
				s.rest.askTime()
			}
			return errors.New("the clock was off")
		case answer.Status >= 500:
			return errors.New("the exchange is too busy for a subscription")
		default:
			o := classify(reading, answer.Status, code, answer.Error.Msg)
			if o == exchange.Unknown {
				o = exchange.Rejected
			}
			return &exchange.Error{Result: exchange.Result{
				Outcome: o, HTTPStatus: answer.Status, VenueCode: strconv.Itoa(code),
				Message: exchange.Clip(tokenFailure + ": " + answer.Error.Msg),
			}}
		}
	}
}

// retryTime reads how long an error of the WebSocket API asks to wait, which is until a time; 0: it
// does not say.
func (s *session) retryTime(data json.RawMessage) time.Duration {
	var at struct {
		Now  int64 `json:"serverTime"`
		Then int64 `json:"retryAfter"`
	}
	if json.Unmarshal(data, &at) != nil {
		return 0
	}
	now := cmp.Or(at.Now, time.Now().UnixMilli()+s.rest.offset.Load())
	if now < 0 || at.Then <= now || at.Then-now > maxRetryAfter.Milliseconds() {
		return 0
	}
	return time.Duration(at.Then-now) * time.Millisecond
}

// accountEvent reads one message of the account.
func (s *session) accountEvent(text []byte, on func(exchange.AccountEvent)) {
	var outer struct {
		Event json.RawMessage `json:"event"`
	}
	if json.Unmarshal(text, &outer) != nil || outer.Event == nil {
		return
	}
	var kind head
	lost := func(why string) { on(exchange.AccountEvent{State: exchange.Gap, Reason: why}) }
	if json.Unmarshal(outer.Event, &kind) != nil {
		lost("an event could not be read")
		return
	}
	switch kind.Event {
	case "executionReport":
		if err := s.report(outer.Event, on); err != nil {
			lost(err.Error())
		}
	case "balanceUpdate":
		t, err := transfer(outer.Event)
		if err != nil {
			lost(err.Error())
			return
		}
		on(exchange.AccountEvent{Transfer: &t})
	case "outboundAccountPosition":
		if err := positions(outer.Event, on); err != nil {
			lost(err.Error())
		}
	}
}

// report returns an executionReport: the order, and the fill if it is one.
func (s *session) report(text []byte, on func(exchange.AccountEvent)) error {
	var e struct {
		gb.WsOrderUpdate
		head
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return errors.New("an execution report could not be read")
	}
	symbol, known := s.names[e.Symbol]
	if !known {
		return nil
	}
	client := e.ClientOrderId
	// of a cancel, whose own id stands in the other
	if e.OrigCustomOrderId != "" && e.OrigCustomOrderId != "null" {
		client = e.OrigCustomOrderId
	}
	o, err := s.order(&gb.Order{
		Symbol: e.Symbol, OrderID: e.Id, ClientOrderID: client, Price: e.Price, OrigQuantity: e.Volume,
		ExecutedQuantity:         e.FilledVolume,
		CummulativeQuoteQuantity: e.FilledQuoteVolume, Status: gb.OrderStatusType(e.Status),
		Type: gb.OrderType(e.Type), Side: gb.SideType(e.Side),
		StopPrice: e.StopPrice, UpdateTime: cmp.Or(e.TransactionTime, e.Time),
	})
	if err != nil {
		return err
	}
	if e.RejectReason != "NONE" {
		o.Reason = exchange.Clip(e.RejectReason)
	}
	s.learn(e.Symbol, e.Id, client)
	on(exchange.AccountEvent{Order: &o})
	if e.ExecutionType != "TRADE" || e.TradeId < 0 {
		return nil
	}
	r := numbers{}
	f := exchange.Fill{
		TradeID: strconv.FormatInt(e.TradeId, 10), VenueOrderID: o.VenueOrderID, Symbol: symbol, Side: o.Side,
		Price:    r.read("L", e.LatestPrice),
		Quantity: r.read("l", e.LatestVolume), Fee: r.read("n", e.FeeCost), FeeAsset: e.FeeAsset,
		Time: market.Time(e.TransactionTime),
	}
	if ownID.MatchString(client) {
		f.ClientOrderID = client
	}
	if e.IsMaker {
		f.Liquidity = market.Maker
	}
	if r.err != nil {
		return r.err
	}
	on(exchange.AccountEvent{Fill: &f})
	return nil
}

// transfer returns a deposit, a withdrawal, or what came from another account of the same user.
func transfer(text []byte) (exchange.Transfer, error) {
	var e struct {
		head
		Asset  string `json:"a"`
		Amount string `json:"d"`
		Clear  int64  `json:"T"`
	}
	if json.Unmarshal(text, &e) != nil || e.Asset == "" {
		return exchange.Transfer{}, errors.New("a balance update could not be read")
	}
	amount, err := decimal.Parse(e.Amount) // the one number that may be negative
	if err != nil {
		return exchange.Transfer{}, errors.New("d is no amount: " + err.Error())
	}
	return exchange.Transfer{Asset: e.Asset, Amount: amount.Trim(0),
		Time: market.Time(cmp.Or(e.Clear, e.Time))}, nil
}

// positions are the balances that an event changed.
func positions(text []byte, on func(exchange.AccountEvent)) error {
	var e struct {
		Balances []struct {
			Asset  string `json:"a"`
			Free   string `json:"f"`
			Locked string `json:"l"`
		} `json:"B"`
	}
	if json.Unmarshal(text, &e) != nil {
		return errors.New("an account position could not be read")
	}
	r := numbers{}
	var list []exchange.Balance
	for _, b := range e.Balances {
		list = append(list,
			exchange.Balance{Asset: b.Asset, Free: r.read("f", b.Free), Locked: r.read("l", b.Locked)})
	}
	if r.err != nil {
		return r.err
	}
	for i := range list {
		on(exchange.AccountEvent{Balance: &list[i]})
	}
	return nil
}
