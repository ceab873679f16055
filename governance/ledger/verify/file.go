package verify

import (
	"bytes"
	"path"
	"strings"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
)

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
	envelopeFile
)

// kindOf tells what a file is. What its name promises comes first, so that a spoilt
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
	case strings.HasPrefix(d.text("mediaType"), "application/vnd.dev.sigstore.bundle"):
		return sigstoreFile
	case payload && signatures:
		return envelopeFile
	}
	return artifactFile
}
