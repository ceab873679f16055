package drive

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
)

// Source is the random stream of one purpose: PCG seeded from a hash of root seed,
// purpose and index, so that no two streams of a run overlap.
func Source(rootSeed uint64, purpose string, index int) *rand.PCG {
	text := "assay/rng/v1\x00" + strconv.FormatUint(rootSeed, 10) + "\x00" + purpose + "\x00" + strconv.Itoa(index)
	digest := sha256.Sum256([]byte(text))
	return rand.NewPCG(binary.BigEndian.Uint64(digest[:8]), binary.BigEndian.Uint64(digest[8:16]))
}
