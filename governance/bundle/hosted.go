package bundle

import (
	"crypto"
	"path/filepath"
	"slices"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
)

// TypeRun is the predicate type of a run that a host vouches for.
const TypeRun = URIBase + "run/v1"

// HostedRun states that the signer's service has made a paper or live run, which has ended, and wrote
// these files of it.
type HostedRun struct {
	Common
	RunID          string `json:"run_id" is:"id"`
	ReportSHA256   string `json:"report_sha256" is:"sha256"`
	MetadataSHA256 string `json:"metadata_sha256" is:"sha256"`
}

// TypeServiceRun is the predicate type of a run that a service signs by itself as it ends.
const TypeServiceRun = URIBase + "service-run/v1"

// ServiceRun is a HostedRun before any bundle names the run: its subjects are the files, and it goes with
// whichever bundle lists them.
type ServiceRun struct {
	RunID          string `json:"run_id" is:"id"`
	ReportSHA256   string `json:"report_sha256" is:"sha256"`
	MetadataSHA256 string `json:"metadata_sha256" is:"sha256"`
	EndedAt        string `json:"ended_at" is:"time"`
}

func (*ServiceRun) common() *Common { return nil }

// Hosted is the same about a revision that has the run.
func (p *ServiceRun) Hosted(revision string) HostedRun {
	return HostedRun{Common: Common{CandidateRevisionID: revision, MadeAt: p.EndedAt, ExpiresAt: p.EndedAt,
		Reason: "signed by the service"}, RunID: p.RunID, ReportSHA256: p.ReportSHA256,
		MetadataSHA256: p.MetadataSHA256}
}

// In reports whether a bundle has the run, with these very files.
func (p *ServiceRun) In(b *Bundle) bool {
	hosted := p.Hosted("")
	return slices.ContainsFunc(b.Runs, func(r Run) bool { return hosted.Vouches(&r) })
}

// SignRun is the envelope of the statement that a service has made a run, which has ended with these files.
func SignRun(id string, report, metadata []byte, ended time.Time, key crypto.Signer) (dsse.Envelope, error) {
	files := []Subject{FileSubject("report.json", digest.SHA256Hex(report)),
		FileSubject("metadata.json", digest.SHA256Hex(metadata))}
	hosted := ServiceRun{RunID: id, ReportSHA256: files[0].Digest["sha256"],
		MetadataSHA256: files[1].Digest["sha256"], EndedAt: FormatTime(ended)}
	payload, err := NewStatement(TypeServiceRun, files, hosted)
	if err != nil {
		return dsse.Envelope{}, err
	}
	if _, refused := ReadStatement(payload); refused != nil {
		return dsse.Envelope{}, refused
	}
	return dsse.Sign(PayloadInToto, payload, key)
}

// HostedPath is where a service keeps what it has signed of a run, below its state directory.
func HostedPath(stateDir, runID string) string {
	return filepath.Join(stateDir, "hosted", runID+".dsse.json")
}

// Vouches reports whether the statement is about a run with these very files.
func (p *HostedRun) Vouches(r *Run) bool {
	return p.RunID == r.RunID && p.ReportSHA256 == r.ReportSHA256 && p.MetadataSHA256 == r.MetadataSHA256
}
