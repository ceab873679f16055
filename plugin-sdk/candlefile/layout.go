package candlefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	magic      = "ASSAYCDL"
	version    = 1
	headerSize = 64
	columns    = 6
	valueSize  = 8
	rowSize    = columns * valueSize
)

// header is the decoded first 64 bytes.
type header struct {
	rows        int
	first, last market.Time
	timeframe   market.Timeframe
	columnsCRC  uint32
}

func (h header) encode() []byte {
	b := make([]byte, headerSize)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], version)
	binary.LittleEndian.PutUint32(b[12:], headerSize)
	binary.LittleEndian.PutUint64(b[16:], uint64(h.rows))
	binary.LittleEndian.PutUint64(b[24:], uint64(h.first))
	binary.LittleEndian.PutUint64(b[32:], uint64(h.last))
	copy(b[40:48], h.timeframe.String())
	binary.LittleEndian.PutUint32(b[48:], h.columnsCRC)
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli()))
	return b
}

// decodeHeader reads the header of a file of the given size. The order of the checks
// is that of the likely causes: not such a file, a newer one, a damaged one, a cut one.
func decodeHeader(b []byte, size int64) (header, error) {
	var h header
	if len(b) < headerSize {
		return h, fmt.Errorf("%d bytes are too few for a header", len(b))
	}
	b = b[:headerSize]
	if string(b[:8]) != magic {
		return h, errors.New("does not begin with " + magic)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return h, fmt.Errorf("version %d is not known, only %d is", v, version)
	}
	if n := binary.LittleEndian.Uint32(b[12:]); n != headerSize {
		return h, fmt.Errorf("header size %d, want %d", n, headerSize)
	}
	if crc32.Checksum(b[:60], castagnoli()) != binary.LittleEndian.Uint32(b[60:]) {
		return h, errors.New("header checksum does not match")
	}
	if binary.LittleEndian.Uint32(b[52:]) != 0 || binary.LittleEndian.Uint32(b[56:]) != 0 {
		return h, errors.New("flags or reserved field set")
	}
	rows := binary.LittleEndian.Uint64(b[16:])
	if body := size - headerSize; rows < 1 || body%rowSize != 0 || rows != uint64(body/rowSize) {
		return h, fmt.Errorf("%d bytes do not hold %d rows", size, rows)
	}
	tf, err := decodeTimeframe(b[40:48])
	if err != nil {
		return h, err
	}
	return header{
		rows: int(rows), timeframe: tf,
		first:      market.Time(binary.LittleEndian.Uint64(b[24:])),
		last:       market.Time(binary.LittleEndian.Uint64(b[32:])),
		columnsCRC: binary.LittleEndian.Uint32(b[48:]),
	}, nil
}

// decodeTimeframe wants the one spelling of every timeframe, so that equal candles
// have one file.
func decodeTimeframe(b []byte) (market.Timeframe, error) {
	n := 0
	for n < len(b) && b[n] != 0 {
		n++
	}
	for _, c := range b[n:] {
		if c != 0 {
			return market.Timeframe{}, errors.New("timeframe is not padded with zeros")
		}
	}
	return market.ParseTimeframe(string(b[:n]))
}

// castagnoli is the table that hash/crc32 computes in hardware.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }
