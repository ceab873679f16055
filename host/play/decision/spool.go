package decision

import (
	"errors"
	"io"
	"os"
)

// spoolMemory is how many bytes of lines are held in memory: those of a short run never
// see a file.
const spoolMemory = 1 << 20

// spool is bytes that were written one after the other, in memory as long as they are
// few and then in a file. The file has no name once it is open, so that nothing is left
// behind by a crash.
type spool struct {
	dir    string
	file   *os.File
	memory []byte // what is not in the file
	stored int64  // bytes in the file
	size   int64  // bytes in all
	closed bool
}

func (s *spool) write(b []byte) error {
	s.memory = append(s.memory, b...)
	s.size += int64(len(b))
	if len(s.memory) < spoolMemory {
		return nil
	}
	return s.store()
}

// store moves what is in memory to the file.
func (s *spool) store() error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, ".decisions-*")
		if err != nil {
			return err
		}
		if err := os.Remove(f.Name()); err != nil {
			return errors.Join(err, f.Close())
		}
		s.file = f
	}
	n, err := s.file.Write(s.memory)
	s.stored += int64(n)
	s.memory = s.memory[:0]
	return err
}

// copy writes everything so far.
func (s *spool) copy(w io.Writer) error {
	if s.closed {
		return os.ErrClosed
	}
	if s.file != nil {
		if _, err := io.Copy(w, io.NewSectionReader(s.file, 0, s.stored)); err != nil {
			return err
		}
	}
	_, err := w.Write(s.memory)
	return err
}

// readAt fills b with the bytes from at on, which must be there.
func (s *spool) readAt(b []byte, at int64) error {
	if at < s.stored {
		n := min(int64(len(b)), s.stored-at)
		if _, err := s.file.ReadAt(b[:n], at); err != nil {
			return err
		}
		b, at = b[n:], s.stored
	}
	copy(b, s.memory[at-s.stored:])
	return nil
}

func (s *spool) close() error {
	s.closed, s.memory = true, nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
