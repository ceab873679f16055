package sim

import (
	"context"
	"slices"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// subscriber is one StreamAccount: what it has not been told yet.
type subscriber struct {
	queue []notice
	wake  chan struct{} // holds one token
}

// notice is an event, or a barrier that is closed when everything before it is told.
type notice struct {
	event   exchange.AccountEvent
	barrier chan struct{}
}

// OpenOrders implements exchange.Connector.
func (v *venue) OpenOrders(ctx context.Context) ([]exchange.Order, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.trading(ctx); err != nil {
		return nil, err
	}
	list := []exchange.Order{}
	for _, o := range v.account.open() {
		list = append(list, o.Order)
	}
	return list, nil
}

// Fills implements exchange.Connector. They are always complete.
func (v *venue) Fills(ctx context.Context, symbol market.Symbol, since market.Time) (exchange.Fills, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.trading(ctx); err != nil {
		return exchange.Fills{}, err
	}
	all := exchange.Fills{Complete: true, Fills: []exchange.Fill{}}
	for _, f := range v.account.fills {
		if f.Symbol == symbol && f.Time >= since {
			all.Fills = append(all.Fills, f)
		}
	}
	return all, nil
}

// Balances implements exchange.Connector.
func (v *venue) Balances(ctx context.Context) ([]exchange.Balance, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.trading(ctx); err != nil {
		return nil, err
	}
	return v.account.balances(), nil
}

// trading is the error of a read without an account.
func (v *venue) trading(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := v.ready(); err != nil {
		return err
	}
	if v.account == nil {
		return refused("NO_ACCOUNT", "the session was opened without trading")
	}
	return nil
}

// StreamAccount implements exchange.Connector. Nothing is dropped: what is not taken yet
// waits, and so do the candles of the step that it belongs to.
func (v *venue) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	v.mu.Lock()
	if err := v.trading(ctx); err != nil {
		v.mu.Unlock()
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	s := &subscriber{wake: make(chan struct{}, 1)}
	v.account.subs = append(v.account.subs, s)
	v.mu.Unlock()
	defer v.leave(s)
	on(exchange.AccountEvent{State: exchange.Connected})
	for ctx.Err() == nil {
		n, more, over := v.take(s)
		switch {
		case more && n.barrier != nil:
			close(n.barrier)
		case more:
			on(n.event)
		case over:
			return refused("CLOSED", "the session is closed")
		default:
			select {
			case <-ctx.Done():
			case <-s.wake:
			}
		}
	}
	return nil
}

// take is the next notice, if there is one, and whether the session is closed.
func (v *venue) take(s *subscriber) (n notice, more, over bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(s.queue) == 0 {
		return notice{}, false, v.state == closed
	}
	n, s.queue = s.queue[0], s.queue[1:]
	return n, true, false
}

// leave ends a subscription; nobody waits for it any more.
func (v *venue) leave(s *subscriber) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.account.subs = slices.DeleteFunc(v.account.subs, func(other *subscriber) bool { return other == s })
	for _, n := range s.queue {
		if n.barrier != nil {
			close(n.barrier)
		}
	}
}

// publish gives the subscribers what has happened, and the balances that it changed.
func (a *account) publish() {
	now := a.balances()
	for i := range now {
		if was := a.told[i]; now[i].Free.Cmp(was.Free) != 0 || now[i].Locked.Cmp(was.Locked) != 0 {
			b := now[i]
			a.out = append(a.out, exchange.AccountEvent{Balance: &b})
		}
	}
	a.told = now
	for _, s := range a.subs {
		for _, e := range a.out {
			s.queue = append(s.queue, notice{event: e})
		}
		s.nudge()
	}
	a.out = nil
}

func (s *subscriber) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// barriers are closed when the subscribers have taken everything published so far, or
// have gone.
func (a *account) barriers() []<-chan struct{} {
	var list []<-chan struct{}
	for _, s := range a.subs {
		b := make(chan struct{})
		s.queue = append(s.queue, notice{barrier: b})
		s.nudge()
		list = append(list, b)
	}
	return list
}
