package capsule

import (
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
)

// SDK is the import path below which code is not the author's, wherever it was built.
const SDK = "github.com/assay-run/assay/plugin-sdk"

// Frame is one call of a stack.
type Frame struct {
	// Func is the whole name, such as main.(*cross).OnCandle.
	Func string `json:"func"`
	// File is the path that a trimmed build has, else the last two parts of it.
	File string `json:"file"`
	Line int    `json:"line"`
}

// Trace is what the Go runtime prints about a panic.
type Trace struct {
	// Cause is its first line: "panic: boom" or "fatal error: stack overflow". It is empty
	// in the stack of a panic that the SDK has caught, and where there is no trace.
	Cause string
	// Frames begin with the innermost call that is not part of the panic's machinery.
	Frames []Frame
}

var (
	causeLine     = regexp.MustCompile(`^(panic: |fatal error: |runtime: out of memory)`)
	goroutineLine = regexp.MustCompile(`^goroutine [0-9]+ .*\[[^\]]*\]:$`)
	positionLine  = regexp.MustCompile(`^\t(.+):([0-9]+)(?: \+0x[0-9a-f]+)?$`)
)

// ParseStack reads a trace of the Go runtime: the text of debug.Stack, or what a
// process prints when it dies of a panic, whatever it printed before. Of several
// goroutines the first is taken, which is the one that failed.
func ParseStack(lines []string) Trace {
	var t Trace
	at := 0
	for i, line := range lines {
		if causeLine.MatchString(line) {
			t.Cause, at = line, i+1 // the last one: others were recovered
		}
	}
	for at < len(lines) && !goroutineLine.MatchString(lines[at]) {
		at++
	}
	if at == len(lines) {
		return Trace{} // words that only look like a cause
	}
	for at++; at+1 < len(lines) && len(t.Frames) < 4*MaxFrames; at += 2 {
		place := positionLine.FindStringSubmatch(lines[at+1])
		name := functionName(lines[at])
		if place == nil || name == "" || goroutineLine.MatchString(lines[at]) {
			break
		}
		line, err := strconv.Atoi(place[2])
		if err != nil {
			break // no file has that many lines
		}
		t.Frames = append(t.Frames, Frame{Func: name, File: shortFile(place[1]), Line: line})
		if name == "panic" {
			t.Frames = t.Frames[:0] // what led there comes next
		}
	}
	t.Frames = t.Frames[:min(len(t.Frames), MaxFrames)]
	return t
}

// functionName takes the arguments off a line of a trace: "main.f(0x1, {0x2})" and
// "created by main.f in goroutine 1".
func functionName(line string) string {
	if name, created := strings.CutPrefix(line, "created by "); created {
		name, _, _ = strings.Cut(name, " in goroutine ")
		return name
	}
	if strings.HasPrefix(line, "\t") || !strings.HasSuffix(line, ")") {
		return ""
	}
	// Arguments never hold a parenthesis, names of methods do.
	open := strings.LastIndexByte(line, '(')
	if open <= 0 {
		return ""
	}
	return line[:open]
}

// shortFile keeps folders of the machine that built it out of a capsule.
func shortFile(file string) string {
	file = strings.ReplaceAll(file, `\`, "/")
	if !path.IsAbs(file) && !strings.Contains(file, ":") {
		return file
	}
	return strings.TrimPrefix(path.Join(path.Base(path.Dir(file)), path.Base(file)), "/")
}

// Type is the kind of cause without its values.
func (t Trace) Type() string {
	switch {
	case strings.HasPrefix(t.Cause, "panic: runtime error: "):
		return "runtime.Error"
	case strings.HasPrefix(t.Cause, "panic: "):
		return "panic"
	}
	return t.Cause
}

// packageOf is the import path in the name of a function.
func packageOf(function string) string {
	base := strings.LastIndexByte(function, '/') + 1
	dot := strings.IndexByte(function[base:], '.')
	if dot < 0 {
		return function
	}
	return function[:base+dot]
}

// within reports whether an import path is that of a module or below it.
func within(importPath, module string) bool {
	return module != "" && (importPath == module || strings.HasPrefix(importPath, module+"/"))
}

// InModule reports whether a function is the author's: of package main or of the module
// that the program was built from. The SDK never is, also where it shares the module
// with the strategy: which of its functions are on the stack depends on how the plugin
// was driven.
func InModule(function, module string) bool {
	pkg := packageOf(function)
	return (pkg == "main" || within(pkg, module)) && !within(pkg, SDK)
}

// Hook is the method of the strategy that the SDK had called: OnStart, OnFill, OnReject,
// OnCandle or OnStop; "" if the stack does not show it.
func (t Trace) Hook() string {
	for i := 1; i < len(t.Frames); i++ {
		if strings.HasPrefix(t.Frames[i].Func, SDK+"/internal/drive.(*Author).") {
			name := t.Frames[i-1].Func
			return name[strings.LastIndexByte(name, '.')+1:]
		}
	}
	return ""
}

// Folder is where the capsules of a run are, inside the folder of the run.
const Folder = "capsules"

// FileName is the name of a capsule's file.
func (c *Capsule) FileName() string { return c.ID + ".json" }

// ErrFull reports that a run has as many capsules as it may have.
var ErrFull = errors.New("the run has its 20 failure capsules already")

// Add puts a sealed capsule to those that its run has, by file name. A failure that
// is there already, by its fingerprint, is only counted: the capsule that comes back
// is the first one then, unless that had to be a bare one. The error is ErrFull when
// there are MaxPerRun others; files that are no capsules do not count.
func Add(stored map[string][]byte, c *Capsule) (*Capsule, error) {
	others := 0
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		old, err := Decode(stored[name])
		if err != nil || old.FileName() != name {
			continue
		}
		if old.Fingerprint != c.Fingerprint {
			others++
			continue
		}
		if old.isBare() && old.ID == c.ID {
			c.Count += old.Count
			return c, nil
		}
		old.Count += c.Count
		return old, nil
	}
	if others >= MaxPerRun {
		return nil, ErrFull
	}
	return c, nil
}

// NoteOf is what a report has of a capsule with this content.
func NoteOf(c *Capsule, content []byte) *Note {
	return &Note{
		CapsuleID: c.ID, Path: Folder + "/" + c.FileName(), SHA256: digest.SHA256Hex(content), Kind: c.Kind,
		Where: c.Where, Claim: c.Claim,
	}
}
