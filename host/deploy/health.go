package deploy

// The outcomes of a check of health.
const (
	healthSkip = "skip"
	healthPass = "pass"
	healthWarn = "warn"
)

// Health is the check named governance: pass, warn or skip, and a message. Ungated is that of
// the current run, see Admission. It asks nobody.
func (p *Policy) Health(ungated string) (status, message string) {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	switch {
	case ungated != "":
		return healthWarn, ungated
	case p.opts.Mode == Off, p.opts.Mode == Warn:
		return healthWarn, "real money would be traded ungated: the deployment policy is " + string(p.mode)
	case p.mode != Enforce:
		return healthSkip, "not configured"
	case last.Code != "":
		return healthWarn, string(last.Code) + ": " + last.Message
	}
	return healthPass, "enforced"
}
