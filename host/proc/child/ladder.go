package child

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/assay-run/assay/host/proc/sandbox"
)

// lowerError says that the machine does not grant what a rung needs.
type lowerError struct{ error }

// Unwrap is the cause.
func (e *lowerError) Unwrap() error { return e.error }

// cannotIsolate tells a refusal of namespaces from other reasons for which a process
// cannot be started.
func cannotIsolate(err error) error {
	for _, errno := range []syscall.Errno{
		syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSPC, syscall.EUSERS, syscall.ENOSYS,
	} {
		if errors.Is(err, errno) {
			return &lowerError{errors.New("the system does not make the namespaces: " + errno.Error())}
		}
	}
	return execError(err)
}

// ladder remembers the best rung that this machine grants, and why it grants none above
// it: for strategies and, with the network, for connectors.
type ladder struct {
	mu      sync.Mutex
	rung    int
	refused map[string]string
}

var ladders [2]ladder

func ladderFor(network bool) *ladder {
	if network {
		return &ladders[1]
	}
	return &ladders[0]
}

func (l *ladder) best() (rung int, refused map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused = map[string]string{}
	maps.Copy(refused, l.refused)
	return l.rung, refused
}

func (l *ladder) remember(rung int, refused map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rung > l.rung {
		l.rung, l.refused = rung, refused
	}
}

// climb starts the process on the best rung that the machine grants.
func climb(ctx context.Context, cfg Config) (*Child, error) {
	l := ladderFor(cfg.Network)
	rungs := sandbox.Rungs(os.Geteuid() == 0, cfg.Network)
	rung, refused := l.best()
	if cfg.Sandbox == sandbox.Require {
		rung, refused = 0, map[string]string{}
	}
	for {
		p := policy(cfg, rungs[rung], refused)
		if err := giveFolder(p); err != nil {
			return nil, err
		}
		c, err := start(ctx, cfg, p, "")
		var lower *lowerError
		switch {
		case !errors.As(err, &lower):
			if err == nil && cfg.Sandbox != sandbox.Require {
				l.remember(rung, refused)
			}
			return c, err
		case cfg.Sandbox == sandbox.Require:
			return nil, &SandboxError{Reason: "the sandbox is incomplete: " + lower.Error()}
		case rung == len(rungs)-1:
			return nil, &ExecError{Reason: lower.Error()}
		}
		rungs[rung].Without(rungs[rung+1], lower.Error(), refused)
		rung++
	}
}

// giveFolder gives the folder that the process may write to, and its files, to the user that
// it becomes.
func giveFolder(p *sandbox.Policy) error {
	if p.Writable == "" || os.Geteuid() != 0 {
		return nil
	}
	user := cmp.Or(p.User, os.Geteuid())
	return filepath.WalkDir(p.Writable, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, user, user)
	})
}

// policy is what a process may do on a rung.
func policy(cfg Config, rung sandbox.Rung, refused map[string]string) *sandbox.Policy {
	p := &sandbox.Policy{
		Require: cfg.Sandbox == sandbox.Require, Measure: cfg.measure, Survives: cfg.Survives,
		Program: cfg.Binary.Name(), Binary: binaryFD, Parent: parentFD, Status: statusFD, Host: sandbox.HostNamespaces(),
		Rung: rung, Refused: refused, SocketDir: cfg.SocketDir, ReadOnly: cfg.ReadOnly, Writable: cfg.Writable,
		Libraries: cfg.Libraries, Network: cfg.Network, Limits: cfg.Limits,
	}
	if rung.Root {
		// Without a root of its own another user could not reach the program in the state folder.
		p.User = sandbox.PickUser()
	}
	return p
}
