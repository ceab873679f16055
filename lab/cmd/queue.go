package cmd

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/queue"
)

// codeQueue is of a queue that cannot be reached or used.
const codeQueue = "QUEUE_UNREACHABLE"

// linkOptions are the flags of commands that reach a queue.
type linkOptions struct {
	TokenFile string `flag:"token-file" usage:"file with the token of the queue" complete:"file"`
	NKeyFile  string `flag:"nkey-file" usage:"file with the seed of your NKEY for the queue" complete:"file"`
	CA        string `flag:"tls-ca" usage:"certificates by which the queue's is checked (PEM)" complete:"file"`
	Cert      string `flag:"tls-cert" usage:"your certificate for the queue (PEM)" complete:"file"`
	Key       string `flag:"tls-key" usage:"the private key of --tls-cert (PEM)" complete:"file"`
}

// link connects to the queue that a flag names.
func (o linkOptions) link(ctx context.Context, flag, address, name string) (*queue.Link, error) {
	l, err := queue.Connect(ctx, address, queue.ConnectOptions{Name: name, TokenFile: o.TokenFile,
		NKeyFile: o.NKeyFile, CA: o.CA, Cert: o.Cert, Key: o.Key})
	if err != nil {
		return nil, request.Errorf(codeQueue, "%s: %w", flag, err).With("flag", flag)
	}
	return l, nil
}

// serveOptions are the flags of lab queue serve.
type serveOptions struct {
	Listen    string `flag:"listen" default:"127.0.0.1:4222" usage:"HOST:PORT; an address beyond this machine needs a token, NKEYs or certificates"`
	Folder    string `flag:"folder" usage:"where the queue keeps its streams (default: queue in the state directory)" complete:"folder"`
	TokenFile string `flag:"token-file" usage:"file with the token that clients need" complete:"file"`
	NKeys     string `flag:"nkeys" usage:"file with the public NKEYs that may come in, one a line" complete:"file"`
	CA        string `flag:"tls-ca" usage:"clients need a certificate by one of these (PEM)" complete:"file"`
	Cert      string `flag:"tls-cert" usage:"certificate of the queue (PEM)" complete:"file"`
	Key       string `flag:"tls-key" usage:"the private key of --tls-cert (PEM)" complete:"file"`
}

func queueCommand(a *App) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a queue of trials until it is interrupted",
		Long: "Serve runs a NATS server with JetStream in this process, by which workers get the trials of " +
			"searches. What\n" +
			"it keeps may be removed while no search runs: the truth is the folder of each search.",
		Example: Examples("lab queue serve",
			"lab queue serve --listen 10.0.0.5:4222 --token-file token --tls-cert queue.pem "+
				"--tls-key queue.key"),
	}
	a.Bind(c, &o)
	a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) {
		s, err := queue.Serve(queue.ServeOptions{Listen: o.Listen, TokenFile: o.TokenFile, NKeysFile: o.NKeys,
			CA: o.CA, Cert: o.Cert, Key: o.Key,
			Dir: FirstOf(o.Folder, filepath.Join(a.StateDir, "queue"))})
		if err != nil {
			return Outcome{}, request.Errorf(request.CodeUsage, "%w", err)
		}
		defer s.Close()
		a.say("the queue is at %s", s.URL())
		<-ctx.Done()
		return Outcome{Result: served{s.URL()}, Print: func(io.Writer) {}}, nil
	})
	return a.Group("queue", "Serve a queue of trials for workers", "", c)
}

// served is the result of lab queue serve --json.
type served struct {
	URL string `json:"url"`
}

// workerOptions are the flags of lab worker.
type workerOptions struct {
	linkOptions
	Join      string        `flag:"join" usage:"address of the queue, nats://HOST:PORT or tls://HOST:PORT"`
	Allow     []string      `flag:"allow" usage:"public key of a submitter whose programs are executed; may be repeated" complete:"file"`
	Workers   int           `flag:"workers" usage:"how many trials are played side by side (default: number of CPUs)" min:"1"`
	Name      string        `flag:"name" usage:"name among the workers (default: that of the machine and the process)"`
	LostAfter time.Duration `flag:"lost-after" default:"30s" usage:"how long a worker may be silent before its trial goes to another one"`
}

func workerCommand(a *App) *cobra.Command {
	var o workerOptions
	c := &cobra.Command{
		Use:   "worker",
		Short: "Play trials of searches on other machines until it is interrupted",
		Long: "Worker takes trials from a queue and plays them in the sandbox. It executes only " +
			"programs of jobs that\n" +
			"one of the keys of --allow has signed, and only for submitters with exactly this lab.",
		Example: Examples("lab worker --join nats://127.0.0.1:4222 --allow keys/me.pub",
			"lab worker --join tls://10.0.0.5:4222 --token-file token --tls-ca ca.pem --allow me.pub "+
				"--workers 4"),
	}
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) { return work(ctx, a, o) })
}

func work(ctx context.Context, a *App, o workerOptions) (Outcome, error) {
	if o.Join == "" {
		return Outcome{}, Usage("--join", "--join wants the address of a queue: lab queue serve prints it")
	}
	if o.LostAfter < time.Second {
		return Outcome{}, Usage("--lost-after", "--lost-after must be at least 1s")
	}
	allow, err := allowed(o.Allow)
	if err != nil {
		return Outcome{}, err
	}
	engine, err := a.engine()
	if err != nil {
		return Outcome{}, err
	}
	host, _ := os.Hostname()
	name := FirstOf(o.Name, host+"-"+strconv.Itoa(os.Getpid()))
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return Outcome{}, Usage("--name", "%q: a name is letters, digits, - and _", name)
	}
	dir, err := filepath.Abs(filepath.Join(a.StateDir, "worker"))
	if err != nil {
		return Outcome{}, err
	}
	l, err := o.link(ctx, "--join", o.Join, name)
	if err != nil {
		return Outcome{}, err
	}
	defer l.Close()
	done := workDone{Name: name}
	if o.Workers == 0 {
		o.Workers = runtime.NumCPU()
	}
	defer a.Employ(o.Workers, 0)()
	a.say("%s plays %d trials side by side; Ctrl-C ends it, and others take over what it plays", name,
		o.Workers)
	done.Played, err = queue.Work(ctx, l, queue.WorkOptions{Dir: dir, ID: name, Workers: o.Workers,
		Allow: allow, Engine: engine, Sandbox: sandbox.Mode(a.Sandbox),
		LostAfter: o.LostAfter, Logger: a.Logger,
		Played: func(d queue.Doing, code string) {
			if code != "" {
				code = "  " + code
			}
			a.say("%s  %s%s", d.Slug, d.Number(), code)
		}})
	return Outcome{Result: done, Print: func(w io.Writer) {
		fmt.Fprintf(w, "%d trials played\n", done.Played)
	}}, err
}

// workDone is the result of lab worker --json.
type workDone struct {
	Name   string `json:"name"`
	Played int    `json:"played"`
}

// allowed reads the public keys of submitters.
func allowed(files []string) (list []*ecdsa.PublicKey, err error) {
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, Usage("--allow", "--allow: %v", err)
		}
		key, err := dsse.ParseP256(text)
		if err != nil {
			return nil, Usage("--allow", "--allow %s: %v", path, err)
		}
		list = append(list, key)
	}
	if len(list) == 0 {
		return nil, Usage("--allow", "--allow wants the public key of a submitter: governance keys new "+
			"makes a pair, and a worker executes what the private half signs")
	}
	return list, nil
}

// workersOptions are the flags of lab workers.
type workersOptions struct {
	linkOptions
	On string `flag:"on" usage:"address of the queue, nats://HOST:PORT or tls://HOST:PORT"`
}

func workersCommand(a *App) *cobra.Command {
	var o workersOptions
	c := &cobra.Command{
		Use:   "workers",
		Short: "Show who plays which trials of a queue, and what waits",
		Long: "Workers lists the workers of a queue with the trials that they play now, and the tasks " +
			"that wait.",
		Example: Examples("lab workers --on nats://127.0.0.1:4222"),
	}
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) {
		if o.On == "" {
			return Outcome{}, Usage("--on", "--on wants the address of a queue: lab queue serve prints it")
		}
		l, err := o.link(ctx, "--on", o.On, "lab workers")
		if err != nil {
			return Outcome{}, err
		}
		defer l.Close()
		view, err := l.Look(ctx)
		if err != nil {
			return Outcome{}, request.Errorf(codeQueue, "--on: %w", err).With("flag", "--on")
		}
		return Outcome{Result: view, Print: func(w io.Writer) { printWorkers(w, view, a.now()) }}, nil
	})
}

func printWorkers(w io.Writer, view *queue.Overview, now time.Time) {
	if len(view.Workers) == 0 {
		fmt.Fprintln(w, "no worker")
	} else {
		rows := [][]string{{"WORKER", "LAB", "SLOTS", "PLAYED", "PLAYS NOW"}}
		for _, s := range view.Workers {
			var doing []string
			for _, d := range s.Doing {
				doing = append(doing, fmt.Sprintf("%s %s for %s", d.Slug, d.Number(),
					now.Sub(d.Since).Round(time.Second)))
			}
			rows = append(rows, []string{s.ID, s.Engine[:12], strconv.Itoa(s.Slots), strconv.Itoa(s.Played),
				strings.Join(doing, ", ")})
		}
		Table(w, rows)
	}
	for _, q := range view.Queue {
		note := ""
		if !isServed(view, q) {
			note = ": no worker has this lab and allows this key"
		}
		fmt.Fprintf(w, "%d tasks of lab %s, signed by %s%s\n", q.Tasks, q.Engine[:12], q.Signer[:12], note)
	}
}

// isServed reports whether a worker takes such tasks.
func isServed(view *queue.Overview, q queue.Waiting) bool {
	for _, s := range view.Workers {
		for _, id := range s.Allows {
			if strings.HasPrefix(s.Engine, q.Engine) && strings.HasPrefix(id, q.Signer) {
				return true
			}
		}
	}
	return false
}

// onOptions are the flags of commands that let the workers of a queue play.
type onOptions struct {
	On      string `flag:"on" usage:"address of a queue, nats://HOST:PORT: its workers play what there is to play"`
	SignKey string `flag:"sign-key" usage:"file of your private key, which the workers of --on allow (SERVICE_LAB_SIGN_KEY)" complete:"file"`
	linkOptions
}

// submit lets the workers of --on play what a submission asks for until end is called. The name is that of
// the command.
func (o onOptions) submit(ctx context.Context, a *App, name string,
	in queue.Submission) (_ *queue.Submitter, end func(), err error) {
	key, err := signingKey(a, &planeOptions{SignKey: o.SignKey})
	if err != nil {
		return nil, nil, err
	}
	if key == nil {
		return nil, nil, Usage("--sign-key",
			"--on needs --sign-key: workers execute only what a key that they allow has signed")
	}
	l, err := o.link(ctx, "--on", o.On, name)
	if err != nil {
		return nil, nil, err
	}
	in.Key, in.Logger = key, a.Logger
	player, err := queue.Submit(ctx, l, in)
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return player, func() {
		if err := player.Close(); err != nil {
			a.Logger.Warn("the queue keeps the job a little longer", "error", err)
		}
		l.Close()
	}, nil
}
