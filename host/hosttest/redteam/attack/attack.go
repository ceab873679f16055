//go:build linux

// Package attack is what a hostile plugin tries against the machine that runs it: one
// entry for each attempt, with what can be seen of it from outside. The program in
// host/hosttest/redteam/hostile makes the attempts; the tests of host/hosttest/redteam judge them.
//
// An attempt aims at things that were laid out for it (files, sockets, a bystander of the
// same user) and at the service that runs the plugin. Where success would hurt the machine
// it asks for something harmless that needs the same right: a signal 0, a limit that is
// lower but wide, a name that does not exist.
package attack

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attack is one attempt.
type Attack struct {
	// Name is for people and for host/hosttest/redteam/attacks.md.
	Name string
	// How completes "The plugin ...".
	How string
	// Fact is what is looked at from outside: the attempt is held when no fact that begins
	// with it has changed. Empty: nothing of it leaves the process, and its own word counts.
	Fact string
	// Alone means that it ends or fills the process, and so is not made beside others.
	Alone bool
	// Run means that it needs a run, or two in a row: it is not made while a file is probed.
	Run bool
	// Probe means that it takes the place of the handshake, so that no run follows.
	Probe bool
	// Network means that a connector may do it: that is what it is for.
	Network bool
	// Do makes the attempt. A nil error reports that it got what it wanted.
	Do func(*Target) (note string, err error)
}

// Target is what there is to attack. It stands in the program file itself: a file that is
// probed gets no parameters.
type Target struct {
	Role       string   `json:"role"`             // strategy, probe or connector
	Attack     string   `json:"attack"`           // to be made when it is probed, * for all together
	Number     int      `json:"number"`           // of the file, which makes it another one
	Mark       string   `json:"mark"`             // in every name that it makes
	Home       string   `json:"home"`             // a folder of the user, one file for each attack
	State      string   `json:"state"`            // the service's state folder
	Strategies string   `json:"strategies"`       // the strategies folder
	Honest     string   `json:"honest"`           // hash of another plugin
	Candles    string   `json:"candles"`          // a candle file
	PathSocket string   `json:"path_socket"`      // a listener's
	Datagram   string   `json:"datagram"`         // a socket of datagrams
	Abstract   string   `json:"abstract"`         // a listener's, without @
	TCP4       int      `json:"tcp4"`             // ports of listeners on loopback
	TCP6       int      `json:"tcp6"`             //
	UDP        int      `json:"udp"`              //
	Vsock      int      `json:"vsock"`            //
	FreePort   int      `json:"free_port"`        // unused
	Key        int      `json:"key"`              // of System V objects
	Machine    string   `json:"machine"`          // its name
	Bystander  int      `json:"bystander"`        // a process of the same user
	Secret     uint64   `json:"secret"`           // address in it
	Host       int      `json:"host,omitempty"`   // the service, once that is known
	Window     []string `json:"-"`                // the candle files that the run was handed
	Kept       []any    `json:"-"`                // listeners, open until the program ends
	Second     bool     `json:"second,omitempty"` // a run of the same program was before
}

// File returns the file of the user that belongs to an attack.
func (t *Target) File(name string) string { return t.Home + "/" + name }

// others are the processes outside that can be named: the parent, the service by the number
// that it has outside, and a bystander.
func (t *Target) others() []int {
	list := []int{unix.Getppid(), t.Bystander}
	if t.Host > 0 {
		list = append(list, t.Host)
	}
	return list
}

// List has every attack, in the order of the table.
func List() []Attack {
	var all []Attack
	for _, group := range [][]Attack{limits(), signals(), memory(), kernelCalls(), files(), looks(), paths(),
		ways(),
		escapes(), mounts(), privileges(), programs(), networks(), sockets(), ipc(), notes(), notesInNames(),
		notesInFiles(), kernel(), machine(), processor(), protocol(), resources()} {
		all = append(all, group...)
	}
	return all
}

// Together are the attacks that are made side by side in one process of a role.
func Together(role string) []string {
	var names []string
	for _, a := range List() {
		if !a.Alone && !a.Probe && a.Suits(role) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Suits reports whether the attack is one for a strategy in a run, for a file that is probed or for a
// connector.
func (a Attack) Suits(role string) bool {
	switch role {
	case "strategy":
		return !a.Probe
	case "connector":
		return !a.Run && !a.Network
	}
	return !a.Run
}

// call makes a system call without a result.
//
//go:uintptrescapes
func call(number uintptr, args ...uintptr) error {
	_, err := result(number, args...)
	return err
}

//go:uintptrescapes
func result(number uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return r, errno
	}
	return r, nil
}

// oneOf makes several attempts, of which one is enough.
func oneOf[T ~int | ~string](list []T, try func(T) error) (string, error) {
	last := error(syscall.ENOENT)
	for _, x := range list {
		err := try(x)
		if err == nil {
			return fmt.Sprint(x), nil
		}
		last = err
	}
	return "", last
}
