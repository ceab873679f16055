package redteam

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/redteam/attack"
)

// programs are what the tests start, built once.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rt-bin-")
	if err != nil {
		return "", err
	}
	return dir, hosttest.Build(dir, "v1", "cmd/assay", "strategies/sma_cross", "host/hosttest/redteam/hostile")
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := programs(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// stage is what a service stands on and what there is to attack around it.
type stage struct {
	t      *testing.T
	uid    int
	dir    string
	made   time.Time
	mode   string // of the sandbox
	target attack.Target

	bystander *bystander
	met       map[string]*atomic.Int64 // by listener
	honest    []byte                   // the programs' bytes
	planted   int                      // how many programs were planted
	hostile   []byte

	service  *service
	baseline facts // of a service that has met no attack
}

var stages atomic.Int64

// newStage lays out folders, files, listeners and a bystander for a user.
func newStage(t *testing.T, uid int) *stage {
	t.Helper()
	return newStageWith(t, uid, *sandboxMode)
}

func newStageWith(t *testing.T, uid int, mode string) *stage {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "rt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &stage{t: t, uid: uid, dir: dir, made: time.Now(), mode: mode, met: map[string]*atomic.Int64{}}
	s.target = attack.Target{
		Mark: fmt.Sprintf("rt%dx%d", os.Getpid(), stages.Add(1)), Home: dir + "/home", State: dir + "/state",
		Strategies: dir + "/strategies", PathSocket: dir + "/open.sock", Datagram: dir + "/letters.sock",
	}
	s.target.Machine, err = os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s.target.Abstract = s.target.Mark + "-listener"
	s.target.Key = 0x5a000000 | os.Getpid()&0xffff<<4 | int(stages.Load())<<1&0xf
	for _, folder := range []string{"", "/home", "/state", "/strategies", "/connectors", "/tmp", "/bin"} {
		s.makeFolder(dir + folder)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, a := range attack.List() {
		s.write("home/"+a.Name, []byte("SECRET-"+a.Name), 0o600)
	}
	s.write("bin/assay", s.bytesOf(bin+"/assay"), 0o755)
	s.honest, s.hostile = s.bytesOf(bin+"/sma_cross"), s.bytesOf(bin+"/hostile")
	sum := sha256.Sum256(s.honest)
	s.target.Honest = hex.EncodeToString(sum[:])
	s.write("strategies/honest", s.honest, 0o755)
	s.listen()
	s.bystander = s.startBystander(bin + "/hostile")
	t.Cleanup(s.sweep)
	t.Cleanup(func() { s.stop(syscall.SIGKILL) })
	s.prime()
	return s
}

// prime lets the service make its files and play an honest run, and looks at it.
func (s *stage) prime() {
	s.t.Helper()
	if !s.start() {
		s.t.Fatalf("the service does not start:\n%s", s.service.stderr.from(0))
	}
	s.service.run("honest", nil)
	s.baseline = s.look()
	s.stop(syscall.SIGTERM)
	files, _ := filepath.Glob(s.target.State + "/data/candles/*")
	if len(files) == 0 {
		s.t.Fatal("the service has no candles")
	}
	s.target.Candles = files[0]
}

func (s *stage) makeFolder(path string) {
	s.t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.give(path)
}

func (s *stage) give(path string) {
	s.t.Helper()
	if os.Geteuid() == 0 {
		if err := os.Chown(path, s.uid, s.uid); err != nil {
			s.t.Skipf("needs a root that may change owners of files: %v", err)
		}
	}
}

func (s *stage) bytesOf(path string) []byte {
	s.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

func (s *stage) write(name string, content []byte, mode os.FileMode) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, content, mode); err != nil {
		s.t.Fatal(err)
	}
	s.give(path)
}

// plant puts the hostile program into a folder with what it is to attack, under its mark and an ending.
func (s *stage) plant(folder, role, attackName, ending string) {
	s.t.Helper()
	t := s.target
	s.planted++ // a program that is known is not probed again
	t.Role, t.Attack, t.Number = role, attackName, s.planted
	orders, err := json.Marshal(t)
	if err != nil {
		s.t.Fatal(err)
	}
	head := []byte("REDTEAM-ORDERS:" + strings.Repeat(" ", 64))
	at := bytes.Index(s.hostile, head)
	if at < 0 || bytes.Count(s.hostile, head) != 1 {
		s.t.Fatal("the hostile program has no place for its orders")
	}
	program := bytes.Clone(s.hostile)
	place := program[at+len("REDTEAM-ORDERS:"):]
	if len(orders) > 2048 {
		s.t.Fatalf("the orders are too long: %d bytes", len(orders))
	}
	copy(place, orders)
	s.write(folder+"/"+s.target.Mark+ending, program, 0o755)
}

// unplant removes what was planted, and the copies of connectors that the service keeps: 150 of them are
// gigabytes.
func (s *stage) unplant() {
	for _, pattern := range []string{"strategies/" + s.target.Mark, "connectors/" + s.target.Mark,
		"state/connectors/"} {
		files, _ := filepath.Glob(filepath.Join(s.dir, pattern+"*"))
		for _, file := range files {
			_ = os.Remove(file)
		}
	}
}

// listen opens one listener of each kind outside; everybody may connect.
func (s *stage) listen() {
	stream := func(name, network, address string) net.Listener {
		s.met[name] = &atomic.Int64{}
		l, err := net.Listen(network, address)
		if err != nil {
			s.t.Logf("no listener for %s here: %v", name, err)
			return nil
		}
		s.t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				s.met[name].Add(1)
				c.Close()
			}
		}()
		return l
	}
	letters := func(name, network, address string) net.PacketConn {
		s.met[name] = &atomic.Int64{}
		c, err := net.ListenPacket(network, address)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { c.Close() })
		go func() {
			for b := make([]byte, 64); ; s.met[name].Add(1) {
				if _, _, err := c.ReadFrom(b); err != nil {
					return
				}
			}
		}()
		return c
	}
	port := func(l net.Listener) int {
		if l == nil {
			return 9
		}
		return l.Addr().(*net.TCPAddr).Port
	}
	stream("path socket", "unix", s.target.PathSocket)
	stream("abstract socket", "unix", "@"+s.target.Abstract)
	s.target.TCP4 = port(stream("tcp4", "tcp4", "127.0.0.1:0"))
	s.target.TCP6 = port(stream("tcp6", "tcp6", "[::1]:0"))
	letters("datagram socket", "unixgram", s.target.Datagram)
	s.target.UDP = letters("udp", "udp4", "127.0.0.1:0").LocalAddr().(*net.UDPAddr).Port
	for _, path := range []string{s.target.PathSocket, s.target.Datagram} {
		if err := os.Chmod(path, 0o777); err != nil {
			s.t.Fatal(err)
		}
	}
	// Below those that the kernel hands out: nobody else gets it by chance.
	s.target.FreePort = 20_000 + os.Getpid()%10_000
	s.target.Vsock = 9999
}

// bystander is a process of the same user that has nothing to do with the service.
type bystander struct {
	cmd     *exec.Cmd
	ask     io.Writer
	answers chan string
	signals atomic.Int64
}

func (s *stage) startBystander(program string) *bystander {
	s.t.Helper()
	path := filepath.Join(s.dir, "bin", "bystander")
	s.write("bin/bystander", s.bytesOf(program), 0o755)
	b := &bystander{cmd: exec.Command(path), answers: make(chan string, 8)}
	b.cmd.SysProcAttr = s.attributes()
	ask, err := b.cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	b.ask = ask
	if err := b.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait()
	})
	go func() {
		defer close(b.answers)
		for in := bufio.NewScanner(out); in.Scan(); {
			if in.Text() == "signal" {
				b.signals.Add(1)
			} else {
				b.answers <- in.Text()
			}
		}
	}()
	if _, err := fmt.Sscanf(<-b.answers, "address %d", &s.target.Secret); err != nil {
		s.t.Fatal(err)
	}
	s.target.Bystander = b.cmd.Process.Pid
	return b
}

func (s *stage) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 && s.uid != 0 {
		a.Credential = &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}
	}
	return a
}

// sweep removes what attacks have left on the machine.
func (s *stage) sweep() {
	for _, pid := range marked(s.target.Mark) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, key := range []int{s.target.Key, s.target.Key + 1} {
		if id, _, errno := syscall.Syscall(unix.SYS_SHMGET, uintptr(key), 0, 0); errno == 0 {
			_, _, _ = syscall.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
		}
		if id, _, errno := syscall.Syscall(unix.SYS_SEMGET, uintptr(key), 0, 0); errno == 0 {
			_, _, _ = syscall.Syscall6(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID, 0, 0, 0)
		}
		if id, _, errno := syscall.Syscall(unix.SYS_MSGGET, uintptr(key), 0, 0); errno == 0 {
			_, _, _ = syscall.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0)
		}
	}
	for _, name := range []string{s.target.Mark, s.target.Mark + "-next"} {
		text, _ := unix.BytePtrFromString(name)
		unlinkQueue(text)
	}
	for _, pattern := range notePlaces(s.target.Mark) {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			_ = os.Remove(f)
		}
	}
}

// notePlaces are where files of attacks may lie.
func notePlaces(mark string) []string {
	var list []string
	for _, folder := range []string{"/tmp/", "/var/tmp/", "/run/", "/run/lock/", "/dev/mqueue/", "/dev/shm/",
		"/"} {
		list = append(list, folder+mark+"*")
	}
	return list
}
