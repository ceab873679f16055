package policy

import "fmt"

// inDispute says how many days are in dispute, "" for none.
func (s *ShadowResult) inDispute() string {
	switch s.InDispute {
	case 0:
		return ""
	case 1:
		return ", 1 day in dispute"
	}
	return fmt.Sprintf(", %d days in dispute", s.InDispute)
}
