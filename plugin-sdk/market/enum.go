package market

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Side is buy or sell.
type Side uint8

// The sides.
const (
	Buy Side = iota
	Sell
)

var sideNames = names[Side]{"side", []string{"buy", "sell"}}

// String is the name in JSON.
func (s Side) String() string { return sideNames.text(s) }

// MarshalText is String, and an error for a value without a name.
func (s Side) MarshalText() ([]byte, error) { return sideNames.marshal(s) }

// UnmarshalText reads what MarshalText writes.
func (s *Side) UnmarshalText(text []byte) error { return sideNames.unmarshal(s, text) }

// Opposite is the other side.
func (s Side) Opposite() Side { return Sell - s }

// OrderType says when and at which price an order fills.
type OrderType uint8

// The order types.
const (
	Market OrderType = iota
	Limit
	Stop
	StopLimit
	TrailingStop
)

var orderTypeNames = names[OrderType]{"order type", []string{"market", "limit", "stop", "stop_limit", "trailing_stop"}}

// String is the name in JSON.
func (t OrderType) String() string { return orderTypeNames.text(t) }

// MarshalText is String, and an error for a value without a name.
func (t OrderType) MarshalText() ([]byte, error) { return orderTypeNames.marshal(t) }

// UnmarshalText reads what MarshalText writes.
func (t *OrderType) UnmarshalText(text []byte) error { return orderTypeNames.unmarshal(t, text) }

// NeedsLimit reports whether the type has a limit price.
func (t OrderType) NeedsLimit() bool { return t == Limit || t == StopLimit }

// NeedsStop reports whether the type has a stop price.
func (t OrderType) NeedsStop() bool { return t == Stop || t == StopLimit }

// TimeInForce says how long an order rests.
type TimeInForce uint8

// The times in force.
const (
	GTC TimeInForce = iota // until cancelled
	GTD                    // for a number of candles of its symbol
	IOC                    // the open of the first eligible candle only
)

var timeInForceNames = names[TimeInForce]{"time in force", []string{"gtc", "gtd", "ioc"}}

// String is the name in JSON.
func (t TimeInForce) String() string { return timeInForceNames.text(t) }

// MarshalText is String, and an error for a value without a name.
func (t TimeInForce) MarshalText() ([]byte, error) { return timeInForceNames.marshal(t) }

// UnmarshalText reads what MarshalText writes.
func (t *TimeInForce) UnmarshalText(text []byte) error { return timeInForceNames.unmarshal(t, text) }

// Role says what an order is for.
type Role uint8

// The roles.
const (
	RoleEntry Role = iota
	RoleExit
	RoleStopLoss
	RoleTakeProfit
	RoleEndOfData
	RoleLiquidation
)

var roleNames = names[Role]{"role", []string{"entry", "exit", "stop_loss", "take_profit", "end_of_data", "liquidation"}}

// String is the name in JSON.
func (r Role) String() string { return roleNames.text(r) }

// MarshalText is String, and an error for a value without a name.
func (r Role) MarshalText() ([]byte, error) { return roleNames.marshal(r) }

// UnmarshalText reads what MarshalText writes.
func (r *Role) UnmarshalText(text []byte) error { return roleNames.unmarshal(r, text) }

// OrderStatus is where an order stands.
type OrderStatus uint8

// The order states.
const (
	StatusNew OrderStatus = iota
	StatusOpen
	StatusPartiallyFilled
	StatusFilled
	StatusCanceled
	StatusRejected
	StatusExpired
)

var orderStatusNames = names[OrderStatus]{"order status", []string{"new", "open", "partially_filled", "filled", "canceled", "rejected", "expired"}}

// String is the name in JSON.
func (s OrderStatus) String() string { return orderStatusNames.text(s) }

// MarshalText is String, and an error for a value without a name.
func (s OrderStatus) MarshalText() ([]byte, error) { return orderStatusNames.marshal(s) }

// UnmarshalText reads what MarshalText writes.
func (s *OrderStatus) UnmarshalText(text []byte) error { return orderStatusNames.unmarshal(s, text) }

// Final reports whether the order cannot change any more.
func (s OrderStatus) Final() bool { return s >= StatusFilled }

// Liquidity says which fee a fill pays.
type Liquidity uint8

// The two sides of liquidity.
const (
	Taker Liquidity = iota
	Maker
)

var liquidityNames = names[Liquidity]{"liquidity", []string{"taker", "maker"}}

// String is the name in JSON.
func (l Liquidity) String() string { return liquidityNames.text(l) }

// MarshalText is String, and an error for a value without a name.
func (l Liquidity) MarshalText() ([]byte, error) { return liquidityNames.marshal(l) }

// UnmarshalText reads what MarshalText writes.
func (l *Liquidity) UnmarshalText(text []byte) error { return liquidityNames.unmarshal(l, text) }

// Direction of a position or trade.
type Direction uint8

// The directions.
const (
	Long Direction = iota
	Short
)

var directionNames = names[Direction]{"direction", []string{"long", "short"}}

// String is the name in JSON.
func (d Direction) String() string { return directionNames.text(d) }

// MarshalText is String, and an error for a value without a name.
func (d Direction) MarshalText() ([]byte, error) { return directionNames.marshal(d) }

// UnmarshalText reads what MarshalText writes.
func (d *Direction) UnmarshalText(text []byte) error { return directionNames.unmarshal(d, text) }

// ParseSide reads the name in JSON, as its neighbours do for their types.
func ParseSide(s string) (Side, error) { return sideNames.parse(s) }

// ParseOrderType reads the name in JSON.
func ParseOrderType(s string) (OrderType, error) { return orderTypeNames.parse(s) }

// ParseTimeInForce reads the name in JSON.
func ParseTimeInForce(s string) (TimeInForce, error) { return timeInForceNames.parse(s) }

// ParseRole reads the name in JSON.
func ParseRole(s string) (Role, error) { return roleNames.parse(s) }

// ParseOrderStatus reads the name in JSON.
func ParseOrderStatus(s string) (OrderStatus, error) { return orderStatusNames.parse(s) }

// ParseLiquidity reads the name in JSON.
func ParseLiquidity(s string) (Liquidity, error) { return liquidityNames.parse(s) }

// names are the names in JSON of the values of an enumeration, from 0 on.
type names[T ~uint8] struct {
	what string
	list []string
}

func (n *names[T]) text(v T) string {
	if int(v) < len(n.list) {
		return n.list[v]
	}
	return "unknown(" + strconv.Itoa(int(v)) + ")"
}

func (n *names[T]) parse(s string) (T, error) {
	if i := slices.Index(n.list, s); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("%q is not a known %s: use %s", s, n.what, strings.Join(n.list, ", "))
}

func (n *names[T]) marshal(v T) ([]byte, error) {
	if int(v) >= len(n.list) {
		return nil, fmt.Errorf("%d is not a known %s", v, n.what)
	}
	return []byte(n.list[v]), nil
}

func (n *names[T]) unmarshal(into *T, text []byte) error {
	v, err := n.parse(string(text))
	if err == nil {
		*into = v
	}
	return err
}

// Field is a key and its value on a log line.
type Field struct{ Key, Value string }

// Fields are the keys and values of a log line in the order in which they were given. Each
// key is there once.
type Fields []Field

// Get is the value of a key, "" where it is not there.
func (f Fields) Get(key string) string {
	for _, one := range f {
		if one.Key == key {
			return one.Value
		}
	}
	return ""
}

// Set is the fields with a value for a key: in its old place, or at the end.
func (f Fields) Set(key, value string) Fields {
	for i := range f {
		if f[i].Key == key {
			f[i].Value = value
			return f
		}
	}
	return append(f, Field{key, value})
}

// MarshalJSON is an object with the members in the order of the fields.
func (f Fields) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for i, one := range f {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(one.Key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(one.Value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
