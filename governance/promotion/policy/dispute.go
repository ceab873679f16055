package policy

import "fmt"

// describe says how many days are in dispute, and how many were stated by whom they are of; "" for none.
func (s *Dropped) describe() (text string) {
	if s.InDispute > 0 {
		text = ", " + countDays(s.InDispute) + " in dispute"
	}
	if s.Own > 0 {
		text += fmt.Sprintf(", %s stated by %s, whose revision it is", countDays(s.Own), s.OwnBy)
	}
	return text
}

func countDays(n int64) string {
	if n == 1 {
		return "1 day"
	}
	return fmt.Sprintf("%d days", n)
}
