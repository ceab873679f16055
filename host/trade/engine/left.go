package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Resume is what a start does about what earlier runs left on the account.
type Resume string

// What it does.
const (
	// Refuse starts nothing and touches nothing.
	Refuse Resume = "refuse"
	// Flat cancels their exits and sells what the journal attributes to them, then starts.
	Flat Resume = "flat"
	// Release cancels their exits and hands what they hold to the operator, then starts.
	Release Resume = "release"
)

// CodePositionsLeft is the warning of a start that settled what earlier runs had left, ReasonLeft why one did not begin.
const (
	CodePositionsLeft = "POSITIONS_LEFT"
	ReasonLeft        = "positions_left"
)

// left is what earlier runs hold of a symbol, with their orders that stand.
type left struct {
	Symbol   market.Symbol `json:"symbol"`
	Quantity dec           `json:"quantity"`
	Orders   []string      `json:"orders"`

	price dec
	rules order.Rules
}

// settleLeft looks at what earlier runs left: positions by their fills, as far as the account still has them, and exits
// that stand. What it returns are the balances to begin with.
func (e *Engine) settleLeft(ctx context.Context, s *settling, balances []exchange.Balance) ([]exchange.Balance, error) {
	list, err := e.left(ctx, s, balances)
	if err != nil {
		return nil, err
	}
	switch {
	case len(list) == 0: // exits of what is gone
	case e.cfg.Resume == Release:
		e.release = list
	case e.cfg.Resume != Flat:
		return nil, e.leftFault(list, "")
	}
	if len(list) == 0 && len(s.standing()) == 0 {
		return balances, nil
	}
	if err := s.cancelStanding(ctx); err != nil {
		return nil, err
	}
	if len(list) > 0 && e.cfg.Resume == Flat {
		if err := e.sellLeft(ctx, list); err != nil {
			return nil, err
		}
	}
	balances, err = snapshot(ctx, e, "balances", e.link.conn.Balances)
	if err != nil || e.cfg.Resume == Release {
		return balances, err
	}
	if list, err = e.left(ctx, s, balances); err == nil && len(list) > 0 {
		err = e.leftFault(list, "; it could not be sold")
	}
	return balances, err
}

// left is what earlier runs hold and can be sold.
func (e *Engine) left(ctx context.Context, s *settling, balances []exchange.Balance) ([]left, error) {
	held, err := e.cfg.Journal.Holdings(ctx, e.cfg.Run.Info().Exchange, e.account)
	if err != nil {
		return nil, err
	}
	have, standing := totals(balances), s.standing()
	var list []left
	for _, h := range held {
		l := left{Symbol: h.Symbol, Quantity: h.Quantity.Min(have[h.Symbol.Base()]), Orders: []string{}, price: h.Price}
		known := e.markets
		if !slices.Contains(e.cfg.Symbols, h.Symbol) {
			if known, err = DecodeMarkets(h.Markets); err != nil {
				return nil, err
			}
		}
		if i := slices.IndexFunc(known, func(m exchange.Market) bool { return m.Symbol == h.Symbol }); i >= 0 {
			l.rules = order.Rules{Market: known[i]}
		}
		if !l.Quantity.IsPos() || l.rules.Dust(l.Quantity, l.price) {
			continue
		}
		for _, o := range standing {
			if o.Spec.Symbol == h.Symbol {
				l.Orders = append(l.Orders, o.Spec.ClientOrderID)
			}
		}
		list = append(list, l)
	}
	return list, nil
}

func (e *Engine) leftFault(list []left, why string) *Fault {
	var words []string
	for _, l := range list {
		words = append(words, fmt.Sprintf("%s of %s with %d orders", l.Quantity.Trim(0), l.Symbol, len(l.Orders)))
	}
	f := ExchangeFault(ReasonLeft, nil, "Earlier runs left on the account: %s%s. Start with resume flat to cancel and sell that, with resume release "+
		"to keep it yourself, or settle it at %s first.", strings.Join(words, ", "), why, e.cfg.Venue.ID)
	f.Data["left"] = list
	return f
}

// sellLeft sells at the market what earlier runs hold, by orders of this run that are none of its books'.
func (e *Engine) sellLeft(ctx context.Context, list []left) error {
	for _, l := range list {
		if !slices.Contains(e.cfg.Symbols, l.Symbol) {
			return e.leftFault(list, fmt.Sprintf("; this run does not trade %s: begin with one that does", l.Symbol))
		}
	}
	if err := e.cfg.Run.Connected(ctx, journal.Connected{AccountID: e.account}); err != nil {
		return err
	}
	s := e.newSettling()
	s.limit = flatLimit
	for _, l := range list {
		e.sold++
		spec := order.Spec{
			Seq: e.sold, ClientOrderID: order.ClientID(e.cfg.RunID, e.sold), Symbol: l.Symbol, Side: market.Sell, Type: market.Market,
			Quantity: l.rules.RoundQuantity(market.Market, l.Quantity), Reference: l.price, Exit: true, Manual: true,
		}
		body := bodyOf(spec)
		body.Settles = true
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in := journal.Intent{Seq: spec.Seq, ClientOrderID: spec.ClientOrderID, Symbol: spec.Symbol, Body: text, CreatedAt: e.clock.Now()}
		if err := e.cfg.Run.Intent(ctx, in); err != nil {
			return err
		}
		if err := s.commit(spec, e.cfg.RunID, time.Now()); err != nil {
			return err
		}
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	e.settled("what earlier runs had left was sold before the start: " + words(list))
	return nil
}

// settled tells what became of what earlier runs had left: it is over, so that no alarm stays.
func (e *Engine) settled(text string) {
	e.cfg.Host.Raise(alarm.Occurrence{Code: CodePositionsLeft, Text: text, Shadow: true})
	e.clear(CodePositionsLeft, "")
}

func words(list []left) string {
	var out []string
	for _, l := range list {
		out = append(out, l.Quantity.Trim(0).String()+" of "+string(l.Symbol))
	}
	return strings.Join(out, ", ")
}
