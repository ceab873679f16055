package store

// ConfigError is a configuration that does not fit the log: keys, origin, policy or trust.
// A plane does not start with it.
type ConfigError struct{ Message string }

// Error implements error.
func (e *ConfigError) Error() string { return e.Message }

// The codes of a DamageError.
const (
	Corrupt  = "LEDGER_CORRUPT"
	Rollback = "LEDGER_ROLLBACK"
)

// DamageError says that the log on disk does not hold together: Corrupt when something in it
// was changed, Rollback when it is an older copy of itself. Nothing is written then.
type DamageError struct {
	Code   string
	Detail string // for the operator; never sent to clients
}

// Error implements error.
func (e *DamageError) Error() string { return e.Code + ": " + e.Detail }
