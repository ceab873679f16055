package sim

import (
	"crypto/sha256"
	"strconv"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// digest is the running hash of everything that happened in the books:
// h = SHA-256("bar-v1"), then h = SHA-256(h + line) for each event.
type digest struct {
	sum [sha256.Size]byte
	buf []byte
}

func newDigest() digest { return digest{sum: sha256.Sum256([]byte(Semantics))} }

func (d *digest) start(kind string, step int64) {
	d.buf = append(append(d.buf[:0], d.sum[:]...), kind...)
	d.buf = append(d.buf, '|')
	d.buf = strconv.AppendInt(d.buf, step, 10)
}

func (d *digest) text(s string) { d.buf = append(append(d.buf, '|'), s...) }

func (d *digest) id(prefix byte, n int64) {
	d.buf = append(d.buf, '|', prefix, '-')
	for limit := int64(100000); limit > n && limit > 1; limit /= 10 {
		d.buf = append(d.buf, '0')
	}
	d.buf = strconv.AppendInt(d.buf, n, 10)
}

func (d *digest) number(x dec) {
	d.buf = append(d.buf, '|')
	d.buf, _ = x.Trim(0).AppendText(d.buf) // writing to memory cannot fail
}

func (d *digest) end() { d.sum = sha256.Sum256(d.buf) }

// order adds order|step|order_id|status|code.
func (d *digest) order(step int64, o *market.Order) {
	d.start("order", step)
	d.id('o', int64(o.ID))
	d.text(o.Status.String())
	d.text(string(o.Reason))
	d.end()
}

// fill adds fill|step|fill_id|order_id|symbol|side|quantity|price|fee|cash.
func (d *digest) fill(step int64, f *market.Fill, cash dec) {
	d.start("fill", step)
	d.id('f', int64(f.ID))
	d.id('o', int64(f.OrderID))
	d.text(string(f.Symbol))
	d.text(f.Side.String())
	d.number(f.Quantity)
	d.number(f.Price)
	d.number(f.Fee)
	d.number(cash)
	d.end()
}
