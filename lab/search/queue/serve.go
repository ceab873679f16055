package queue

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// ServeOptions are those of the server in this process.
type ServeOptions struct {
	// Listen is HOST:PORT; port 0 takes a free one.
	Listen string
	// Dir keeps the streams.
	Dir string
	// TokenFile has the token that clients need, NKeysFile the public NKEYs that may come in, one a line.
	TokenFile, NKeysFile string
	// Cert and Key make it TLS; with CA clients need certificates of it.
	CA, Cert, Key string
}

// Server is a server in this process.
type Server struct{ inner *server.Server }

// Serve starts a server. An address that other machines can reach needs a token, NKEYs or certificates of
// clients.
func Serve(o ServeOptions) (*Server, error) {
	host, text, err := net.SplitHostPort(o.Listen)
	port, bad := strconv.Atoi(text)
	if err != nil || bad != nil || port < 0 || port > 65535 {
		return nil, fmt.Errorf("%q is not of the form HOST:PORT, for example 127.0.0.1:4222", o.Listen)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	options := &server.Options{ServerName: "assay", Host: host, Port: port, JetStream: true, StoreDir: o.Dir,
		NoSigs: true, NoLog: true, DisableJetStreamBanner: true}
	if err := o.secure(options); err != nil {
		return nil, err
	}
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	if !local && options.Authorization == "" && len(options.Nkeys) == 0 && !options.TLSVerify {
		return nil, errors.New("an address beyond this machine needs --token-file, --nkeys, or --tls-ca " +
			"with --tls-cert: whoever reaches the queue can have programs run that workers allow")
	}
	inner, err := server.NewServer(options)
	if err != nil {
		return nil, err
	}
	inner.Start()
	if !inner.ReadyForConnections(30 * time.Second) {
		inner.Shutdown()
		inner.WaitForShutdown()
		return nil, fmt.Errorf("the server cannot listen at %s or write into %s", o.Listen, o.Dir)
	}
	return &Server{inner}, nil
}

func (o ServeOptions) secure(to *server.Options) error {
	if o.TokenFile != "" {
		token, err := readSecret(o.TokenFile)
		if err != nil {
			return err
		}
		to.Authorization = token
	}
	if o.NKeysFile != "" {
		text, err := os.ReadFile(o.NKeysFile)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			key, _, _ := strings.Cut(line, "#")
			if key = strings.TrimSpace(key); key == "" {
				continue
			}
			if !nkeys.IsValidPublicUserKey(key) {
				return fmt.Errorf("%s: line %d is not the public NKEY of a user, which begins with U",
					o.NKeysFile, i+1)
			}
			to.Nkeys = append(to.Nkeys, &server.NkeyUser{Nkey: key})
		}
		if len(to.Nkeys) == 0 {
			return fmt.Errorf("%s has no NKEY", o.NKeysFile)
		}
	}
	if o.TokenFile != "" && o.NKeysFile != "" {
		return errors.New("a queue takes a token or NKEYs, not both")
	}
	if (o.Cert == "") != (o.Key == "") || o.CA != "" && o.Cert == "" {
		return errors.New("TLS needs a certificate and its key")
	}
	config, err := tlsConfig(o.CA, o.Cert, o.Key)
	if err != nil || config == nil {
		return err
	}
	to.TLSConfig, to.TLS, to.TLSTimeout = config, true, 10
	if o.CA != "" {
		to.TLSVerify = true
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return nil
}

// URL is the address for clients.
func (s *Server) URL() string { return s.inner.ClientURL() }

// Close ends the server; what is stored stays.
func (s *Server) Close() {
	s.inner.Shutdown()
	s.inner.WaitForShutdown()
}
