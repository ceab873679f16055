package runner

import (
	"bytes"
	"crypto/rand"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestRunIDs(t *testing.T) {
	s := idSource{random: rand.Reader}
	form := regexp.MustCompile(`^svc_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
	now := time.UnixMilli(1700000000000)
	previous := ""
	for i := range 5000 {
		switch i % 4 { // three ids a millisecond, and now and then the clock goes back
		case 0:
			now = now.Add(time.Millisecond)
		case 3:
			now = now.Add(-time.Duration(i%7) * time.Millisecond)
		}
		id, err := s.next(now)
		if err != nil || !form.MatchString(id) || id <= previous {
			t.Fatalf("%s after %s: %v", id, previous, err)
		}
		previous = id
	}
}

func TestRunIDEncoding(t *testing.T) {
	// The example of the ULID specification: 1469918176385 ms is 01ARYZ6S41.
	s := idSource{random: bytes.NewReader(bytes.Repeat([]byte{0xff}, 10))}
	id, err := s.next(time.UnixMilli(1469918176385))
	if want := "svc_01aryz6s41" + strings.Repeat("z", 16); id != want || err != nil {
		t.Errorf("%s, %v", id, err)
	}
	// Counting up carries into the time.
	id, err = s.next(time.UnixMilli(1469918176385))
	if want := "svc_01aryz6s42" + strings.Repeat("0", 16); id != want || err != nil {
		t.Errorf("%s, %v", id, err)
	}
	broken := idSource{random: iotest.ErrReader(errors.New("no entropy"))}
	if _, err := broken.next(time.Now()); err == nil {
		t.Error("an id without randomness")
	}
}
