// Package queue plays the trials of a search on other machines, over NATS JetStream.
//
// A [Submitter] is the coordinator's side: it names a search by an epoch, puts its files into the object
// store by their hashes, signs what workers need to know as a [Job], and answers each trial as a
// request.Player: it submits a [Task] and waits for the first [Result]. A worker ([Work]) takes tasks of its
// own engine whose submitters it was told to allow, checks signature and hashes, and plays them in the
// sandbox. [Serve] is the server in this process.
//
//	assay-tasks    work queue: assay.task.<engine>.<signer>.<epoch>.<run>, until the result is in
//	assay-dead     advisories about tasks that were delivered too often
//	assay-jobs     key-value: the signed job of each epoch, for as long as its coordinator lives
//	assay-results  key-value: the first result of each task, by compare-and-set
//	assay-workers  key-value: who does what
//	assay-blobs    objects: programs and candles by their SHA-256, bundles by that of their manifest
//	assay-runs     objects: files of played trials
//
// Nothing here is the truth: that is the family's folder, which only the coordinator writes. A server
// that has lost everything costs the trials under way. Clocks decide when a message is delivered again, never
// what a trial's result is.
//
// The package imports request and what is below it.
package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The names on the server.
const (
	tasksStream  = "assay-tasks"
	deadStream   = "assay-dead"
	jobsBucket   = "assay-jobs"
	resultBucket = "assay-results"
	workerBucket = "assay-workers"
	blobBucket   = "assay-blobs"
	runBucket    = "assay-runs"

	taskPrefix = "assay.task."
	deadPrefix = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + tasksStream + "."
)

const (
	// MaxDeliveries is how often a task is given to a worker before it is given up.
	MaxDeliveries = 20
	// DefaultLostAfter is how long a worker may be silent before its trial goes to another one.
	DefaultLostAfter = 30 * time.Second

	jobLife    = 30 * time.Second
	workerLife = 15 * time.Second
	beat       = 5 * time.Second
	resultLife = 24 * time.Hour
	again      = time.Second // between two attempts to reach the server
)

// ConnectOptions are how a server is reached. Secrets come from files.
type ConnectOptions struct {
	// Name is shown by the server.
	Name string
	// TokenFile has a token, NKeyFile the seed of an NKEY.
	TokenFile, NKeyFile string
	// CA, Cert and Key are PEM files for TLS; each may be empty.
	CA, Cert, Key string
}

// Link is a connection to a server with everything that is used there.
type Link struct {
	conn                   *nats.Conn
	js                     jetstream.JetStream
	tasks                  jetstream.Stream
	dead                   jetstream.Stream
	jobs, results, workers jetstream.KeyValue
	blobs, runs            jetstream.ObjectStore
	address                string // without secrets
}

// Connect connects to a server and makes what is missing there. No error has a secret.
func Connect(ctx context.Context, address string, o ConnectOptions) (*Link, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
		return nil, errors.New("the address of a queue is nats://HOST:PORT or tls://HOST:PORT")
	}
	if u.User != nil {
		return nil, errors.New("keep secrets out of the address: name a file with a token or an NKEY")
	}
	options := []nats.Option{nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(again / 4),
		nats.ReconnectJitter(0, 0), nats.Timeout(10 * time.Second)}
	if options, err = o.secure(options); err != nil {
		return nil, err
	}
	conn, err := nats.Connect(address, options...)
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", u.Host, err)
	}
	l := &Link{conn: conn, address: u.Host}
	if err := l.prepare(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("queue %s: %w", u.Host, err)
	}
	return l, nil
}

func (o ConnectOptions) secure(options []nats.Option) ([]nats.Option, error) {
	if o.TokenFile != "" {
		token, err := readSecret(o.TokenFile)
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Token(token))
	}
	if o.NKeyFile != "" {
		option, err := nats.NkeyOptionFromSeed(o.NKeyFile)
		if err != nil {
			return nil, fmt.Errorf("%s has no seed of an NKEY", o.NKeyFile)
		}
		options = append(options, option)
	}
	config, err := tlsConfig(o.CA, o.Cert, o.Key)
	if err != nil || config == nil {
		return options, err
	}
	return append(options, nats.Secure(config)), nil
}

// readSecret reads one line from a file that nobody else may read.
func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others: chmod 600", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" || strings.ContainsAny(secret, "\r\n") {
		return "", fmt.Errorf("%s has not exactly one line", path)
	}
	return secret, nil
}

// tlsConfig is nil where no file is named.
func tlsConfig(ca, cert, key string) (*tls.Config, error) {
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("the certificate %s with its key: %w", cert, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate in PEM", ca)
		}
		config.RootCAs, config.ClientCAs = pool, pool
	}
	return config, nil
}

// prepare finds streams and buckets, or makes them. It asks first: to make what is there has the server
// write, and 200 workers that come at once would wait for each other until they give up.
func (l *Link) prepare(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if l.js, err = jetstream.New(l.conn); err != nil {
		return err
	}
	l.tasks, err = found(ctx, tasksStream, l.js.Stream, l.js.CreateOrUpdateStream, jetstream.StreamConfig{
		Name: tasksStream, Subjects: []string{taskPrefix + ">"}, Retention: jetstream.WorkQueuePolicy})
	if err != nil {
		return err
	}
	l.dead, err = found(ctx, deadStream, l.js.Stream, l.js.CreateOrUpdateStream, jetstream.StreamConfig{
		Name: deadStream, Subjects: []string{deadPrefix + ">"}, MaxAge: resultLife})
	if err != nil {
		return err
	}
	for _, b := range []struct {
		to   *jetstream.KeyValue
		name string
		life time.Duration
	}{{&l.jobs, jobsBucket, jobLife}, {&l.results, resultBucket, resultLife},
		{&l.workers, workerBucket, workerLife}} {
		*b.to, err = found(ctx, b.name, l.js.KeyValue, l.js.CreateOrUpdateKeyValue,
			jetstream.KeyValueConfig{Bucket: b.name, TTL: b.life})
		if err != nil {
			return err
		}
	}
	l.blobs, err = found(ctx, blobBucket, l.js.ObjectStore, l.js.CreateOrUpdateObjectStore,
		jetstream.ObjectStoreConfig{Bucket: blobBucket})
	if err != nil {
		return err
	}
	l.runs, err = found(ctx, runBucket, l.js.ObjectStore, l.js.CreateOrUpdateObjectStore,
		jetstream.ObjectStoreConfig{Bucket: runBucket, TTL: resultLife, Compression: true})
	return err
}

// found returns what has a name on the server, and makes it if there is nothing.
func found[T, C any](ctx context.Context, name string, find func(context.Context, string) (T, error),
	create func(context.Context, C) (T, error), as C) (T, error) {
	it, err := find(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
		return create(ctx, as)
	}
	return it, err
}

// mend makes streams and buckets again that a server has lost; those that are there stay.
func (l *Link) mend(ctx context.Context) {
	if !l.conn.IsConnected() {
		return
	}
	again := Link{conn: l.conn}
	_ = again.prepare(ctx) // whoever asked asks again
}

// Close ends the connection.
func (l *Link) Close() { l.conn.Close() }

// pause waits, or less if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
