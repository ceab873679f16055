package drive

import (
	"cmp"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// orderBook is the open orders of a run as told by updates, by id, which is the
// order of acceptance.
type orderBook struct{ orders []market.Order }

func (b *orderBook) update(changed []market.Order) {
	for i := range changed {
		o := &changed[i]
		at, known := slices.BinarySearchFunc(b.orders, o.ID, func(x market.Order, id market.OrderID) int {
			return cmp.Compare(x.ID, id)
		})
		switch {
		case o.Status.Final() && known:
			b.orders = slices.Delete(b.orders, at, at+1)
		case o.Status.Final():
		case known:
			b.orders[at] = *o
		default:
			b.orders = slices.Insert(b.orders, at, *o)
		}
	}
}

// open is a copy that the caller may keep.
func (b *orderBook) open() []market.Order { return slices.Clone(b.orders) }

// byID sorts orders by id.
func byID(orders []market.Order) []market.Order {
	slices.SortFunc(orders, func(x, y market.Order) int { return cmp.Compare(x.ID, y.ID) })
	return orders
}
