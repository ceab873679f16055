// Package conformance is the examination of a connector: sixty-six cards, each one thing that
// the host relies on, from the entry in GET /exchanges to the loss of the lease. A
// connector that is to trade real money passes all that its exchange can have.
//
// The author of a connector writes a Harness, which makes test venues, and one test:
//
//	func TestConformance(t *testing.T) { conformance.Run(t, harness) }
//
// A Venue is a test double of the exchange that misbehaves on request. Fault names
// what is to go wrong; a venue that cannot do it answers ErrCannot, and the cards that
// need it are skipped and counted, never passed silently. The double must be independent
// of the connector: it is the one that knows what really happened.
//
// The cards see the connection as a live run does: with an account stream and a candle
// stream listened to and a beat every now and then. They run in real time, and wait for
// what takes time by letting candles close.
package conformance

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
)

// Harness makes venues for the cards.
type Harness struct {
	// Start makes a venue with an account of its own for one card. It has at least two
	// symbols in one quote currency and enough of that for a few orders.
	Start func(testing.TB) Venue
	// Skip are cards that the exchange cannot have, with the reason.
	Skip map[int]string
	// Patience is how long a card waits for something; 10 s if zero.
	Patience time.Duration
}

// Venue is a test double of an exchange, with the connector in front of it.
type Venue interface {
	// Connect is a new connection of the connector, not opened yet.
	Connect() exchange.Connection
	// Request opens a session with good credentials: symbols, timeframe, configuration and
	// endpoint. The card adds run, lease and what it is about.
	Request() exchange.OpenRequest
	// Fault makes something go wrong, or happen. ErrCannot: this venue cannot do that.
	Fault(name string, args ...string) error
	// Count is how many requests of a kind have arrived; -1: the venue does not count.
	Count(kind string) int
}

// ErrCannot is what a venue answers to a fault that it cannot make.
var ErrCannot = errors.New("the venue cannot do that")

// Faults. Those with an action concern the next request of that kind only.
const (
	// FaultStep lets the next candle of every symbol close. A venue whose time passes by
	// itself does nothing.
	FaultStep = "step"
	// FaultPrice lets the next candle of a symbol trade through a price: symbol, price.
	FaultPrice = "price"
	// FaultSubmit, FaultCancel, FaultQuery: an action, one of those below.
	FaultSubmit = "submit"
	FaultCancel = "cancel"
	FaultQuery  = "query"
	// FaultClock sets the venue's clock off: milliseconds.
	FaultClock = "clock"
	// FaultPermission takes the right to trade from the key.
	FaultPermission = "permission"
	// FaultHalt and FaultResume stop and resume a symbol.
	FaultHalt   = "halt"
	FaultResume = "resume"
	// FaultRules changes a symbol: symbol, price tick, quantity step.
	FaultRules = "rules"
	// FaultData does something to the candle stream: cut, drop (the next candle), duplicate
	// (the next candle), silence (until it is connected anew).
	FaultData = "data"
	// FaultAccount does something to the account stream: cut, refuse (the next subscription).
	FaultAccount = "account"
	// FaultSplit fills the next order in so many parts.
	FaultSplit = "split"
	// FaultThin leaves little in the book of a symbol, from now on: an order of three times the least
	// notional takes several prices, one of sixty times that takes more than all.
	FaultThin = "thin"
	// FaultFeeAsset takes the fee of the next fills in an asset.
	FaultFeeAsset = "fee_asset"
	// FaultForeignOrder rests an order of another client: symbol. FaultForeignFill fills one.
	FaultForeignOrder = "foreign_order"
	FaultForeignFill  = "foreign_fill"
	// FaultManualCancel cancels an order by another way: client order id.
	FaultManualCancel = "manual_cancel"
	// FaultRestart reports that another connection sees the same account: the account does not
	// end with a session. It does nothing.
	FaultRestart = "restart"
	// FaultEcho lets the venue repeat the request with its credentials in its next answer to
	// a submit, as an error.
	FaultEcho = "echo"
)

// Actions of FaultSubmit, FaultCancel and FaultQuery. Before and after: is it executed?
const (
	CutBefore, CutAfter   = "cut_before", "cut_after"
	HangBefore, HangAfter = "hang_before", "hang_after"
	HTML, Empty           = "html", "empty" // status 200, executed
	Truncated, ForeignID  = "truncated", "foreign_id"
	Status500, Status503  = "500", "503" // 503: with the code of an unknown outcome; executed
	Status429, Status418  = "429", "418" // with Retry-After: 2; not executed
	WrongClock            = "clock"      // not executed
	LateAnswer            = "late"       // executed at once, answered some tenths of a second later
)

// Kinds of requests.
const (
	CountSubmit  = "submit"
	CountKeyed   = "keyed"   // all that carry credentials
	CountSandbox = "sandbox" // to the address of the test network
)

// Cards is how many there are.
const Cards = 66

// Report is how an examination went.
type Report struct {
	Passed  int
	Failed  []int
	Skipped map[int]string // with the reason
}

// String returns the line that Run logs.
func (r Report) String() string {
	return fmt.Sprintf("%d of %d cards, %d skipped", r.Passed, Cards, len(r.Skipped))
}

// Certify holds a report against the compiled list of connectors that may trade real money:
// the connector is there with its version, and has passed every card.
func Certify(t testing.TB, c exchange.Connection, r Report) {
	t.Helper()
	d, err := c.Describe(t.Context())
	switch {
	case err != nil:
		t.Errorf("the connector does not describe itself: %v", err)
	case !exchange.Certified(d):
		t.Errorf("%s %s is not the version in the list of package exchange: it trades no real money "+
			"before it is there", d.ID, d.Version)
	case r.Passed != Cards:
		t.Errorf("%s %s is in the list of package exchange and passes %s: failed %v, skipped %v", d.ID,
			d.Version, r, r.Failed, r.Skipped)
	}
}

// card is one thing that the host relies on.
type card struct {
	name string
	play func(*examiner)
}

// Run plays all cards, each as a subtest, and logs how many were passed and skipped.
func Run(t *testing.T, h Harness) Report {
	t.Helper()
	report := Report{Skipped: map[int]string{}}
	for i, c := range deck() {
		n := i + 1
		played := false
		ok := t.Run(fmt.Sprintf("%02d %s", n, c.name), func(t *testing.T) {
			played = true
			h.play(t, n, c, &report)
		})
		switch {
		case !played:
			report.Skipped[n] = "go test -run left it out"
		case !ok:
			report.Failed = append(report.Failed, n)
		case report.Skipped[n] == "":
			report.Passed++
		}
	}
	t.Log(report)
	return report
}

// play gives a card a venue.
func (h Harness) play(t testing.TB, n int, c card, report *Report) {
	skip := func(reason string) {
		report.Skipped[n] = reason
		t.Skip(reason)
	}
	if reason := h.Skip[n]; reason != "" {
		skip(reason)
	}
	patience := h.Patience
	if patience == 0 {
		patience = 10 * time.Second
	}
	c.play(&examiner{TB: t, venue: h.Start(t), patience: patience, skip: skip})
}

func deck() []card {
	var all []card
	for _, part := range [][]card{openCards, marketCards, candleCards, submitCards, faultCards, cancelCards,
		accountCards, fillCards} {
		all = append(all, part...)
	}
	return all
}
