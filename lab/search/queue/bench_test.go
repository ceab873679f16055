package queue

import (
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// cpu is how long this process has computed.
func cpu(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkServe starts a server in this process, with everything that a search needs there, and ends it:
// what each search would pay that played its trials over one.
func BenchmarkServe(b *testing.B) {
	before := cpu(b)
	for range b.N {
		s, err := Serve(ServeOptions{Listen: "127.0.0.1:0", Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		l, err := Connect(b.Context(), s.URL(), ConnectOptions{})
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
		s.Close()
	}
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
}

// BenchmarkTask brings a task to its first result, with files as small as those of a trial.
func BenchmarkTask(b *testing.B) {
	s, err := Serve(ServeOptions{Listen: "127.0.0.1:0", Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	l, err := Connect(b.Context(), s.URL(), ConnectOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	c, err := l.tasks.CreateOrUpdateConsumer(b.Context(), jetstream.ConsumerConfig{Durable: "bench",
		AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		b.Fatal(err)
	}
	files := map[string][]byte{"report.json": make([]byte, 100<<10)}
	before := cpu(b)
	for b.Loop() {
		if _, err := l.js.Publish(b.Context(), taskPrefix+"a.b.c.d", encoded(b, aTask())); err != nil {
			b.Fatal(err)
		}
		m, err := c.Next()
		if err != nil {
			b.Fatal(err)
		}
		sum, err := l.putRun(b.Context(), files)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := l.results.Put(b.Context(), "a.b", encoded(b, aResult(sum))); err != nil {
			b.Fatal(err)
		}
		if err := m.DoubleAck(b.Context()); err != nil {
			b.Fatal(err)
		}
		if _, err := l.getRun(b.Context(), sum); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
}
