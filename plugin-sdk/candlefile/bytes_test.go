package candlefile

import (
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSwappedTwiceIsTheSame(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	once := swapped(b)
	if want := []byte{8, 7, 6, 5, 4, 3, 2, 1, 16, 15, 14, 13, 12, 11, 10, 9}; !slices.Equal(once, want) {
		t.Errorf("got %v", once)
	}
	if !slices.Equal(swapped(once), b) {
		t.Error("swapping twice changes bytes")
	}
}

func TestJoinCRC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 5000)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for range 200 {
		n := r.IntN(len(b))
		cut := r.IntN(n + 1)
		whole := crc32.Checksum(b[:n], castagnoli())
		got := joinCRC(crc32.Checksum(b[:cut], castagnoli()), crc32.Checksum(b[cut:n], castagnoli()), n-cut)
		if got != whole {
			t.Fatalf("%d + %d bytes: %08x, want %08x", cut, n-cut, got, whole)
		}
	}
}
