package project

import (
	"os"
	"path/filepath"
	"testing"
)

func TestVersionIsReadBack(t *testing.T) {
	want := SDK{"1.0.0", "bar-v1/0123456789abcdef",
		"73ecd0e62e34dd161ca0042e02f13f6e906753116e574689eed664077d6b8905"}
	if got, err := DecodeSDK(want.Encode()); err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
}

func FuzzDecodeSDK(f *testing.F) {
	f.Add(SDK{"1.0.0", "bar-v1/0123456789abcdef",
		"73ecd0e62e34dd161ca0042e02f13f6e906753116e574689eed664077d6b8905"}.Encode())
	f.Add([]byte("sdk 1\nsdk 2\nsim\nsha256 short"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := DecodeSDK(text)
		if err != nil {
			return
		}
		if again, err := DecodeSDK(s.Encode()); err != nil || again != s {
			t.Errorf("%q: %+v becomes %+v, %v", text, s, again, err)
		}
	})
}

// The SDK inside the folder is no source of the strategy, and it is no checkout.
func TestSDKIsNoSourceOfTheStrategy(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hash := func() string {
		t.Helper()
		sum, err := SourceHash(dir)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	write("strategy.go", "package main\n")
	alone := hash()
	write("sdk/mine.go", "package sdk\n")
	if hash() == alone {
		t.Error("a folder sdk of the author's own does not count")
	}
	write("sdk/go.mod", "module "+Module+"\n")
	write("sdk/VERSION", "sdk 1.0.0\n")
	if hash() != alone {
		t.Error("the SDK counts")
	}
	if root := Checkout(filepath.Join(dir, "sdk")); root != "" {
		t.Errorf("%s is taken for a checkout", root)
	}
}
