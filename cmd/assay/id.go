package main

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
	"time"
)

// serverID is a lower-case ULID: the time in milliseconds and 80 random bits.
func serverID(now time.Time) (string, error) {
	var b [20]byte // 4 zero bytes in front make 32 characters, of which the last 26 count
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[9-i] = byte(ms >> (8 * i))
	}
	if _, err := rand.Read(b[10:]); err != nil {
		return "", err
	}
	return strings.ToLower(base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").EncodeToString(b[:])[6:]), nil
}
