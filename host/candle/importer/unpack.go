package importer

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"strings"
)

// maxMembers is how many files an archive may have.
const maxMembers = 10_000

// meter counts and hashes what is read through it.
type meter struct {
	r    io.Reader
	sum  hash.Hash
	read int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.read += int64(n)
	m.sum.Write(p[:n])
	return n, err
}

// readInput reads one file, whatever it is packed in, into the table.
func (r *run) readInput(ctx context.Context, in Input) error {
	if in.Size > r.opts.maxBytes() {
		return Refuse(TooLarge, "%s has more than %s: import it in parts with --merge", in.Name,
			size(r.opts.maxBytes()))
	}
	f, err := in.Open()
	if err != nil {
		return err
	}
	m := &meter{r: f, sum: sha256.New()}
	if err = r.unpack(ctx, in, f, m); err == nil {
		_, err = io.Copy(io.Discard, m) // the hash is that of the whole file
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	r.report.Files = append(r.report.Files,
		FileReport{Name: in.Name, SHA256: hex.EncodeToString(m.sum.Sum(nil)), Bytes: m.read})
	r.done += in.Size
	return nil
}

// unpack recognises a file by its first bytes.
func (r *run) unpack(ctx context.Context, in Input, f io.Reader, m *meter) error {
	head := bufio.NewReaderSize(m, 64<<10)
	begin, err := head.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	format := r.format(begin)
	if format == nil && !isZip(begin) {
		return r.text(ctx, in.Name, "", head, func() int64 { return m.read })
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return fmt.Errorf("%s: this kind of file is read out of order, and the input cannot do that", in.Name)
	}
	if format != nil {
		return r.columnar(ctx, in, *format, at)
	}
	return r.readArchive(ctx, in, at)
}

func (r *run) format(begin []byte) *Format {
	for i, f := range r.opts.Formats {
		if f.Magic != "" && bytes.HasPrefix(begin, []byte(f.Magic)) {
			return &r.opts.Formats[i]
		}
	}
	return nil
}

func isZip(begin []byte) bool {
	return bytes.HasPrefix(begin, []byte("PK\x03\x04")) || bytes.HasPrefix(begin, []byte("PK\x05\x06"))
}

// readArchive reads the members of a zip file as files of one series.
func (r *run) readArchive(ctx context.Context, in Input, f io.ReaderAt) error {
	counted := &countingAt{f: f}
	z, err := zip.NewReader(counted, in.Size)
	if err != nil {
		return damaged(in.Name, "zip", err)
	}
	if len(z.File) > maxMembers {
		return Refuse(TooLarge, "%s has %d members, more than %d: unpack it", in.Name, len(z.File),
			maxMembers)
	}
	if slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "[Content_Types].xml" }) {
		return Refuse(Encoding, "the file is a spreadsheet or document: save it as CSV").At(in.Name, 1, "")
	}
	members, ignored := choose(z.File)
	if len(members) == 0 {
		return Refuse(NoRows, "%s has no file in it", in.Name)
	}
	if len(ignored) > 0 {
		r.report.warn(warnMembers, "%s: %d members that are no candles by their names were left out: %s",
			in.Name, len(ignored), strings.Join(ignored[:min(len(ignored), 5)], ", "))
	}
	declared := uint64(0)
	for _, m := range members {
		declared += min(m.UncompressedSize64, maxBytes+1) // no sum of them overflows
	}
	if declared+uint64(r.unpacked) > uint64(r.opts.maxBytes()) {
		return r.opts.tooManyBytes(in.Name)
	}
	for _, m := range members {
		if err := r.readMember(ctx, in, m, func() int64 { return min(counted.read, in.Size) }); err != nil {
			return err
		}
	}
	return nil
}

// choose takes the members that are candles by the ends of their names: tables of
// values if there are any, for some sites pack a note in plain text beside them.
func choose(files []*zip.File) (members []*zip.File, ignored []string) {
	var candidates []*zip.File
	for _, f := range files {
		name := f.Name
		if !f.Mode().IsRegular() || strings.HasPrefix(name, "__MACOSX/") ||
			strings.HasPrefix(path.Base(name), ".") {
			continue
		}
		candidates = append(candidates, f)
	}
	for _, ends := range [][]string{{".csv", ".csv.gz", ".json", ".json.gz"}, {".txt", ".txt.gz"}, {""}} {
		for _, f := range candidates {
			if slices.ContainsFunc(ends, func(end string) bool {
				return strings.HasSuffix(strings.ToLower(f.Name), end)
			}) {
				members = append(members, f)
			}
		}
		if len(members) > 0 {
			break
		}
	}
	for _, f := range candidates {
		if !slices.Contains(members, f) {
			ignored = append(ignored, f.Name)
		}
	}
	return members, ignored
}

func (r *run) readMember(ctx context.Context, in Input, m *zip.File, read func() int64) error {
	name := in.Name + "/" + m.Name
	if m.Flags&1 != 0 {
		return Refuse(Encoding, "the zip file has a password: unpack it").At(name, 1, "")
	}
	f, err := m.Open()
	if err != nil {
		return damaged(name, "zip", err)
	}
	return errors.Join(r.text(ctx, name, "zip", bufio.NewReaderSize(f, 64<<10), read), f.Close())
}

// countingAt counts what is read.
type countingAt struct {
	f    io.ReaderAt
	read int64
}

// ReadAt calls an offset that no file has what it is: made up by a damaged directory.
func (c *countingAt) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, zip.ErrFormat
	}
	n, err := c.f.ReadAt(p, off)
	c.read += int64(n)
	return n, err
}

// damaged refuses a packed file that cannot be unpacked; errors of other kinds pass.
func damaged(name, kind string, err error) error {
	var flateError flate.CorruptInputError
	switch {
	case errors.Is(err, zip.ErrAlgorithm):
		return Refuse(Encoding, "the zip file is packed in a way that is not known here: unpack it").At(name,
			1, "")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zip.ErrFormat),
		errors.Is(err, zip.ErrChecksum),
		errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &flateError), errors.Is(err, io.EOF):
		return Refuse(Encoding, "the %s file is damaged or cut short: %v", kind, err).At(name, 1, "")
	}
	return err
}
