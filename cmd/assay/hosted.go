package main

import (
	"crypto"
	"os"
	"path/filepath"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
)

// vouch signs paper and live runs with the service's key as they end; nil without a key. What was not signed
// is told, and left to governance hosted: the run has ended all the same.
func (s *service) vouch(cfg config, store *artifact.Store) func(string, time.Time) {
	key := cfg.control.signKey
	if key == nil {
		return nil
	}
	return func(id string, ended time.Time) {
		if err := signRun(cfg.stateDir, store.Dir(id), id, ended, key); err != nil {
			s.logger.Warn("the run is not signed: sign it with governance hosted", "run_id", id, "error", err)
		}
	}
}

// signRun signs the files of a run, and keeps the statement where lab candidate pack looks for it.
func signRun(stateDir, folder, id string, ended time.Time, key crypto.Signer) error {
	report, err := os.ReadFile(filepath.Join(folder, "report.json"))
	if err != nil {
		return err
	}
	metadata, err := os.ReadFile(filepath.Join(folder, "metadata.json"))
	if err != nil {
		return err
	}
	env, err := bundle.SignRun(id, report, metadata, ended, key)
	if err != nil {
		return err
	}
	text, err := digest.JCS(env)
	if err != nil {
		return err
	}
	path := bundle.HostedPath(stateDir, id)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return file.Write(path, text, 0o644)
}
