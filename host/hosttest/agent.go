package hosttest

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh/agent"
)

// Agent serves an SSH agent until the test ends, and names its socket in SSH_AUTH_SOCK.
func Agent(t testing.TB, held agent.Agent) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // short: a socket's path has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = agent.ServeAgent(held, conn) // until the client hangs up
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
		os.RemoveAll(dir)
	})
	t.Setenv("SSH_AUTH_SOCK", listener.Addr().String())
	return listener.Addr().String()
}
