package request

import "time"

// Renewing is o with a lease that is renewed as often as a test can wait for.
func (o Options) Renewing(every time.Duration) Options {
	o.renewal = every
	return o
}
