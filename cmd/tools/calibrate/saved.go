package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// A file of -save is JSON lines: a head, then a line for each case that is finished, in the
// order in which they were. A run that was ended goes on from it.

// head is the first line: what a run must have in common with the one that it goes on from.
type head struct {
	Sizes   sizes  `json:"sizes"`
	Seed    uint64 `json:"seed"`
	Replays int    `json:"replays"`
	Profile string `json:"profile"`
	// Program is the hash of the program, that is of battery and strategies.
	Program string `json:"program"`
}

// finished is one more line.
type finished struct {
	Setting string   `json:"setting"`
	Case    int      `json:"case"`
	Verdict *verdict `json:"verdict"`
}

type place struct {
	setting string
	i       int
}

// saved is a file of -save; without one it keeps nothing.
type saved struct {
	mu    sync.Mutex
	file  *os.File
	known map[place]*verdict
}

// readSaved reads a file of -save. A last line without an end is what a kill has left of
// it, and is no case; good is how many bytes stand before it.
func readSaved(r io.Reader) (h head, known map[place]*verdict, good int64, err error) {
	known = map[place]*verdict{}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if n == 1 {
				return h, nil, 0, errors.New("it is empty")
			}
			return h, known, good, nil
		}
		if err != nil {
			return h, nil, 0, err
		}
		if n == 1 {
			err = json.Unmarshal(line, &h)
		} else {
			var f finished
			if err = json.Unmarshal(line, &f); err == nil && f.Verdict == nil {
				err = errors.New("no verdict")
			}
			known[place{f.Setting, f.Case}] = f.Verdict
		}
		if err != nil {
			return h, nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		good += int64(len(line))
	}
}

// openSaved opens the file for a run, or makes it. Path "" is no file.
func openSaved(path string, of head) (_ *saved, err error) {
	s := &saved{known: map[place]*verdict{}}
	if path == "" {
		return s, nil
	}
	if s.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.file.Close())
		}
	}()
	info, err := s.file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return s, s.write(of)
	}
	h, known, good, err := readSaved(s.file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if h != of {
		return nil, fmt.Errorf("%s is of another program, seed, profile or size: delete it to begin anew",
			path)
	}
	s.known = known
	if err := s.file.Truncate(good); err != nil {
		return nil, err
	}
	_, err = s.file.Seek(good, io.SeekStart)
	return s, err
}

// of returns the verdict of a case that was finished before, or nil.
func (s *saved) of(name string, i int) *verdict { return s.known[place{name, i}] }

func (s *saved) add(name string, i int, v *verdict) error {
	return s.write(finished{name, i, v})
}

func (s *saved) write(line any) error {
	if s.file == nil {
		return nil
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.file.Write(append(text, '\n'))
	return err
}

func (s *saved) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
