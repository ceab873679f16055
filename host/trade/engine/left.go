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
func (sr *starter) settleLeft(ctx context.Context, s *settling, balances []exchange.Balance) ([]exchange.Balance, error) {
	list, err := sr.findLeft(ctx, s, balances)
	if err != nil {
		return nil, err
	}
	switch {
	case len(list) == 0: // exits of what is gone
	case sr.cfg.Resume == Release:
		sr.release = list
	case sr.cfg.Resume != Flat:
		return nil, sr.leftFault(list, "")
	}
	if len(list) == 0 && len(s.standing()) == 0 {
		return balances, nil
	}
	if err := s.cancelStanding(ctx); err != nil {
		return nil, err
	}
	if len(list) > 0 && sr.cfg.Resume == Flat {
		if err := sr.sellLeft(ctx, list); err != nil {
			return nil, err
		}
	}
	balances, err = snapshot(ctx, sr, "balances", sr.session.link.conn.Balances)
	if err != nil || sr.cfg.Resume == Release {
		return balances, err
	}
	if list, err = sr.findLeft(ctx, s, balances); err == nil && len(list) > 0 {
		err = sr.leftFault(list, "; it could not be sold")
	}
	return balances, err
}

// findLeft is what earlier runs hold and can be sold.
func (sr *starter) findLeft(ctx context.Context, s *settling, balances []exchange.Balance) ([]left, error) {
	held, err := sr.cfg.Journal.Holdings(ctx, sr.cfg.Run.Info().Exchange, sr.session.account)
	if err != nil {
		return nil, err
	}
	have, standing := totals(balances), s.standing()
	var list []left
	for _, h := range held {
		l := left{Symbol: h.Symbol, Quantity: h.Quantity.Min(have[h.Symbol.Base()]), Orders: []string{}, price: h.Price}
		known := sr.recon.markets
		if !slices.Contains(sr.cfg.Symbols, h.Symbol) {
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

func (sr *starter) leftFault(list []left, why string) *Fault {
	var words []string
	for _, l := range list {
		words = append(words, fmt.Sprintf("%s of %s with %d orders", l.Quantity.Trim(0), l.Symbol, len(l.Orders)))
	}
	f := ExchangeFault(ReasonLeft, nil, "Earlier runs left on the account: %s%s. Start with resume flat to cancel and sell that, with resume release "+
		"to keep it yourself, or settle it at %s first.", strings.Join(words, ", "), why, sr.cfg.Venue.ID)
	f.Data["left"] = list
	return f
}

// sellLeft sells at the market what earlier runs hold, by orders of this run that are none of its books'.
func (sr *starter) sellLeft(ctx context.Context, list []left) error {
	for _, l := range list {
		if !slices.Contains(sr.cfg.Symbols, l.Symbol) {
			return sr.leftFault(list, fmt.Sprintf("; this run does not trade %s: begin with one that does", l.Symbol))
		}
	}
	if err := sr.cfg.Run.Connected(ctx, journal.Connected{AccountID: sr.session.account}); err != nil {
		return err
	}
	s := sr.newSettling()
	s.limit = flatLimit
	for _, l := range list {
		sr.sold++
		spec := order.Spec{
			Seq: sr.sold, ClientOrderID: order.ClientID(sr.cfg.RunID, sr.sold), Symbol: l.Symbol, Side: market.Sell, Type: market.Market,
			Quantity: l.rules.RoundQuantity(market.Market, l.Quantity), Reference: l.price, Exit: true, Manual: true,
		}
		body := bodyOf(spec)
		body.Settles = true
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in := journal.Intent{Seq: spec.Seq, ClientOrderID: spec.ClientOrderID, Symbol: spec.Symbol, Body: text, CreatedAt: sr.session.clock.Now()}
		if err := sr.cfg.Run.Intent(ctx, in); err != nil {
			return err
		}
		if err := s.commit(spec, sr.cfg.RunID, time.Now()); err != nil {
			return err
		}
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	sr.reportSettled("what earlier runs had left was sold before the start: " + describeLeft(list))
	return nil
}

// reportSettled tells what became of what earlier runs had left: it is over, so that no alarm stays.
func (sr *starter) reportSettled(text string) {
	sr.cfg.Host.Raise(alarm.Occurrence{Code: CodePositionsLeft, Text: text, Shadow: true})
	sr.books.clearAlarm(CodePositionsLeft, "")
}

func describeLeft(list []left) string {
	var out []string
	for _, l := range list {
		out = append(out, l.Quantity.Trim(0).String()+" of "+string(l.Symbol))
	}
	return strings.Join(out, ", ")
}
