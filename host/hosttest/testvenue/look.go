package testvenue

import "github.com/govalues/decimal"

// Order is an order of the account, as a test holds it against somebody's books.
type Order struct {
	Client, Symbol, Side, Kind, Status string
	Quantity, Filled, Price            decimal.Decimal
	Open                               bool
}

// Trade is an execution of the account.
type Trade struct {
	ID                   int64
	Client, Symbol, Side string
	Price, Quantity, Fee decimal.Decimal
	FeeAsset             string
}

// Orders are all orders that were ever accepted, in the order in which they were.
func (v *Venue) Orders() []Order {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := []Order{}
	for _, o := range v.account.orders {
		list = append(list, Order{Client: o.client, Symbol: string(o.symbol.pair), Side: o.side, Kind: o.kind,
			Status: o.status, Quantity: o.qty, Filled: o.cum, Price: o.price, Open: o.open()})
	}
	return list
}

// Trades are all executions, in their order.
func (v *Venue) Trades() []Trade {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := []Trade{}
	for _, t := range v.account.trades {
		o := t.order
		list = append(list, Trade{ID: t.id, Client: o.client, Symbol: string(o.symbol.pair), Side: o.side,
			Price: t.price, Quantity: t.qty, Fee: t.fee, FeeAsset: t.feeAsset})
	}
	return list
}

// Listeners are how many connections hear of an account (user) or of the market.
func (v *Venue) Listeners(user bool) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for c := range v.clients {
		if user && c.user || !user && len(c.streams) > 0 {
			n++
		}
	}
	return n
}
