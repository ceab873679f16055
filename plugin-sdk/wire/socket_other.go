//go:build !unix

package wire

import "net"

// Unpolled returns the connection: this system waits in the runtime's poller.
func Unpolled(c net.Conn) (net.Conn, error) { return c, nil }
