package runner

import (
	"io"
	"sync"
	"time"
)

// idPrefix marks runs of the service.
const idPrefix = "svc_"

// crockford is the alphabet of a ULID, in lower case.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// idSource makes run ids: svc_ and a ULID, 48 bits of Unix milliseconds and 80
// random bits. Ids ascend: within a millisecond, or when the clock goes back, the
// previous one is counted up.
type idSource struct {
	random io.Reader

	mu   sync.Mutex
	last [16]byte
}

func (s *idSource) next(now time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var id [16]byte
	ms := uint64(max(now.UnixMilli(), 0))
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	if string(id[:6]) > string(s.last[:6]) {
		if _, err := io.ReadFull(s.random, id[6:]); err != nil {
			return "", err
		}
		s.last = id
	} else {
		countUp(&s.last)
	}
	return idPrefix + encodeULID(s.last), nil
}

func countUp(id *[16]byte) {
	for i := len(id) - 1; i >= 0; i-- {
		id[i]++
		if id[i] != 0 {
			return
		}
	}
}

// encodeULID writes 128 bits as 26 digits of 5 bits, the first of which has only 3.
func encodeULID(id [16]byte) string {
	var out [26]byte
	bits, have, at := uint32(0), 2, 0 // two zero bits in front
	for _, b := range id {
		bits, have = bits<<8|uint32(b), have+8
		for have >= 5 {
			have -= 5
			out[at] = crockford[bits>>have&31]
			at++
		}
	}
	return string(out[:])
}
