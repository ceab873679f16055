// Package oms is the order management of a run: the Manager turns the intents of a strategy into orders
// of a venue that knows less than the simulator, and shows the strategy the orders, fills and positions
// that a backtest would show.
//
// One order of the strategy may be several at the venue, one after the other: a replace is a cancel, its
// confirmation and a new order; a trailing stop is replaced when a candle closes; the exits of a bracket are
// a pair for what has filled, renewed as more fills. The order keeps its id through all of that.
//
// The Manager decides and does nothing: it returns Effects of the order package, and Proposals,
// which the engine puts before risk and the journal and hands back to Commit or Deny.
package oms

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// dec is short for what prices, quantities and amounts are.
type dec = decimal.Decimal

// Config is what an order manager is opened with, once the venue's rules are known.
type Config struct {
	RunID   string
	Symbols []market.Symbol
	// Markets are the rules, one per symbol in the same order.
	Markets []exchange.Market
	// OrderTypes are those of the venue's description.
	OrderTypes []string
	// Cash is the free quote balance at start.
	Cash dec
	// Headroom is the value in quote that the limits leave for one more order, beside what is proposed of the
	// symbol and of all; nil: sizes that are fractions or amounts of cash are not cut down to it.
	Headroom func(s market.Symbol, ofSymbol, ofAll dec) dec
	// Seq is the sequence number that was used last.
	Seq int64
	// Barrier is what the end of the run closes; nil: the book has one of its own.
	Barrier *order.Barrier
	// Conditions returns how the run stands, by which orders may leave or not; nil: nothing holds them back.
	// While what reduces may not leave nothing is cancelled only to be placed anew: exits stay where they
	// are.
	Conditions func() admission.Conditions
	// Unprotected is what becomes of a position whose exits cannot be placed; empty: Hold. Collar is how far
	// below the last close it may be sold then, a fraction of it.
	Unprotected Unprotected
	Collar      dec
}

// Manager is the orders of one run. It is not safe for concurrent use. It counts on an engine that
//
//   - answers every Proposal once, as it is, with Commit or Deny; anything else is ErrNotProposed. A Barrier
//     takes back those that are out.
//   - answers every Send that it handed over, every Query and every Cancel with its event, also when the
//     call failed (Outcome Unknown) and when the venue has nothing under the id: a cancel that overtakes its
//     order finds nothing. Exits that are being taken back are placed anew only when their end is known, so
//     a forgotten answer would leave a position without them; after 30 s it is an alarm (CALL_UNANSWERED)
//     and asked for again.
//   - does what follows from a Result after the call that returned it, in any order, but Handed before
//     Submit; and calls Due at NextDue.
//
// Its parts know it and each other through it: the intake makes orders of intents, the placer sizes and
// proposes them, and the protector keeps the exits of what is held.
type Manager struct {
	cfg       *Config
	book      *order.Book
	ledger    *order.Ledger
	intake    *intake
	placer    *placer
	protector *protector

	sym     []symbol
	orders  []*logicalOrder
	live    []*logicalOrder          // those that are not done
	byID    map[string]*logicalOrder // by client order id
	barred  bool                     // nothing is placed any more, but, when the run is flattened, exits
	flatten bool
	step    int64
	now     market.Time // of the run's clock
	out     Result
	// what the strategy has not been told yet
	updates []market.Order
	fills   []market.Fill
	trades  []market.Trade
}

// intake makes orders of intents.
type intake struct {
	manager *Manager
	cfg     *Config
	book    *order.Book
	ledger  *order.Ledger
}

// placer sizes orders and proposes them, as soon as they may leave.
type placer struct {
	manager *Manager
	cfg     *Config
	book    *order.Book
	ledger  *order.Ledger
	// proposed is what was handed out and neither committed nor denied: exposure like an order.
	proposed []order.Spec
	seq      int64 // of the last order
}

// protector keeps the exits of positions at the venue.
type protector struct {
	manager *Manager
	cfg     *Config
	book    *order.Book
	ledger  *order.Ledger
	groups  []*bracket
}

// symbol is what the order manager knows of one.
type symbol struct {
	rules order.Rules
	last  dec  // close
	free  dec  // of the base, as far as known
	known bool // free was told by the venue
	// freed is when an order of ours last let go of base: balances that are older may still come.
	freed time.Time
	asked time.Time // when balances were last asked for because of that
	// bare is since when a position has been without its protection; shouts that it was reported, sellNext
	// is when it may be sold again.
	bare, sellNext time.Time
	shouts         bool
}

// Proposal is an order, or the two legs of a pair, that may be written down.
type Proposal struct {
	Specs []order.Spec
	// Shrinks reports whether it can only make a position smaller, Protects whether it is a leg of a bracket.
	Shrinks, Protects bool
}

// Result is what the engine has to do.
type Result struct {
	Effects   []order.Effect
	Proposals []Proposal
}

// IntentError reports that an intent is not one at all; the run ends (PLUGIN_PROTOCOL_ERROR).
type IntentError struct {
	Step   int64
	Index  int
	Reason string
}

// Error returns the message.
func (e *IntentError) Error() string {
	return fmt.Sprintf("intent %d of step %d: %s", e.Index, e.Step, e.Reason)
}

// New opens an order manager: flat, with cash.
func New(cfg Config) (*Manager, error) {
	if len(cfg.Markets) != len(cfg.Symbols) {
		return nil, errors.New("an order manager needs the rules of every symbol")
	}
	if cfg.Conditions == nil {
		cfg.Conditions = func() admission.Conditions { return admission.Conditions{} }
	}
	if cfg.Barrier == nil {
		cfg.Barrier = new(order.Barrier)
	}
	ledger, err := order.NewLedger(cfg.Cash, cfg.Symbols)
	if err != nil {
		return nil, err
	}
	book := order.NewBookBehind(cfg.Barrier)
	d := &Manager{cfg: &cfg, book: book, ledger: ledger, byID: map[string]*logicalOrder{},
		sym: make([]symbol, len(cfg.Symbols))}
	d.intake = &intake{manager: d, cfg: &cfg, book: book, ledger: ledger}
	d.placer = &placer{manager: d, cfg: &cfg, book: book, ledger: ledger, seq: cfg.Seq}
	d.protector = &protector{manager: d, cfg: &cfg, book: book, ledger: ledger}
	for i := range d.sym {
		d.sym[i].rules = order.Rules{Market: cfg.Markets[i]}
	}
	return d, nil
}

// admit returns why no order of a kind may leave at present, whatever its symbol; "" when it may.
func (pl *placer) admit(k admission.Kind) string {
	return admission.Judge(pl.cfg.Conditions(), k).Code
}

// denyExit returns why no exit of a symbol may be placed at present; "" when one may.
func (pl *placer) denyExit(sym int) string {
	c := pl.cfg.Conditions()
	c.UnknownSale = pl.book.UnknownSale(pl.cfg.Symbols[sym])
	return admission.Judge(c, admission.Protects).Code
}

// symbolConditions returns how a symbol stands, as far as an order of it may leave or not.
func (pl *placer) symbolConditions(sym int) admission.Conditions {
	s := pl.cfg.Symbols[sym]
	return admission.Conditions{Unresolved: pl.book.Unresolved(s),
		MarketHalted: !pl.manager.sym[sym].rules.Trading}
}

// Book and Ledger are those behind the order manager, for reading.
func (d *Manager) Book() *order.Book { return d.book }

// Ledger returns the books of the run.
func (d *Manager) Ledger() *order.Ledger { return d.ledger }

// SetMarket changes the rules of a symbol, or halts it.
func (d *Manager) SetMarket(m exchange.Market) {
	if i := d.symbolIndex(m.Symbol); i >= 0 {
		d.sym[i].rules = order.Rules{Market: m}
	}
}

// SetFree sets the free balance of an asset. Before the first time, and in between, it is counted here.
func (d *Manager) SetFree(asset string, free dec) {
	for i, s := range d.cfg.Symbols {
		if s.Base() == asset {
			d.sym[i].free, d.sym[i].known = free, true
		}
	}
}

func (d *Manager) symbolIndex(s market.Symbol) int {
	if s == "" && len(d.cfg.Symbols) == 1 {
		return 0
	}
	return slices.Index(d.cfg.Symbols, s)
}

// takeResult ends a call: what came together is handed out.
func (d *Manager) takeResult() Result {
	out := d.out
	d.out = Result{}
	return out
}

// Apply takes an event of one order.
func (d *Manager) Apply(ev order.Event, at time.Time) (Result, error) {
	effects, err := d.book.Apply(ev, at)
	d.applyEffects(effects, at)
	d.advance(at)
	return d.takeResult(), err
}

// FillsPage and OpenList are those of the Book.
func (d *Manager) FillsPage(s market.Symbol, page exchange.Fills, since, asked,
	at time.Time) (Result, []exchange.Fill) {
	effects, foreign := d.book.FillsPage(s, page, since, asked, at)
	d.applyEffects(effects, at)
	d.advance(at)
	return d.takeResult(), foreign
}

// OpenList takes an answer to OpenOrders.
func (d *Manager) OpenList(orders []exchange.Order, asked, at time.Time) (Result, []exchange.Order) {
	effects, foreign := d.book.OpenList(orders, asked, at)
	d.applyEffects(effects, at)
	d.advance(at)
	return d.takeResult(), foreign
}

// Due returns what time calls for.
func (d *Manager) Due(at time.Time) Result {
	d.applyEffects(d.book.Due(at), at)
	d.advance(at)
	return d.takeResult()
}

// Commit takes a proposal that the journal has committed; the effects send it.
func (d *Manager) Commit(p Proposal, at time.Time) (Result, error) {
	if err := d.placer.takeProposal(p); err != nil {
		return Result{}, err
	}
	var effects []order.Effect
	var err error
	if len(p.Specs) == 2 {
		effects, err = d.book.CommitPair(p.Specs[0], p.Specs[1], at)
	} else {
		effects, err = d.book.Commit(p.Specs[0], at)
	}
	if err != nil {
		return Result{}, err
	}
	for i, s := range p.Specs {
		if s.Side == market.Sell && i == 0 {
			d.placer.lockBase(s.Symbol, s.Quantity)
		}
	}
	d.applyEffects(effects, at)
	for _, s := range p.Specs {
		if o := d.byID[s.ClientOrderID]; o != nil && (o.ending != "" || o.change != nil) {
			d.cancelID(s.ClientOrderID, at) // was asked for while the proposal was out
		}
	}
	d.advance(at)
	return d.takeResult(), nil
}

// ErrNotProposed reports that a proposal was changed, was answered before, or that a barrier ended it.
var ErrNotProposed = errors.New(
	"only what the order manager proposed, and did not take back, can be committed or denied, and only once")

// takeProposal takes a proposal off those that are out.
func (pl *placer) takeProposal(p Proposal) error {
	if len(p.Specs) == 0 {
		return ErrNotProposed
	}
	for _, s := range p.Specs {
		if !slices.Contains(pl.proposed, s) {
			return fmt.Errorf("order %s (seq %d): %w", s.ClientOrderID, s.Seq, ErrNotProposed)
		}
	}
	pl.proposed = slices.DeleteFunc(pl.proposed, func(s order.Spec) bool {
		return slices.Contains(p.Specs, s)
	})
	return nil
}

// Deny takes a proposal that risk refused. The exits of a bracket wait and are proposed again.
func (d *Manager) Deny(p Proposal, code string, at time.Time) (Result, error) {
	if err := d.placer.takeProposal(p); err != nil {
		return Result{}, err
	}
	if p.Protects && d.byID[p.Specs[0].ClientOrderID].group != nil {
		d.byID[p.Specs[0].ClientOrderID].group.restoreLegs(d, p, code, at)
		d.advance(at)
		return d.takeResult(), nil
	}
	var errs []error
	for _, s := range p.Specs {
		effects, err := d.book.Deny(s, code, at)
		errs = append(errs, err)
		d.applyEffects(effects, at)
	}
	d.advance(at)
	return d.takeResult(), errors.Join(errs...)
}

func (d *Manager) cancelID(id string, at time.Time) {
	effects, err := d.book.Apply(order.Event{Kind: order.CancelAsked, Source: order.FromLocal,
		ClientOrderID: id}, at)
	if err == nil {
		d.applyEffects(effects, at)
	}
}

// applyEffects looks through the effects of the book: fills go into the ledger, changes to the strategy's
// orders.
func (d *Manager) applyEffects(effects []order.Effect, at time.Time) {
	d.out.Effects = append(d.out.Effects, effects...)
	for _, e := range effects {
		p := d.byID[e.Order]
		if p == nil {
			continue
		}
		switch e.Do {
		case order.Count:
			d.onFill(p, e)
			for _, other := range p.oco {
				if other != p && !other.done && other.ending == "" {
					other.cancelOrder(d, string(market.ReasonOCO), at)
				}
			}
		case order.Tell:
			s, _ := d.book.Get(e.Order)
			if s.Spec.Side == market.Sell && s.State.Terminal() && !e.From.Terminal() &&
				d.placer.leadsPair(s.Spec) {
				// what did not fill is free again
				d.placer.lockBase(e.Symbol, order.Minus(s.Filled, s.Spec.Quantity))
			}
			if s.Spec.Side == market.Sell && s.State.Terminal() && !e.From.Terminal() {
				d.sym[p.sym].freed = at
			}
			p.syncState(d)
		}
	}
}

// leadsPair reports whether an order locks its quantity alone, or for the pair.
func (pl *placer) leadsPair(s order.Spec) bool { return s.Sibling == "" || s.Type == market.Limit }

// lockBase counts base that an order holds.
func (pl *placer) lockBase(s market.Symbol, quantity dec) {
	if i := pl.manager.symbolIndex(s); i >= 0 {
		pl.manager.sym[i].free = order.Minus(pl.manager.sym[i].free, quantity)
	}
}

// onFill books a trade.
func (d *Manager) onFill(p *logicalOrder, e order.Effect) {
	s, _ := d.book.Get(e.Order)
	reference := s.Spec.Reference
	switch {
	case s.Spec.StopPrice.IsPos():
		reference = s.Spec.StopPrice
	case s.Spec.LimitPrice.IsPos():
		reference = dec{}
	}
	f, closed, err := d.ledger.Fill(e.Fill,
		order.Origin{Order: p.ID, Role: p.Role, Tag: p.Tag, Manual: s.Spec.Manual, Reference: reference})
	if err != nil {
		d.out.Effects = append(d.out.Effects,
			order.Effect{Do: order.Alarm, Order: e.Order, Symbol: e.Symbol, Code: order.CodeOrderConflict,
				Message: err.Error()})
		return
	}
	d.fills = append(d.fills, f)
	if closed != nil {
		d.trades = append(d.trades, *closed)
	}
	p.Fee = order.Plus(p.Fee, f.Fee)
	p.FilledAt = f.Time
	net := e.Fill.Quantity
	if e.Fill.FeeAsset == e.Symbol.Base() {
		net = order.Minus(net, e.Fill.Fee)
	}
	if e.Fill.Side == market.Sell && !d.placer.leadsPair(s.Spec) {
		d.placer.lockBase(e.Symbol, e.Fill.Quantity) // its pair will be said to be free
	}
	if e.Fill.Side == market.Buy {
		d.placer.lockBase(e.Symbol, net.Neg())
		d.protector.growBrackets(p, net, f.Price)
	}
	if p.group != nil {
		p.group.held = order.Minus(p.group.held, e.Fill.Quantity)
	}
	p.syncState(d)
	if p.group != nil {
		for _, other := range [...]*logicalOrder{p.group.stop, p.group.aim} {
			if other != nil && other != p {
				other.syncState(d) // its cancel may have come first: now it is known what for
			}
		}
	}
}

// Candle takes a closed candle, before the strategy is asked: gtd orders run out, trailing stops follow.
func (d *Manager) Candle(s market.Symbol, c market.Candle, at time.Time) Result {
	i := d.symbolIndex(s)
	last, err := sim.Decimal(c.Close)
	if i < 0 || err != nil {
		return Result{}
	}
	d.sym[i].last = last
	for _, g := range d.protector.groups {
		if g.parent.sym == i {
			g.noteClose(d, at)
		}
	}
	d.ledger.OnCandle(s, c)
	d.applyEffects(d.book.WithdrawUnsent(s, at), at)
	for _, p := range d.workingOrders() {
		if p.Symbol == s && !p.done {
			p.onCandle(d, c, at)
		}
	}
	d.advance(at)
	return d.takeResult()
}

// NextDue returns the earliest time at which Due has something to do; zero: none.
func (d *Manager) NextDue() time.Time {
	next := d.book.NextDue()
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, g := range d.protector.groups {
		sooner(g.nextDue(d))
		if g.hasLiveLeg() && g.isPlaced() && !g.beyondAt.IsZero() && !g.renew && !g.renewing {
			sooner(g.beyondAt.Add(protectGrace))
		}
	}
	for i := range d.sym {
		switch s := &d.sym[i]; {
		case d.barred:
		case !s.bare.IsZero() && !s.shouts:
			sooner(s.bare.Add(protectGrace))
		case s.shouts && d.cfg.Unprotected == Sell:
			sooner(s.sellNext)
		}
	}
	for _, p := range d.live {
		if !p.done {
			sooner(p.follows)
		}
		if p.waiting {
			sooner(p.look)
		}
	}
	return next
}

// Begin starts a step at the run's clock; intents of it become orders.
func (d *Manager) Begin(step int64, now market.Time) { d.step, d.now = step, now }
