// Package verify is the offline verifier behind `governance verify`: it takes the files
// that the lab and the control plane leave behind and the keys that its caller trusts,
// and reports step by step what holds.
//
// It trusts nothing that is in the files: ids and digests are computed again from the
// bytes, the leaf from the envelope and the key, the root from the leaf. It goes on to
// the last step whatever fails, and ends with what it has not checked. It has no
// network code and reads no clock; the only files that it opens itself are artifacts,
// below a root that its caller names.
//
// The vectors in ../testdata/vectors are a valid hand-over and its forgeries, each with
// the steps that must fail; index.json lists them, and `go test -update` makes them again.
package verify

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/translog"
)

// Options are the trusted values of a verification, each the content of the file that an
// option of the command names; nil where the option was not given.
type Options struct {
	Key         []byte // --key: governance.pub, PEM
	TrustedRoot []byte // --trusted-root: trusted_root.json
	Trust       []byte // --trust: trust.json
	// Artifacts is --artifact-root, which holds runs/; nil leaves artifacts unread.
	Artifacts fs.FS
	// Since are checkpoints that were kept earlier: the log of the seals must continue them, which takes
	// the answer to /log/consistency among the files.
	Since []File
	// Witnesses are those who must have cosigned the checkpoints of the seals.
	Witnesses translog.Quorum
}

// verifier is one verification under way.
type verifier struct {
	*Report
	opts  Options
	key   *ledger.Key
	logs  []ledger.TrustedLog
	trust *bundle.Trust
	// chain is the changes of keys that were given, known the keys that they lead to.
	chain *ledger.Chain
	known *ledger.Known

	bundles   []*candidate
	unread    bool // a bundle was given that cannot be read
	seals     []*sealed
	proofs    []File
	grown     []*grown
	envelopes []File
	artifacts []File
}

// Verify checks the files against each other and against the trusted values of the
// options. All steps are taken, whatever fails before.
func Verify(files []File, opts Options) *Report {
	v := &verifier{Report: &Report{}, opts: opts}
	v.readTrusted()
	for _, f := range files {
		v.read(f)
	}
	v.checkChain()
	for _, c := range v.bundles {
		v.checkBundle(c)
	}
	for _, s := range v.seals {
		v.checkSeal(s)
	}
	v.checkProofFiles()
	v.checkSince()
	v.checkArtifactFiles()
	v.checkAttestations()
	v.checkUse()
	v.limits()
	return v.Report
}

// readTrusted reads what the caller trusts. A value that cannot be read fails: to go on
// as if it had not been given would check less than was asked for.
func (v *verifier) readTrusted() {
	var err error
	if v.opts.Key != nil {
		if v.key, err = ledger.ParseKey(v.opts.Key); err != nil {
			v.step("read --key", mismatch("", "a P-256 public key in PEM", err.Error()))
		}
	}
	if v.opts.TrustedRoot != nil {
		if v.logs, err = ledger.ParseTrustedRoot(v.opts.TrustedRoot); err != nil {
			v.step("read --trusted-root", mismatch("", "a Sigstore trusted root", err.Error()))
		}
	}
	if v.opts.Trust != nil {
		trust, refused := bundle.ParseTrust(v.opts.Trust)
		if v.trust = trust; refused != nil {
			v.step("read --trust", mismatch("", bundle.SchemaTrust, refused.Error()))
		}
	}
}

// read parses one file strictly and keeps it with its kind.
func (v *verifier) read(f File) {
	var err error
	name := "strict parse " + f.Name
	switch kindOf(f) {
	case bundleFile:
		var c *candidate
		if c, err = readCandidate(f); c != nil {
			v.bundles = append(v.bundles, c)
		} else {
			v.unread = true
		}
	case receiptFile:
		var s *sealed
		if s, err = readReceipt(f); err == nil {
			v.seals = append(v.seals, s)
		}
	case sealFile:
		var seal *ledger.Seal
		if seal, err = ledger.ParseSeal(f.Data); err == nil {
			v.seals = append(v.seals, &sealed{name: f.Name, seal: seal, sigstore: &seal.Sigstore})
		}
	case sigstoreFile:
		var s *ledger.Sigstore
		if s, err = ledger.ParseSigstore(f.Data); err == nil {
			v.seals = append(v.seals, &sealed{name: f.Name, sigstore: s})
		}
	case proofFile:
		_, err = translog.ParseProof(string(f.Data))
		v.proofs = append(v.proofs, f)
	case chainFile:
		v.chain, err = ledger.ParseChain(f.Data)
	case extensionFile:
		var g *grown
		if g, err = readGrown(f); err == nil {
			v.grown = append(v.grown, g)
		}
	case envelopeFile:
		_, err = readEnvelope(f.Data)
		v.envelopes = append(v.envelopes, f)
	default:
		v.artifacts = append(v.artifacts, f)
		return
	}
	if err != nil {
		err = mismatch("", "a well-formed file", err.Error())
	}
	v.step(name, err)
}

// checkProofFiles compares each tlog-proof with the seals that were given.
func (v *verifier) checkProofFiles() {
	for _, f := range v.proofs {
		err := error(mismatch("", "a seal or Sigstore bundle of the entry that it proves", "none"))
		for _, s := range v.seals {
			if err = v.checkProof(s, string(f.Data)); err == nil {
				break
			}
		}
		v.step("tlog-proof agrees "+f.Name, err)
	}
}

// checkArtifactFiles looks a file of any other kind up among the subjects of the seals.
func (v *verifier) checkArtifactFiles() {
	for _, f := range v.artifacts {
		sum := digest.SHA256Hex(f.Data)
		err := error(mismatch("", "a subject of a seal", "sha256 "+sum))
		for _, s := range v.seals {
			if s.statement != nil && s.verified && s.statement.Names(sum) {
				err = nil
			}
		}
		v.step("sealed artifact "+f.Name, err)
	}
}

// checkUse fails when keys were given that nothing could be checked with: whoever gives
// them expects a seal to be verified.
func (v *verifier) checkUse() {
	used := v.opts.TrustedRoot == nil || len(v.grown) > 0
	if len(v.seals) == 0 && (v.opts.Key != nil || !used) {
		v.step("seal", mismatch("", "a receipt, seal or Sigstore bundle", "none that can be read"))
	}
	if len(v.Steps) == 0 {
		v.step("files", errors.New("no file was given"))
	}
}

// limits lists what nothing above can show.
func (v *verifier) limits() {
	if len(v.bundles) == 0 {
		v.skip("the candidate bundle: none was given that can be read")
	}
	if len(v.seals) == 0 {
		v.skip("that a control plane accepted anything: no seal was given that can be read")
	}
	for _, c := range v.bundles {
		if v.opts.Artifacts == nil && len(c.artifacts) > 0 {
			v.skip("%s of %s: no --artifact-root was given", plural(len(c.artifacts), "artifact"), c.name)
		}
	}
	if slices.ContainsFunc(v.seals, func(s *sealed) bool { return s.receipt != nil }) {
		v.skip("the receipt's facts, rungs, warnings and promotion state: only its seal is signed")
	}
	if len(v.envelopes) == 0 {
		v.skip("who signed the candidate: no attestation was given")
	} else {
		v.skip("that attestations were made when they say, and are in force today")
	}
	if v.opts.Witnesses.Need == 0 {
		v.skip("that others see the same log")
	}
	v.skip("that the runs are true: a seal says which bytes were accepted, not that they are right")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// File is one file to verify: its name, for the report, and its bytes.
type File struct {
	Name string
	Data []byte
}

type kind int

const (
	artifactFile kind = iota // anything that is none of the others
	bundleFile
	receiptFile
	sealFile
	sigstoreFile
	proofFile
	extensionFile
	chainFile
	envelopeFile
)

// kindOf is what a file is. What its name promises comes first, so that a spoilt
// candidate_bundle.json fails as one; other names are judged by their content.
func kindOf(f File) kind {
	switch name := path.Base(strings.ReplaceAll(f.Name, `\`, "/")); {
	case strings.HasSuffix(name, ".dsse.json"):
		return envelopeFile
	case strings.HasSuffix(name, ".sigstore.json"):
		return sigstoreFile
	case strings.HasSuffix(name, ".tlog-proof"):
		return proofFile
	case name == "candidate_bundle.json":
		return bundleFile
	case name == "ingest_receipt.json":
		return receiptFile
	}
	if bytes.HasPrefix(f.Data, []byte("c2sp.org/tlog-proof@")) {
		return proofFile
	}
	if bytes.HasPrefix(f.Data, []byte("old ")) {
		return extensionFile
	}
	d, err := parse(f.Data)
	if err != nil {
		return artifactFile
	}
	_, payload := d["payload"]
	_, signatures := d["signatures"]
	switch schema := d.text("schema"); {
	case schema == bundle.SchemaBundle:
		return bundleFile
	case schema == "ingest-receipt/v1":
		return receiptFile
	case schema == ledger.SchemaSeal:
		return sealFile
	case schema == ledger.SchemaChain:
		return chainFile
	case strings.HasPrefix(d.text("mediaType"), "application/vnd.dev.sigstore.bundle"):
		return sigstoreFile
	case payload && signatures:
		return envelopeFile
	}
	return artifactFile
}

// Step is one thing that was checked. Expected and Found say why it failed.
type Step struct {
	Number   int    `json:"number"`
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected,omitempty"`
	Found    string `json:"found,omitempty"`
}

// String is the step's line.
func (s Step) String() string {
	if s.OK {
		return fmt.Sprintf("%2d ok   %s", s.Number, s.Name)
	}
	return fmt.Sprintf("%2d FAIL %s: expected %s, found %s", s.Number, s.Name, s.Expected, s.Found)
}

// Report is all steps in order and what no step could check.
type Report struct {
	Steps      []Step   `json:"steps"`
	NotChecked []string `json:"not_checked"`
}

// OK reports that there was something to check and that all of it holds.
func (r *Report) OK() bool {
	for _, s := range r.Steps {
		if !s.OK {
			return false
		}
	}
	return len(r.Steps) > 0
}

// Failed is the names of the steps that failed.
func (r *Report) Failed() []string {
	var names []string
	for _, s := range r.Steps {
		if !s.OK {
			names = append(names, s.Name)
		}
	}
	return names
}

// Write prints a line for each step, then what was not checked.
func (r *Report) Write(w io.Writer) error {
	for _, s := range r.Steps {
		if _, err := fmt.Fprintln(w, s); err != nil {
			return err
		}
	}
	for _, what := range r.NotChecked {
		if _, err := fmt.Fprintln(w, "not checked:", what); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) step(name string, err error) bool {
	s := Step{Number: len(r.Steps) + 1, Name: name, OK: err == nil}
	var m *ledger.Mismatch
	switch {
	case errors.As(err, &m):
		s.Expected, s.Found = m.Expected, m.Found
		if m.What != "" {
			s.Expected = m.What + " " + m.Expected
		}
	case err != nil:
		s.Expected, s.Found = "no error", err.Error()
	}
	r.Steps = append(r.Steps, s)
	return s.OK
}

// Skip adds to what was not checked.
func (r *Report) Skip(what string) { r.NotChecked = append(r.NotChecked, what) }

func (r *Report) skip(format string, args ...any) {
	r.NotChecked = append(r.NotChecked, fmt.Sprintf(format, args...))
}

func mismatch(what, expected, found string) error {
	return &ledger.Mismatch{What: what, Expected: expected, Found: found}
}

// same is nil when both are equal.
func same(what, expected, found string) error {
	if expected == found {
		return nil
	}
	return mismatch(what, expected, found)
}
