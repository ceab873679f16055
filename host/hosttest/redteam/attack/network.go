//go:build linux

package attack

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long an attempt to connect waits.
const patience = 150 * time.Millisecond

// networks are attempts to talk to anybody outside.
func networks() []Attack {
	dial := func(name, how, fact, network string, address func(*Target) string) Attack {
		return Attack{Name: name, How: how, Fact: "listener " + fact,
			Network: strings.HasPrefix(network, "tcp") || network == "udp",
			Do: func(t *Target) (string, error) {
				c, err := net.DialTimeout(network, address(t), patience)
				if err != nil {
					return "", err
				}
				defer c.Close()
				_, err = c.Write([]byte("hello"))
				return "", err
			}}
	}
	local := func(host string, port func(*Target) int) func(*Target) string {
		return func(t *Target) string { return net.JoinHostPort(host, strconv.Itoa(port(t))) }
	}
	return []Attack{
		dial("connect-to-a-path-socket", "connects to a socket in the user's folder", "path socket", "unix",
			func(t *Target) string { return t.PathSocket }),
		dial("send-to-a-path-socket", "sends a datagram to a socket in the user's folder", "datagram socket",
			"unixgram",
			func(t *Target) string { return t.Datagram }),
		dial("connect-to-an-abstract-socket", "connects to an abstract socket", "abstract socket", "unix",
			func(t *Target) string { return "@" + t.Abstract }),
		dial("connect-by-tcp", "connects to a port of loopback", "tcp4", "tcp4", local("127.0.0.1",
			func(t *Target) int { return t.TCP4 })),
		dial("connect-by-tcp-over-ipv6", "connects to a port of loopback by IPv6", "tcp6", "tcp6",
			local("::1", func(t *Target) int { return t.TCP6 })),
		dial("send-by-udp", "sends a datagram to a port of loopback", "udp", "udp", local("127.0.0.1",
			func(t *Target) int { return t.UDP })),
		{Name: "listen-on-tcp", How: "listens on a port of loopback", Fact: "plugin listens", Network: true,
			Do: func(t *Target) (string, error) {
				l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(t.FreePort)))
				if err == nil {
					t.Kept = append(t.Kept, l)
				}
				return "", err
			}},
		{Name: "bind-an-abstract-socket", How: "binds an abstract socket that others could find",
			Fact: "plugin binds", Network: true,
			Do: func(t *Target) (string, error) {
				l, err := net.Listen("unix", "@"+t.Mark+"-bound")
				if err == nil {
					t.Kept = append(t.Kept, l)
				}
				return "", err
			}},
	}
}

// sockets are attempts to open what leads out.
func sockets() []Attack {
	return []Attack{
		{Name: "raw-socket", How: "opens a raw socket and one of packets", Do: func(*Target) (string, error) {
			return oneOf([]int{unix.AF_INET, unix.AF_INET6, unix.AF_PACKET}, func(family int) error {
				return socket(family, unix.SOCK_RAW, unix.IPPROTO_ICMP)
			})
		}},
		{Name: "vsock", How: "opens a socket to the virtual machine's host",
			Do: func(t *Target) (string, error) {
				fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
				if err == nil {
					defer unix.Close(fd)
					_ = unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_HOST, Port: uint32(t.Vsock)})
				}
				return "", err
			}},
		{Name: "netlink", How: "opens a socket to the kernel's networking",
			Do: func(*Target) (string, error) {
				return "", socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)
			}, Network: true},
		{Name: "kernel-crypto-socket", How: "opens a socket to the kernel's cryptography",
			Do: func(*Target) (string, error) {
				return "", socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)
			}},
		{Name: "internet-socket", How: "opens a socket of any internet protocol", Network: true,
			Do: func(*Target) (string, error) {
				return oneOf([]int{unix.AF_INET, unix.AF_INET6}, func(family int) error {
					return socket(family,
						unix.SOCK_STREAM, 0)
				})
			}},
		{Name: "socket-of-every-family", How: "opens a socket of any other family",
			Do: func(*Target) (string, error) {
				var open []string
				last := error(unix.EAFNOSUPPORT)
				for family := range 64 {
					switch family {
					case unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK:
						continue
					}
					for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW,
						unix.SOCK_SEQPACKET} {
						err := socket(family, kind, 0)
						if err == nil {
							open = append(open, strconv.Itoa(family))
							break
						}
						last = err
					}
				}
				if len(open) == 0 {
					return "", last
				}
				return "families " + strings.Join(open, " "), nil
			}},
		{Name: "ask-for-interfaces", How: "asks for the machine's network interfaces", Network: true,
			Do: func(*Target) (string, error) {
				list, err := net.Interfaces()
				if err != nil {
					return "", err
				}
				for _, i := range list {
					if i.Flags&net.FlagUp != 0 {
						return i.Name, nil
					}
				}
				return "", unix.ENODEV
			}},
	}
}

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// protocol are lies to the host itself. Those of the handshake send the host to a listener that is none
// of the plugin's: it is outside, where the host may go and the plugin may not.
func protocol() []Attack {
	lie := func(name, how, fact string, address func(t *Target, folder string) (string, error)) Attack {
		return Attack{Name: name, How: how, Fact: "listener " + fact, Probe: true, Alone: true,
			Do: func(t *Target) (string, error) {
				where, err := address(t, os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
				if err != nil {
					return "", err
				}
				_, _ = unix.Write(1, []byte("1|1|"+where+"|grpc|\n"))
				time.Sleep(time.Minute) // the host loses its patience before
				return "", nil
			}}
	}
	return []Attack{
		lie("lie-about-a-path", "names a socket in the user's folder as its own", "path socket",
			func(t *Target, _ string) (string, error) { return "unix|" + t.PathSocket, nil }),
		lie("lie-about-a-port", "names a port of loopback as its own", "tcp4",
			func(t *Target, _ string) (string, error) {
				return fmt.Sprintf("tcp|127.0.0.1:%d", t.TCP4),
					nil
			}),
		lie("lie-about-an-abstract-socket", "names an abstract socket as its own", "abstract socket",
			func(t *Target, _ string) (string, error) { return "unix|@" + t.Abstract, nil }),
		lie("lie-by-climbing", "names a path out of its folder by .. as its own", "path socket",
			func(t *Target, folder string) (string, error) {
				return "unix|" + folder + strings.Repeat("/..", 8) + t.PathSocket, nil
			}),
		lie("lie-by-a-link",
			"names a symbolic link in its folder as its own, which leads the host to another socket",
			"path socket", func(t *Target, folder string) (string, error) {
				return "unix|" + folder + "/link", os.Symlink(t.PathSocket, "link")
			}),
		{Name: "forge-the-report",
			How:  "writes a forged report of the sandbox to every descriptor that it was handed",
			Fact: "level", Do: func(*Target) (string, error) {
				written := ""
				for fd := 3; fd < 64; fd++ {
					var s unix.Stat_t
					// Its own sockets and the runtime's event descriptors stay as they are.
					if unix.Fstat(fd, &s) != nil || s.Mode&unix.S_IFMT != unix.S_IFIFO {
						continue
					}
					_ = unix.SetNonblock(fd, true)
					if _, err := unix.Write(fd,
						[]byte(`{"missing":["forged"],"ready":true}`+"\n")); err == nil {
						written += fmt.Sprintf("%d ", fd)
					}
				}
				if written == "" {
					return "", unix.EBADF
				}
				return "descriptors " + written, nil
			}},
	}
}
