package candlefile

import "hash/crc32"

// A CRC is a polynomial over GF(2), bit-reversed: the highest bit of the word is the
// coefficient of x^0.
const (
	one   = uint32(1) << 31 // x^0
	xByte = uint32(1) << 23 // x^8: one more byte
)

// joinCRC is the checksum of a text whose first part has checksum a and whose second
// part, of size bytes, has checksum b: a moved up by size bytes, and b added.
func joinCRC(a, b uint32, size int) uint32 {
	shift, base := one, xByte
	for n := size; n > 0; n >>= 1 {
		if n&1 == 1 {
			shift = multiply(shift, base)
		}
		base = multiply(base, base)
	}
	return multiply(shift, a) ^ b
}

// multiply multiplies two polynomials modulo that of CRC-32C.
func multiply(a, b uint32) uint32 {
	product := uint32(0)
	for ; a != 0; a <<= 1 {
		if a&one != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry == 1 {
			b ^= crc32.Castagnoli
		}
	}
	return product
}
