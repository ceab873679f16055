package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
)

// The key of one person who works alone: the plane makes it and keeps it in its folder.
const (
	ownerKeyName   = "owner.key"
	ownerPrincipal = "owner of this folder"
	ownerValid     = "365d"
)

// ownerTrust is the trust.json of the policy of one person: a key in the plane's own folder that
// packs, replays and plays the days after the seal. It is made where there is no trust.json, and
// made to last longer where one that has no other key has expired.
func (c *serveConfig) ownerTrust(t *bundle.Trust, w World) (*bundle.Trust, error) {
	path := filepath.Join(c.stateDir, store.KeyDir, ownerKeyName)
	alone := t != nil && len(t.Keys) == 1 && t.Keys[0].Principal == ownerPrincipal
	if c.trustFile != "" || t != nil && !(alone && t.Expired(w.Now())) {
		return t, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	key, err := dsse.Generate()
	if err != nil {
		return nil, err
	}
	if err := dsse.WriteKey(path, key); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	o := trustOptions{
		File: filepath.Join(c.stateDir, "trust.json"), Pub: dsse.PublicPath(path),
		Principal: ownerPrincipal, Roles: []string{bundle.TrustLab, bundle.TrustReplay, bundle.TrustShadow},
		Valid: ownerValid, Expires: ownerValid,
	}
	w.Out = io.Discard
	if err := o.run(w); err != nil {
		return nil, fmt.Errorf("the key of the owner: %w", err)
	}
	text, err := os.ReadFile(o.File)
	if err != nil {
		return nil, err
	}
	made, refused := bundle.ParseTrust(text)
	if refused != nil {
		return nil, refused
	}
	return made, nil
}

// engines are the SHA-256 of the labs whose runs count: of the named files, else of the lab beside
// this program, if there is one.
func (c *serveConfig) engines() ([]string, error) {
	files := c.labs
	if len(files) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		beside := filepath.Join(filepath.Dir(self), "lab")
		if info, err := os.Stat(beside); err != nil || !info.Mode().IsRegular() {
			return nil, nil
		}
		files = []string{beside}
	}
	var list []string
	for _, name := range files {
		sum, err := digest.File(name)
		if err != nil {
			return nil, usagef("--lab: %v", err)
		}
		list = append(list, sum)
	}
	return list, nil
}

// namedPolicy is a policy that is built in, nil for the name of a file.
func namedPolicy(name string) *policy.Policy {
	if name == "" {
		return nil
	}
	return policy.Named(name)
}
