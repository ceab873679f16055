package alarm

// Severity says how bad it is.
type Severity string

// The severities, the worst first.
const (
	// Critical: money may be lost while nobody looks.
	Critical Severity = "critical"
	// Error: the trading is not what was ordered.
	Error Severity = "error"
	// Warning: the rest.
	Warning Severity = "warning"
)

// Severities are all, the worst first.
func Severities() []Severity { return []Severity{Critical, Error, Warning} }

// The codes that belong to no package below.
const (
	// PositionUnprotected: a position lacks the protection that it was given.
	PositionUnprotected = "POSITION_UNPROTECTED"
	// PositionsLeft: a run has ended and left positions or orders behind.
	PositionsLeft = "POSITIONS_LEFT"
	// OrderRejected: an order of the strategy was rejected.
	OrderRejected = "ORDER_REJECTED"
)

// Row is one code.
type Row struct {
	Code     string
	Severity Severity
	// EndsWithRun says that it is about the trading itself, so that it means nothing once the run is over.
	EndsWithRun bool
}

// Table is every code, the worst first. docs/operators.md says of each what to do.
func Table() []Row {
	return []Row{
		{PositionUnprotected, Critical, false},
		{"ORDER_FATE_UNKNOWN", Critical, false},
		{PositionsLeft, Error, false},
		{"EXIT_NOT_PLACED", Error, false},
		{"BALANCE_DRIFT", Error, false},
		{"OVERFILL", Error, false},
		{"FILL_CONFLICT", Error, false},
		{"ORDER_CONFLICT", Error, false},
		{"DEPLOYMENT_REVOKED", Error, false},
		{"DEPLOYMENT_SUSPENDED", Error, true},
		{"RISK_KILL", Error, false},
		{"BANKRUPT", Error, false},
		{"DAILY_LOSS_EXCEEDED", Error, true},
		{"FILL_RATE_EXCEEDED", Error, true},
		{"REJECTS_EXCEEDED", Error, true},
		{"CANDLES_MISSING", Error, true},
		{"CONNECTOR_CRASHED", Error, true},
		{"BANNED", Error, true},
		{"MARKET_STATUS", Error, true},
		{OrderRejected, Error, true},
		{"ORDER_NOTIONAL_EXCEEDED", Error, true},
		{"POSITION_NOTIONAL_EXCEEDED", Error, true},
		{"GROSS_NOTIONAL_EXCEEDED", Error, true},
		{"PRICE_OUTSIDE_COLLAR", Error, true},
		{"CANDLE_STALE", Error, true},
		{"ORDER_RATE_EXCEEDED", Error, true},
		{"ORDER_DUPLICATE", Error, true},
		{"STATE_REDUCING", Error, true},
		{"STATE_HALTED", Error, true},
		{"CANDLE_CORRECTED", Warning, true},
		{"CANDLE_MISSING", Warning, true},
		{"CANDLE_INVALID", Warning, true},
		{"CANDLE_UNREACHABLE", Warning, true},
		{"STREAM_RECONCILING", Warning, true},
		{"ORDER_UNKNOWN", Warning, false},
		{"NEVER_REACHED_VENUE", Warning, true},
		{"CALL_UNANSWERED", Warning, true},
		{"LATE_FILL", Warning, false},
		{"FOREIGN_ORDERS", Warning, false},
		{"TRANSFER_BOOKED", Warning, false},
		{"FEES_NOT_VALUED", Warning, false},
		{"CLOCK_SKEW", Warning, true},
		{"CONNECTOR_RELAUNCHED", Warning, true},
		{"OPERATOR_PAUSED", Warning, true},
		{"DEPLOYMENT_EXPIRED", Warning, true},
		{"DEPLOYMENT_NOT_APPROVED", Warning, true},
		{"DEPLOYMENT_MODE_NOT_ALLOWED", Warning, true},
		{"DEPLOYMENT_LIMIT_EXCEEDED", Warning, true},
		{"REGISTRY_INVALID", Warning, true},
		{"REGISTRY_UNSIGNED", Warning, true},
		{"REGISTRY_SIGNATURE_INVALID", Warning, true},
		{"REGISTRY_FAMILY_MISMATCH", Warning, true},
		{"REGISTRY_EXPIRED", Warning, true},
		{"REGISTRY_ROLLBACK", Warning, true},
		{"REGISTRY_UNAVAILABLE", Warning, true},
		{"REGISTRY_NOT_KEPT", Warning, true},
	}
}

// of is the row of a code. One that nobody has entered counts as an error: it must not be overlooked.
func of(code string) Row {
	for _, r := range Table() {
		if r.Code == code {
			return r
		}
	}
	return Row{Code: code, Severity: Error}
}

// Known says whether the table has a code.
func Known(code string) bool {
	for _, r := range Table() {
		if r.Code == code {
			return true
		}
	}
	return false
}
