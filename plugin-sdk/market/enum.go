package market

import (
	"bytes"
	"encoding/json"
	"fmt"
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

var sideNames = []string{"buy", "sell"}

// String is the name in JSON.
func (s Side) String() string { return name(sideNames, int(s)) }

// MarshalText is String, and an error for a value without a name.
func (s Side) MarshalText() ([]byte, error) { return marshalName(sideNames, "side", int(s)) }

// UnmarshalText reads what MarshalText writes.
func (s *Side) UnmarshalText(text []byte) error { return unmarshalName(s, sideNames, "side", text) }

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

var orderTypeNames = []string{"market", "limit", "stop", "stop_limit", "trailing_stop"}

// String is the name in JSON.
func (t OrderType) String() string { return name(orderTypeNames, int(t)) }

// MarshalText is String, and an error for a value without a name.
func (t OrderType) MarshalText() ([]byte, error) {
	return marshalName(orderTypeNames, "order type", int(t))
}

// UnmarshalText reads what MarshalText writes.
func (t *OrderType) UnmarshalText(text []byte) error {
	return unmarshalName(t, orderTypeNames, "order type", text)
}

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

var timeInForceNames = []string{"gtc", "gtd", "ioc"}

// String is the name in JSON.
func (t TimeInForce) String() string { return name(timeInForceNames, int(t)) }

// MarshalText is String, and an error for a value without a name.
func (t TimeInForce) MarshalText() ([]byte, error) {
	return marshalName(timeInForceNames, "time in force", int(t))
}

// UnmarshalText reads what MarshalText writes.
func (t *TimeInForce) UnmarshalText(text []byte) error {
	return unmarshalName(t, timeInForceNames, "time in force", text)
}

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

var roleNames = []string{"entry", "exit", "stop_loss", "take_profit", "end_of_data", "liquidation"}

// String is the name in JSON.
func (r Role) String() string { return name(roleNames, int(r)) }

// MarshalText is String, and an error for a value without a name.
func (r Role) MarshalText() ([]byte, error) { return marshalName(roleNames, "role", int(r)) }

// UnmarshalText reads what MarshalText writes.
func (r *Role) UnmarshalText(text []byte) error { return unmarshalName(r, roleNames, "role", text) }

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

var orderStatusNames = []string{"new", "open", "partially_filled", "filled", "canceled", "rejected", "expired"}

// String is the name in JSON.
func (s OrderStatus) String() string { return name(orderStatusNames, int(s)) }

// MarshalText is String, and an error for a value without a name.
func (s OrderStatus) MarshalText() ([]byte, error) {
	return marshalName(orderStatusNames, "order status", int(s))
}

// UnmarshalText reads what MarshalText writes.
func (s *OrderStatus) UnmarshalText(text []byte) error {
	return unmarshalName(s, orderStatusNames, "order status", text)
}

// Final reports whether the order cannot change any more.
func (s OrderStatus) Final() bool { return s >= StatusFilled }

// Liquidity says which fee a fill pays.
type Liquidity uint8

// The two sides of liquidity.
const (
	Taker Liquidity = iota
	Maker
)

var liquidityNames = []string{"taker", "maker"}

// String is the name in JSON.
func (l Liquidity) String() string { return name(liquidityNames, int(l)) }

// MarshalText is String, and an error for a value without a name.
func (l Liquidity) MarshalText() ([]byte, error) {
	return marshalName(liquidityNames, "liquidity", int(l))
}

// UnmarshalText reads what MarshalText writes.
func (l *Liquidity) UnmarshalText(text []byte) error {
	return unmarshalName(l, liquidityNames, "liquidity", text)
}

// Direction of a position or trade.
type Direction uint8

// The directions.
const (
	Long Direction = iota
	Short
)

var directionNames = []string{"long", "short"}

// String is the name in JSON.
func (d Direction) String() string { return name(directionNames, int(d)) }

// MarshalText is String, and an error for a value without a name.
func (d Direction) MarshalText() ([]byte, error) {
	return marshalName(directionNames, "direction", int(d))
}

// UnmarshalText reads what MarshalText writes.
func (d *Direction) UnmarshalText(text []byte) error {
	return unmarshalName(d, directionNames, "direction", text)
}

// ParseSide reads the name in JSON, as its neighbours do for their types.
func ParseSide(s string) (Side, error) { return parse[Side](sideNames, "side", s) }

// ParseOrderType reads the name in JSON.
func ParseOrderType(s string) (OrderType, error) {
	return parse[OrderType](orderTypeNames, "order type", s)
}

// ParseTimeInForce reads the name in JSON.
func ParseTimeInForce(s string) (TimeInForce, error) {
	return parse[TimeInForce](timeInForceNames, "time in force", s)
}

// ParseRole reads the name in JSON.
func ParseRole(s string) (Role, error) { return parse[Role](roleNames, "role", s) }

// ParseOrderStatus reads the name in JSON.
func ParseOrderStatus(s string) (OrderStatus, error) {
	return parse[OrderStatus](orderStatusNames, "order status", s)
}

// ParseLiquidity reads the name in JSON.
func ParseLiquidity(s string) (Liquidity, error) {
	return parse[Liquidity](liquidityNames, "liquidity", s)
}

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown(" + strconv.Itoa(i) + ")"
}

func parse[T ~uint8](names []string, what, s string) (T, error) {
	for i, n := range names {
		if n == s {
			return T(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not a known %s: use %s", s, what, strings.Join(names, ", "))
}

func marshalName(names []string, what string, i int) ([]byte, error) {
	if i >= len(names) {
		return nil, fmt.Errorf("%d is not a known %s", i, what)
	}
	return []byte(names[i]), nil
}

func unmarshalName[T ~uint8](into *T, names []string, what string, text []byte) error {
	v, err := parse[T](names, what, string(text))
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
