package bucket

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

func nothing(string) string { return "" }

// TestAddress: what is no address is refused before anything is asked, and no secret is printed.
func TestAddress(t *testing.T) {
	for _, text := range []string{"", "evidence", "s3://", "s3:///runs", "s3://b/../c", "s3://b/a//c",
		"http://b/c"} {
		if _, err := Open(text, nothing); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for text, want := range map[string]string{"s3://b": "s3://b", "s3://b/": "s3://b", "s3://b/a/c/": "s3://b/a/c"} {
		b, err := Open(text, nothing)
		if err != nil || b.String() != want {
			t.Errorf("%q: %v, %v", text, b, err)
		}
	}
	for _, at := range []string{"localhost:9000", "ftp://host", "https://host/path", "http://user:word@ho st"} {
		_, err := Open("s3://b", func(name string) string {
			return map[string]string{"AWS_ENDPOINT_URL": at, "AWS_SECRET_ACCESS_KEY": "hidden"}[name]
		})
		if err == nil || !strings.Contains(err.Error(), "AWS_ENDPOINT_URL") ||
			strings.Contains(err.Error(), "word") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", at, err)
		}
	}
}

// TestBucket: a bucket holds files as a folder does, and says what is wrong with it.
func TestBucket(t *testing.T) {
	ring.Proof(t, "builds an S3 store")
	store := hosttest.OpenBucket(t)
	b, err := Open(store.Address(), store.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	ctx, large := t.Context(), bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	for name, content := range map[string][]byte{"runs/a/x.csv": []byte("old"), "empty": {}, "large": large} {
		for _, text := range [][]byte{[]byte("before"), content} {
			if err := b.Put(ctx, name, text); err != nil {
				t.Fatal(err)
			}
		}
		got, err := b.Get(ctx, name, int64(len(content)))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		info, err := fs.Stat(b.FS(ctx), name)
		if err != nil || info.Size() != int64(len(content)) || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := b.Get(ctx, "large", 10); err == nil {
		t.Error("more than the limit is read")
	}
	for _, name := range []string{"runs/a/none", "runs", "runs/a"} {
		if _, err := b.Get(ctx, name, 10); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := fs.Stat(b.FS(ctx), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"../x", "/x", "", "a/./b"} {
		if err := b.Put(ctx, name, nil); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("put %q: %v", name, err)
		}
		if _, err := b.FS(ctx).Open(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("open %q: %v", name, err)
		}
	}
	other, err := Open("s3://no-such-bucket", store.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{other.Check(ctx), other.Put(ctx, "x", nil)} {
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no-such-bucket") {
			t.Error(err)
		}
	}
	if err := b.Check(ctx); err != nil {
		t.Error(err)
	}
	foreign, err := Open(store.Address(), func(name string) string {
		if name == "AWS_SECRET_ACCESS_KEY" {
			return "another-secret"
		}
		return store.Getenv(name)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.Get(ctx, "empty", 1); !errors.Is(err, fs.ErrPermission) ||
		strings.Contains(err.Error(), "another-secret") {
		t.Error(err)
	}
	if err := os.Remove(store.Path("large")); err != nil {
		t.Fatal("a test cannot spoil a file:", err)
	}
}
