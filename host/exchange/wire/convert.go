package wire

import (
	"encoding/json"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/connectorpb"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// outcomes in the order of the enum; what is not in it is a fault.
var outcomes = [...]exchange.Outcome{
	connectorpb.Outcome_OUTCOME_UNKNOWN:     exchange.Unknown,
	connectorpb.Outcome_OUTCOME_ACCEPTED:    exchange.Accepted,
	connectorpb.Outcome_OUTCOME_REJECTED:    exchange.Rejected,
	connectorpb.Outcome_OUTCOME_DUPLICATE:   exchange.Duplicate,
	connectorpb.Outcome_OUTCOME_NOT_OPEN:    exchange.NotOpen,
	connectorpb.Outcome_OUTCOME_NOT_FOUND:   exchange.NotFound,
	connectorpb.Outcome_OUTCOME_NOT_SENT:    exchange.NotSent,
	connectorpb.Outcome_OUTCOME_THROTTLED:   exchange.Throttled,
	connectorpb.Outcome_OUTCOME_BANNED:      exchange.Banned,
	connectorpb.Outcome_OUTCOME_CLOCK:       exchange.Clock,
	connectorpb.Outcome_OUTCOME_AUTH_FAILED: exchange.AuthFailed,
}

func resultToProto(r exchange.Result) *connectorpb.Result {
	p := &connectorpb.Result{
		VenueCode: valid(r.VenueCode), HttpStatus: int32(r.HTTPStatus), RetryAfterMs: r.RetryAfterMS,
		Message: clip(r.Message), RawSha256: valid(r.RawSHA256), RequestSha256: valid(r.RequestSHA256),
	}
	for i, o := range outcomes {
		if o == r.Outcome { // an unknown name stays UNKNOWN
			p.Outcome = connectorpb.Outcome(i)
		}
	}
	return p
}

// resultFromProto: without a Result the outcome is Unknown.
func resultFromProto(r *reader, p *connectorpb.Result) exchange.Result {
	out := exchange.Result{
		Outcome: exchange.Unknown, VenueCode: r.text("result.venue_code", p.GetVenueCode()), HTTPStatus: r.count("result.http_status", p.GetHttpStatus()),
		RetryAfterMS: p.GetRetryAfterMs(), Message: clip(p.GetMessage()),
		RawSHA256: r.text("result.raw_sha256", p.GetRawSha256()), RequestSHA256: r.text("result.request_sha256", p.GetRequestSha256()),
	}
	if out.RetryAfterMS < 0 {
		r.wrong("result.retry_after_ms", "%d is negative", out.RetryAfterMS)
	}
	if o := int(p.GetOutcome()); o < 0 || o >= len(outcomes) {
		r.wrong("result.outcome", "%d is not known", o)
	} else {
		out.Outcome = outcomes[o]
	}
	return out
}

func texts[T ~string](list []T) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = valid(string(s))
	}
	return out
}

func descriptionToProto(d exchange.Description) *connectorpb.Description {
	p := &connectorpb.Description{
		Id: valid(d.ID), Name: valid(d.Name), Aliases: texts(d.Aliases), Version: valid(d.Version), Kind: valid(d.Kind), Sandbox: d.Sandbox,
		Modes: texts(d.Modes), Symbols: texts(d.Symbols), SymbolsListed: d.Symbols != nil, OrderTypes: texts(d.OrderTypes),
		MakerFee: number(d.MakerFee), TakerFee: number(d.TakerFee), RequiresCredentials: d.RequiresCredentials,
		RateLimitMs: int32(d.RateLimitMS), DeadMan: valid(d.DeadMan), Comment: valid(d.Comment), ConfigSchema: valid(string(d.ConfigSchema)),
	}
	for _, t := range d.Timeframes {
		p.Timeframes = append(p.Timeframes, t.String())
	}
	return p
}

func descriptionFromProto(p *connectorpb.Description) (exchange.Description, error) {
	r := &reader{}
	d := exchange.Description{
		ID: r.name("id", p.GetId()), Name: r.name("name", p.GetName()), Aliases: r.list("aliases", p.GetAliases()), Version: r.text("version", p.GetVersion()),
		Kind: oneOf(r, "kind", p.GetKind(), "store", "sim", "native", "bridge"), Sandbox: p.GetSandbox(), Modes: r.list("modes", p.GetModes()),
		OrderTypes: r.list("order_types", p.GetOrderTypes()), MakerFee: r.signed("maker_fee", p.GetMakerFee()), TakerFee: r.signed("taker_fee", p.GetTakerFee()),
		RequiresCredentials: p.GetRequiresCredentials(), RateLimitMS: r.count("rate_limit_ms", p.GetRateLimitMs()),
		DeadMan: oneOf(r, "dead_man", p.GetDeadMan(), "lease", "native", "none"), Comment: p.GetComment(), ConfigSchema: json.RawMessage(p.GetConfigSchema()),
	}
	for i, mode := range d.Modes {
		oneOf(r, at("modes", i), mode, "paper", "live")
	}
	if p.GetSymbolsListed() {
		d.Symbols = make([]market.Symbol, 0, len(p.GetSymbols()))
	}
	for i, s := range p.GetSymbols() {
		d.Symbols = append(d.Symbols, parse(r, at("symbols", i), s, market.ParseSymbol))
	}
	for i, t := range p.GetTimeframes() {
		d.Timeframes = append(d.Timeframes, parse(r, at("timeframes", i), t, market.ParseTimeframe))
	}
	if len(d.ConfigSchema) > maxDocument || !json.Valid(d.ConfigSchema) {
		r.wrong("config_schema", "is not a JSON document of at most %d bytes", maxDocument)
	}
	if len(d.Comment) > maxDocument {
		r.wrong("comment", "is too long")
	}
	return d, r.err()
}

func (r *reader) list(field string, list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.name(at(field, i), s)
	}
	return out
}

// openRequestToProto reveals the secrets: this is the one place where they leave memory.
func openRequestToProto(q exchange.OpenRequest) *connectorpb.OpenRequest {
	c := q.Config
	return &connectorpb.OpenRequest{
		RunId: q.RunID, RunTag: q.RunTag, Trading: q.Trading, Symbols: texts(q.Symbols), Timeframe: q.Timeframe.String(),
		LeaseTtlMs: q.LeaseTTL.Milliseconds(), LeaseFile: q.LeaseFile, Endpoint: q.Endpoint, OnLeaseLoss: string(q.OnLeaseLoss), Exits: texts(q.Exits),
		Config: &connectorpb.Config{
			ApiKey: c.APIKey.Reveal(), Secret: c.Secret.Reveal(), Password: c.Password.Reveal(), Sandbox: c.Sandbox,
			RateLimitMs: int32(c.RateLimitMS), Unspaced: c.Unspaced, Settings: string(c.Settings),
		},
	}
}

func openRequestFromProto(p *connectorpb.OpenRequest) (exchange.OpenRequest, error) {
	r := &reader{}
	c := p.GetConfig()
	q := exchange.OpenRequest{
		RunID: r.text("run_id", p.GetRunId()), RunTag: r.text("run_tag", p.GetRunTag()), Trading: p.GetTrading(),
		Timeframe: parse(r, "timeframe", p.GetTimeframe(), market.ParseTimeframe),
		LeaseTTL:  time.Duration(p.GetLeaseTtlMs()) * time.Millisecond, LeaseFile: p.GetLeaseFile(), Endpoint: p.GetEndpoint(),
		Config: exchange.Config{
			APIKey: exchange.NewSecret(c.GetApiKey()), Secret: exchange.NewSecret(c.GetSecret()), Password: exchange.NewSecret(c.GetPassword()),
			Sandbox: c.GetSandbox(), RateLimitMS: r.count("config.rate_limit_ms", c.GetRateLimitMs()), Unspaced: c.GetUnspaced(),
		},
	}
	if c.GetSettings() != "" {
		q.Config.Settings = json.RawMessage(c.GetSettings())
	}
	if l := p.GetOnLeaseLoss(); l != "" {
		q.OnLeaseLoss = parse(r, "on_lease_loss", l, exchange.ParseLeaseLoss)
	}
	for i, id := range p.GetExits() {
		q.Exits = append(q.Exits, r.name(at("exits", i), id))
	}
	for i, s := range p.GetSymbols() {
		q.Symbols = append(q.Symbols, parse(r, at("symbols", i), s, market.ParseSymbol))
	}
	return q, r.err()
}

func openedToProto(o exchange.Opened, err error) *connectorpb.OpenReply {
	p := &connectorpb.OpenReply{Result: outcome(err), AccountId: valid(o.AccountID), ClockOffsetMs: o.ClockOffset.Milliseconds(), FeeAsset: valid(o.FeeAsset)}
	if o.Clock != nil {
		p.MarketTimeMs, p.MarketPace = int64(o.Clock.Now()), o.Clock.Pace
	}
	return p
}

// openedFromProto reads where the session is. A time of its own is believed of nothing but what
// the operator has put in an exchange's place.
func openedFromProto(r *reader, p *connectorpb.OpenReply, endpoint string) exchange.Opened {
	o := exchange.Opened{AccountID: r.text("account_id", p.GetAccountId()), ClockOffset: time.Duration(p.GetClockOffsetMs()) * time.Millisecond, FeeAsset: r.text("fee_asset", p.GetFeeAsset())}
	pace := p.GetMarketPace()
	switch {
	case pace == 0:
	case endpoint == "":
		r.wrong("market_pace", "%g: an exchange has no time of its own", pace)
	case !(pace >= exchange.LeastPace && pace <= exchange.MostPace): // NaN too
		r.wrong("market_pace", "%g is not from %g to %d", pace, exchange.LeastPace, exchange.MostPace)
	default:
		o.Clock = &exchange.PacedClock{Then: r.time("market_time_ms", p.GetMarketTimeMs()), Since: time.Now(), Pace: pace}
	}
	return o
}

func ackToProto(seq int64, a exchange.Ack) *connectorpb.Ack {
	return &connectorpb.Ack{Seq: seq, OpenOrders: int32(a.OpenOrders), VenueTimeMs: int64(a.VenueTime)}
}

func ackFromProto(r *reader, p *connectorpb.Ack) exchange.Ack {
	return exchange.Ack{OpenOrders: r.count("ack.open_orders", p.GetOpenOrders()), VenueTime: r.time("ack.venue_time_ms", p.GetVenueTimeMs())}
}

func marketToProto(m exchange.Market) *connectorpb.Market {
	return &connectorpb.Market{
		Symbol: valid(string(m.Symbol)), Trading: m.Trading, Status: valid(m.Status), PriceTick: number(m.PriceTick), QuantityStep: number(m.QuantityStep),
		MinQuantity: number(m.MinQuantity), MaxQuantity: number(m.MaxQuantity), MarketMinQuantity: number(m.MarketMinQuantity),
		MarketMaxQuantity: number(m.MarketMaxQuantity), MarketQuantityStep: number(m.MarketQuantityStep), MinNotional: number(m.MinNotional),
		MaxNotional: number(m.MaxNotional), PercentPriceUp: number(m.PercentPriceUp), PercentPriceDown: number(m.PercentPriceDown),
		MakerFee: number(m.MakerFee), TakerFee: number(m.TakerFee), OrderTypes: names(m.OrderTypes), MaxStops: int32(m.MaxStops),
		MaxPosition: number(m.MaxPosition),
	}
}

func marketFromProto(r *reader, p *connectorpb.Market) exchange.Market {
	return exchange.Market{
		Symbol: r.symbol("symbol", p.GetSymbol()), Trading: p.GetTrading(), Status: r.text("status", p.GetStatus()),
		PriceTick: r.amount("price_tick", p.GetPriceTick()), QuantityStep: r.amount("quantity_step", p.GetQuantityStep()),
		MinQuantity: r.amount("min_quantity", p.GetMinQuantity()), MaxQuantity: r.amount("max_quantity", p.GetMaxQuantity()),
		MarketMinQuantity: r.amount("market_min_quantity", p.GetMarketMinQuantity()), MarketMaxQuantity: r.amount("market_max_quantity", p.GetMarketMaxQuantity()),
		MarketQuantityStep: r.amount("market_quantity_step", p.GetMarketQuantityStep()), MinNotional: r.amount("min_notional", p.GetMinNotional()),
		MaxNotional: r.amount("max_notional", p.GetMaxNotional()), PercentPriceUp: r.amount("percent_price_up", p.GetPercentPriceUp()),
		PercentPriceDown: r.amount("percent_price_down", p.GetPercentPriceDown()),
		MakerFee:         r.signed("maker_fee", p.GetMakerFee()), TakerFee: r.signed("taker_fee", p.GetTakerFee()),
		OrderTypes: r.names("order_types", p.GetOrderTypes()), MaxStops: r.count("max_stops", p.GetMaxStops()),
		MaxPosition: r.amount("max_position", p.GetMaxPosition()),
	}
}

func candleToProto(c market.Candle) *connectorpb.Candle {
	return &connectorpb.Candle{
		OpenTime: int64(c.OpenTime), CloseTime: int64(c.CloseTime), Open: c.Open, High: c.High, Low: c.Low, Close: c.Close, Volume: c.Volume,
	}
}

// candleFromProto leaves to the feed what a venue itself can get wrong: order, grid, high
// below low. A number that is none is the connector's own fault.
func candleFromProto(r *reader, p *connectorpb.Candle) market.Candle {
	return market.Candle{
		OpenTime: r.time("open_time", p.GetOpenTime()), CloseTime: r.time("close_time", p.GetCloseTime()),
		Open: r.finite("open", p.GetOpen()), High: r.finite("high", p.GetHigh()), Low: r.finite("low", p.GetLow()),
		Close: r.finite("close", p.GetClose()), Volume: r.finite("volume", p.GetVolume()),
	}
}

func candleEventToProto(e exchange.CandleEvent) *connectorpb.CandleEvent {
	if e.State != "" {
		return &connectorpb.CandleEvent{Event: &connectorpb.CandleEvent_State{State: linkToProto(e.State, e.Reason)}}
	}
	c := &connectorpb.SymbolCandle{Symbol: valid(string(e.Symbol)), Candle: candleToProto(e.Candle)}
	return &connectorpb.CandleEvent{Event: &connectorpb.CandleEvent_Candle{Candle: c}}
}

// candleEventFromProto reads a candle or a state.
func candleEventFromProto(r *reader, p *connectorpb.CandleEvent) (e exchange.CandleEvent) {
	switch x := p.GetEvent().(type) {
	case *connectorpb.CandleEvent_Candle:
		e.Symbol = r.symbol("candle.symbol", x.Candle.GetSymbol())
		r.within("candle.candle", func() { e.Candle = candleFromProto(r, x.Candle.GetCandle()) })
	case *connectorpb.CandleEvent_State:
		e.State, e.Reason = linkFromProto(r, x.State)
	default:
		r.wrong("event", "is missing")
	}
	return e
}

func linkToProto(s exchange.LinkState, reason string) *connectorpb.Link {
	return &connectorpb.Link{State: valid(string(s)), Reason: clip(reason)}
}

func linkFromProto(r *reader, p *connectorpb.Link) (exchange.LinkState, string) {
	return oneOf(r, "state.state", p.GetState(), exchange.Connected, exchange.Reconnecting, exchange.Gap), clip(p.GetReason())
}

func submitToProto(q exchange.OrderRequest) *connectorpb.SubmitRequest {
	return &connectorpb.SubmitRequest{
		ClientOrderId: q.ClientOrderID, Symbol: string(q.Symbol), Side: q.Side.String(), Type: q.Type.String(), TimeInForce: q.TimeInForce.String(),
		Quantity: number(q.Quantity), QuoteAmount: number(q.QuoteAmount), LimitPrice: number(q.LimitPrice), StopPrice: number(q.StopPrice),
		Reduces: q.Reduces,
	}
}

// submitFromProto: a host that asks for nonsense gets an error, which is NotSent there.
func submitFromProto(p *connectorpb.SubmitRequest) (exchange.OrderRequest, error) {
	r := &reader{}
	q := exchange.OrderRequest{
		ClientOrderID: r.name("client_order_id", p.GetClientOrderId()), Symbol: parse(r, "symbol", p.GetSymbol(), market.ParseSymbol),
		Side: parse(r, "side", p.GetSide(), market.ParseSide), Type: parse(r, "type", p.GetType(), market.ParseOrderType),
		TimeInForce: parse(r, "time_in_force", p.GetTimeInForce(), market.ParseTimeInForce),
		Quantity:    r.amount("quantity", p.GetQuantity()), QuoteAmount: r.amount("quote_amount", p.GetQuoteAmount()),
		LimitPrice: r.amount("limit_price", p.GetLimitPrice()), StopPrice: r.amount("stop_price", p.GetStopPrice()),
		Reduces: p.GetReduces(),
	}
	return q, r.err()
}

func pairToProto(q exchange.PairRequest) *connectorpb.SubmitPairRequest {
	return &connectorpb.SubmitPairRequest{
		ListId: q.ListID, LimitId: q.LimitID, StopId: q.StopID, Symbol: string(q.Symbol), Side: q.Side.String(),
		Quantity: number(q.Quantity), LimitPrice: number(q.LimitPrice), StopPrice: number(q.StopPrice),
	}
}

func pairFromProto(p *connectorpb.SubmitPairRequest) (exchange.PairRequest, error) {
	r := &reader{}
	q := exchange.PairRequest{
		ListID: r.name("list_id", p.GetListId()), LimitID: r.name("limit_id", p.GetLimitId()), StopID: r.name("stop_id", p.GetStopId()),
		Symbol: parse(r, "symbol", p.GetSymbol(), market.ParseSymbol), Side: parse(r, "side", p.GetSide(), market.ParseSide),
		Quantity: r.amount("quantity", p.GetQuantity()), LimitPrice: r.amount("limit_price", p.GetLimitPrice()), StopPrice: r.amount("stop_price", p.GetStopPrice()),
	}
	return q, r.err()
}

func refToProto(ref exchange.OrderRef) *connectorpb.OrderRef {
	return &connectorpb.OrderRef{ClientOrderId: ref.ClientOrderID, Symbol: string(ref.Symbol)}
}

func refFromProto(p *connectorpb.OrderRef) (exchange.OrderRef, error) {
	r := &reader{}
	ref := exchange.OrderRef{
		ClientOrderID: r.name("client_order_id", p.GetClientOrderId()), Symbol: parse(r, "symbol", p.GetSymbol(), market.ParseSymbol),
	}
	return ref, r.err()
}

// orderToProto is nil for no order: only an Order with a symbol is one.
func orderToProto(o exchange.Order) *connectorpb.Order {
	if o.Symbol == "" {
		return nil
	}
	return &connectorpb.Order{
		ClientOrderId: valid(o.ClientOrderID), VenueOrderId: valid(o.VenueOrderID), Symbol: valid(string(o.Symbol)), Side: o.Side.String(), Type: o.Type.String(),
		Status: valid(string(o.Status)), Quantity: number(o.Quantity), CumQuantity: number(o.CumQuantity), LimitPrice: number(o.LimitPrice),
		StopPrice: number(o.StopPrice), AveragePrice: number(o.AveragePrice), Reason: clip(o.Reason), UpdatedAt: int64(o.UpdatedAt),
	}
}

// orderFromProto: a foreign order may lack a client order id.
func orderFromProto(r *reader, p *connectorpb.Order) exchange.Order {
	return exchange.Order{
		ClientOrderID: r.text("client_order_id", p.GetClientOrderId()), VenueOrderID: r.text("venue_order_id", p.GetVenueOrderId()),
		Symbol: r.symbol("symbol", p.GetSymbol()), Side: parse(r, "side", p.GetSide(), market.ParseSide),
		Type: parse(r, "type", p.GetType(), market.ParseOrderType),
		Status: oneOf(r, "status", p.GetStatus(), exchange.OrderOpen, exchange.OrderPartiallyFilled, exchange.OrderFilled,
			exchange.OrderCanceled, exchange.OrderRejected, exchange.OrderExpired),
		Quantity: r.amount("quantity", p.GetQuantity()), CumQuantity: r.amount("cum_quantity", p.GetCumQuantity()),
		LimitPrice: r.amount("limit_price", p.GetLimitPrice()), StopPrice: r.amount("stop_price", p.GetStopPrice()),
		AveragePrice: r.shown("average_price", p.GetAveragePrice()), Reason: clip(p.GetReason()), UpdatedAt: r.time("updated_at", p.GetUpdatedAt()),
	}
}

func fillToProto(f exchange.Fill) *connectorpb.Fill {
	return &connectorpb.Fill{
		TradeId: valid(f.TradeID), ClientOrderId: valid(f.ClientOrderID), VenueOrderId: valid(f.VenueOrderID), Symbol: valid(string(f.Symbol)),
		Side: f.Side.String(), Price: number(f.Price), Quantity: number(f.Quantity), Fee: number(f.Fee), FeeAsset: valid(f.FeeAsset),
		Liquidity: f.Liquidity.String(), Time: int64(f.Time),
	}
}

func fillFromProto(r *reader, p *connectorpb.Fill) exchange.Fill {
	return exchange.Fill{
		TradeID: r.name("trade_id", p.GetTradeId()), ClientOrderID: r.text("client_order_id", p.GetClientOrderId()),
		VenueOrderID: r.text("venue_order_id", p.GetVenueOrderId()), Symbol: r.symbol("symbol", p.GetSymbol()),
		Side: parse(r, "side", p.GetSide(), market.ParseSide), Price: r.amount("price", p.GetPrice()), Quantity: r.amount("quantity", p.GetQuantity()),
		Fee: r.signed("fee", p.GetFee()), FeeAsset: r.text("fee_asset", p.GetFeeAsset()),
		Liquidity: parse(r, "liquidity", p.GetLiquidity(), market.ParseLiquidity), Time: r.time("time", p.GetTime()),
	}
}

func balanceToProto(b exchange.Balance) *connectorpb.Balance {
	return &connectorpb.Balance{Asset: valid(b.Asset), Free: number(b.Free), Locked: number(b.Locked)}
}

func balanceFromProto(r *reader, p *connectorpb.Balance) exchange.Balance {
	return exchange.Balance{Asset: r.name("asset", p.GetAsset()), Free: r.amount("free", p.GetFree()), Locked: r.amount("locked", p.GetLocked())}
}

func accountEventToProto(e exchange.AccountEvent) *connectorpb.AccountEvent {
	switch {
	case e.Order != nil:
		return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_Order{Order: orderToProto(*e.Order)}}
	case e.Fill != nil:
		return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_Fill{Fill: fillToProto(*e.Fill)}}
	case e.Balance != nil:
		return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_Balance{Balance: balanceToProto(*e.Balance)}}
	}
	if t := e.Transfer; t != nil {
		p := &connectorpb.Transfer{Asset: valid(t.Asset), Amount: number(t.Amount), Time: int64(t.Time)}
		return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_Transfer{Transfer: p}}
	}
	return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_State{State: linkToProto(e.State, e.Reason)}}
}

// accountEventFromProto reads everything but a failure.
func accountEventFromProto(r *reader, p *connectorpb.AccountEvent) (e exchange.AccountEvent) {
	switch x := p.GetEvent().(type) {
	case *connectorpb.AccountEvent_State:
		e.State, e.Reason = linkFromProto(r, x.State)
	case *connectorpb.AccountEvent_Order:
		r.within("order", func() { o := orderFromProto(r, x.Order); e.Order = &o })
	case *connectorpb.AccountEvent_Fill:
		r.within("fill", func() { f := fillFromProto(r, x.Fill); e.Fill = &f })
	case *connectorpb.AccountEvent_Balance:
		r.within("balance", func() { b := balanceFromProto(r, x.Balance); e.Balance = &b })
	case *connectorpb.AccountEvent_Transfer:
		r.within("transfer", func() {
			p := x.Transfer
			e.Transfer = &exchange.Transfer{Asset: r.name("asset", p.GetAsset()), Amount: r.signed("amount", p.GetAmount()), Time: r.time("time", p.GetTime())}
		})
	default:
		r.wrong("event", "is missing")
	}
	return e
}

// listFromProto reads a list with the index in the path of its faults.
func listFromProto[P, T any](r *reader, name string, list []P, read func(*reader, P) T) []T {
	out := make([]T, len(list))
	for i, p := range list {
		r.within(at(name, i), func() { out[i] = read(r, p) })
	}
	return out
}

func listToProto[P, T any](list []T, write func(T) P) []P {
	out := make([]P, len(list))
	for i, v := range list {
		out[i] = write(v)
	}
	return out
}
