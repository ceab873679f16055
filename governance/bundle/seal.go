package bundle

import (
	"time"

	"github.com/assay-run/assay/governance/bundle/field"
)

// MaxValidity is how long a seal request may be valid.
const MaxValidity = 90 * 24 * time.Hour

// MaxAhead is how far a time of a request or statement may lie ahead of the plane's
// clock: clocks differ.
const MaxAhead = 5 * time.Minute

// readSealRequest reads the request; id is the bundle's, which is proven already.
func readSealRequest(top field.Object, id string) SealRequest {
	o := top.Child("seal_request",
		field.Names("schema subject_type subject_id bundle_digest requested_stage requested_by requested_at expires_at log_origin"), nil)
	s := SealRequest{Schema: SchemaSealRequest}
	s.SubjectType = o.OneOf("subject_type", field.InvalidSubjectType, SubjectRevision)
	s.RequestedStage = Stage(o.OneOf("requested_stage", field.InvalidStage, string(Research), string(Paper), string(Canary), string(Live)))
	o.Schema("schema", SchemaSealRequest)
	if s.SubjectID = o.Revision("subject_id"); s.SubjectID != id {
		o.Fail(field.SealSubjectMismatch, "subject_id", "is not the revision of this bundle")
	}
	if s.BundleDigest = o.Digest("bundle_digest"); s.BundleDigest != digestOf(id) {
		o.Fail(field.SealDigestMismatch, "bundle_digest", "is not the digest of this bundle's core")
	}
	s.RequestedBy = o.Filled("requested_by")
	var from, to time.Time
	s.RequestedAt, from = o.Time("requested_at")
	s.ExpiresAt, to = o.Time("expires_at")
	switch {
	case !to.After(from):
		o.Fail(field.InvalidTimestamp, "expires_at", "is not after requested_at")
	case to.Sub(from) > MaxValidity:
		o.Fail(field.InvalidTimestamp, "expires_at", "is more than 90 days after requested_at")
	}
	s.LogOrigin = o.Text("log_origin")
	return s
}

// digestOf is the digest of the core of a revision: its id names it.
func digestOf(id string) string { return DigestPrefix + id[len(RevisionPrefix):] }

// CheckSeal is step 4 of the ingest as far as clock and name of the plane decide it: is
// the request for this log, and is it valid now? It concerns only a file that the plane
// has not taken before.
func (p *Post) CheckSeal(now time.Time, origin string) *Error {
	s, at := p.Bundle.SealRequest, p.at+"/seal_request"
	if s.LogOrigin != origin {
		return field.Refuse(field.SealAudienceMismatch, at+"/log_origin", "this log is %s", origin)
	}
	from, ok1 := field.ParseTime(s.RequestedAt)
	to, ok2 := field.ParseTime(s.ExpiresAt)
	switch {
	case !ok1 || !ok2:
		return field.Refuse(field.InvalidTimestamp, at, "has no times")
	case !now.Before(to):
		return field.Refuse(field.SealRequestExpired, at+"/expires_at", "the request has expired")
	case from.Sub(now) > MaxAhead:
		return field.Refuse(field.SealRequestNotYetValid, at+"/requested_at", "the request is dated more than 5 minutes ahead")
	}
	return nil
}
