package hosttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Postgres is a server of PostgreSQL with a folder of its own, which answers on a socket there and trusts
// whoever reaches it.
type Postgres struct {
	dir, bin string
	server   *exec.Cmd
	log      bytes.Buffer
	ended    chan error
	schemas  atomic.Int64
}

// postgresTime bounds how long a server takes to start and to end.
const postgresTime = 30 * time.Second

// PostgresOrSkip starts a server that ends with the test. Without PostgreSQL on this machine the test is
// skipped.
func PostgresOrSkip(t testing.TB) *Postgres {
	t.Helper()
	bin, err := findPostgres()
	if err != nil {
		t.Skip(err)
	}
	p, err := startPostgres(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// findPostgres returns the folder of the server's programs: Debian does not put them into PATH.
func findPostgres() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is a good one
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), found...) {
		if hasPostgres(dir) {
			return dir, nil
		}
	}
	return "", errors.New("PostgreSQL is not installed: on Debian, apt-get install postgresql")
}

func hasPostgres(dir string) bool {
	for _, name := range []string{"initdb", "postgres", "psql"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

func startPostgres(bin string) (_ *Postgres, err error) {
	p := &Postgres{bin: bin, ended: make(chan error, 1)}
	if p.dir, err = os.MkdirTemp("", "pg"); err != nil { // short: a socket's path has 108 bytes
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(p.dir))
		}
	}()
	if os.Geteuid() == 0 { // the server refuses to run as root
		if err := os.Chown(p.dir, nobody, nobody); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(p.dir, "data")
	if _, err := p.run("initdb", "-D", data, "-A", "trust", "-U", "assay", "-E", "UTF8", "--locale=C",
		"--no-sync"); err != nil {
		return nil, err
	}
	p.server = p.command(context.Background(), "postgres", "-D", data, "-k", p.dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=60", "-c", "autovacuum=off")
	p.server.Stdout, p.server.Stderr = &p.log, &p.log
	if err := p.server.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.server.Wait() }()
	for end := time.Now().Add(postgresTime); ; time.Sleep(20 * time.Millisecond) {
		if _, err = p.Query("SELECT 1"); err == nil {
			return p, nil
		}
		if time.Now().After(end) {
			return nil, errors.Join(err, p.Stop())
		}
	}
}

// Stop ends the server and removes its folder.
func (p *Postgres) Stop() error {
	err := p.server.Process.Signal(syscall.SIGINT) // the sessions are ended
	select {
	case left := <-p.ended:
		if left != nil {
			err = errors.Join(err, fmt.Errorf("%w: %s", left, p.log.String()))
		}
	case <-time.After(postgresTime):
		err = errors.Join(err, errors.New("the server does not end"), p.server.Process.Kill(), <-p.ended)
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// Query runs a text of SQL as the owner of everything, and returns what it gives, a row a line.
func (p *Postgres) Query(text string) (string, error) {
	return p.run("psql", "-h", p.dir, "-U", "assay", "-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1", "-c",
		text)
}

// NewSchema makes an empty schema and returns the address under which it is the whole database.
func (p *Postgres) NewSchema() (address string, err error) {
	name := fmt.Sprintf("s%d", p.schemas.Add(1))
	if _, err := p.Query("CREATE SCHEMA " + name); err != nil {
		return "", err
	}
	return p.Address(name), nil
}

// Address is where a schema is the whole database.
func (p *Postgres) Address(schema string) string {
	u := url.URL{Scheme: "postgres", User: url.User("assay"), Path: "/postgres",
		RawQuery: url.Values{"host": {p.dir}, "search_path": {schema}}.Encode()}
	return u.String()
}

func (p *Postgres) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = p.dir, serverAttributes()
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=" + p.bin + ":/usr/bin:/bin"}
	return cmd
}

func (p *Postgres) run(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), postgresTime)
	defer cancel()
	text, err := p.command(ctx, name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, text)
	}
	return string(bytes.TrimSpace(text)), nil
}
