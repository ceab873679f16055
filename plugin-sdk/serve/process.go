package serve

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/assay-run/assay/plugin-sdk/wire"
)

// parentVariable names the file descriptor that ends when the host is gone.
const parentVariable = "ASSAY_PARENT_FD"

// lingering is how long the process outlives its run when the host does not end it.
const lingering = 10 * time.Second

// process is the operating system's side of a plugin. A nil process, that of a
// test, does nothing.
type process struct {
	stderr *os.File // the original, from before go-plugin replaced os.Stderr
	once   sync.Once
	served func() // closes serves, the first time
	serves chan struct{}
	grpc   *grpc.Server
	linger *time.Timer // ends the process unless another run begins
	garbage
}

func newProcess() *process {
	p := &process{stderr: os.Stderr, serves: make(chan struct{})}
	p.served = sync.OnceFunc(func() { close(p.serves) })
	return p
}

func (p *process) newGRPC(opts []grpc.ServerOption) *grpc.Server {
	first := func(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		p.served()
		return handler(srv, st)
	}
	opts = append(opts, wire.ServerOptions()...)
	p.grpc = grpc.NewServer(append(opts, grpc.ChainStreamInterceptor(first))...)
	return p.grpc
}

// awaitServing waits until gRPC serves: go-plugin replaces os.Stdout and os.Stderr before, and after the
// handshake. Every host opens streams of go-plugin's own at once.
func (p *process) awaitServing() {
	if p != nil {
		<-p.serves
	}
}

// handshakeDone joins standard output to standard error: it is not read any more,
// and a full pipe would hang the strategy.
func (p *process) handshakeDone() {
	if p == nil {
		return
	}
	p.once.Do(func() {
		os.Stdout, os.Stderr = p.stderr, p.stderr
		joinStdout(p.stderr)
	})
}

// oneThread makes a round trip of lockstep shorter.
func (p *process) oneThread() {
	if p != nil {
		runtime.GOMAXPROCS(1)
	}
}

// simulationBegins lets a small strategy leave more garbage.
func (p *process) simulationBegins() {
	if p != nil {
		p.letMore()
	}
}

// simulationGoesOn looks whether the strategy is small still.
func (p *process) simulationGoesOn() {
	if p != nil {
		p.look()
	}
}

// runBegins keeps the process that a run before would let end.
func (p *process) runBegins() {
	if p != nil && p.linger != nil {
		p.linger.Stop()
	}
}

// runDone lets the process end after its run. The host usually ends it before.
func (p *process) runDone() {
	if p != nil {
		p.linger = time.AfterFunc(lingering, p.grpc.Stop)
	}
}

// watchParent ends the process at once when the host is gone: the host holds the
// other end of the pipe, and the system closes it however the host ends.
func watchParent() {
	fd, err := strconv.Atoi(os.Getenv(parentVariable))
	if err != nil || fd < 3 {
		return
	}
	keepToOurselves(fd)
	pipe := os.NewFile(uintptr(fd), "parent")
	if pipe == nil {
		return
	}
	if info, err := pipe.Stat(); err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return // not a pipe: someone else's number
	}
	go func() {
		buf := make([]byte, 64)
		for {
			if _, err := pipe.Read(buf); err != nil {
				os.Exit(1)
			}
		}
	}()
}
