package hosttest

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Bucket is a bucket of a store with the interface of S3: versitygw over a folder of the test.
type Bucket struct {
	URL string // of the store
	dir string
}

const (
	bucketName   = "evidence"
	bucketKey    = "AKIATESTSTORE"
	bucketSecret = "a-secret-of-the-test-store"
)

var buildStore = sync.OnceValues(func() (string, error) { return Tool("buckets/server", "versitygw") })

// OpenBucket starts a store that ends with the test. Where its modules cannot be had the test is skipped.
func OpenBucket(t testing.TB) *Bucket {
	t.Helper()
	program, err := buildStore()
	if err != nil {
		t.Skipf("versitygw cannot be built here: %v", err)
	}
	b := &Bucket{dir: t.TempDir()}
	attributes := t.TempDir()
	if err := os.Mkdir(filepath.Join(b.dir, bucketName), 0o700); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	at := Serve(t, func(host, port string) *exec.Cmd {
		return exec.Command(program, "--port", host+":"+port, "--access", bucketKey, "--secret", bucketSecret,
			"--quiet", "posix", "--sidecar", attributes, b.dir)
	}, func(at string) error {
		answer, err := client.Get("http://" + at)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
	b.URL = "http://" + at
	return b
}

// Address is the bucket with a prefix.
func (b *Bucket) Address() string { return "s3://" + bucketName + "/assay" }

// Env is what the AWS tools are told of the store and its account.
func (b *Bucket) Env() map[string]string {
	return map[string]string{"AWS_ENDPOINT_URL_S3": b.URL, "AWS_ACCESS_KEY_ID": bucketKey,
		"AWS_SECRET_ACCESS_KEY": bucketSecret, "AWS_REGION": "us-east-1"}
}

// Getenv looks a variable of Env up.
func (b *Bucket) Getenv(name string) string { return b.Env()[name] }

// Path is where the store keeps a file below Address, for tests that spoil one behind its back.
func (b *Bucket) Path(name string) string {
	return filepath.Join(b.dir, bucketName, "assay", filepath.FromSlash(name))
}
