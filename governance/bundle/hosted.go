package bundle

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

// Vouches reports whether the statement is about a run with these very files.
func (p *HostedRun) Vouches(r *Run) bool {
	return p.RunID == r.RunID && p.ReportSHA256 == r.ReportSHA256 && p.MetadataSHA256 == r.MetadataSHA256
}
