package bundle

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/host/base/digest"
)

// MaxBody is the largest body of an ingest, in bytes; the edge holds it.
const MaxBody = 4 << 20

// The most items that a list may have.
const (
	MaxRuns         = 1000
	MaxSymbols      = 1000
	MaxData         = 1000
	MaxArtifacts    = 10_000
	MaxAttestations = 64
)

// Document is a bundle that was read, with what its bytes come to.
type Document struct {
	Bundle Bundle
	// Canonical is the canonical form: what candidate_bundle.json holds.
	Canonical []byte
	// FileSHA256 is the SHA-256 of Canonical in hex: the subject of statements.
	FileSHA256 string
}

// Post is a body of the ingest: a bare bundle, or one with attestations.
type Post struct {
	Document
	at        string // the pointer of the bundle in the body
	signed    bool   // is there a member "attestations"?
	envelopes any    // its value, not looked at yet
}

// Decode reads the text of one bare bundle: steps 1 to 3 of the ingest as far as they
// concern the bytes. The first fault is the error.
func Decode(text []byte) (*Document, *Error) {
	v, err := field.Parse(text)
	if err != nil {
		return nil, err
	}
	return readDocument(v, "", "")
}

// Accepted reads a bundle that a plane has taken before, by the SHA-256 of its text: text
// with this hash is what was read by Decode then, so that its id and its form need not be
// worked out again. The error is an *Error; of text with another hash, INVALID_DIGEST.
func Accepted(text []byte, fileSHA256 string) (*Document, *Error) {
	if digest.SHA256Hex(text) != fileSHA256 {
		return nil, field.Refuse(field.InvalidDigest, "", "the text is not the one that was accepted")
	}
	v, err := field.Parse(text)
	if err != nil {
		return nil, err
	}
	d, err := readDocument(v, "", fileSHA256)
	if err != nil {
		return nil, err
	}
	d.Canonical = text
	return d, nil
}

// ReadPost reads a body of the ingest like Decode. Its attestations are read later,
// after the times of the seal request: see Attestations.
func ReadPost(body []byte) (*Post, *Error) {
	v, err := field.Parse(body)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, field.Refuse(field.InvalidBundle, "", "must be an object")
	}
	post := &Post{}
	_, inside := o["bundle"]
	_, bare := o["schema"]
	post.envelopes, post.signed = o["attestations"]
	if inside || post.signed && !bare {
		r := &field.Reader{}
		r.Object(v, "", field.Names("bundle"), field.Names("attestations"))
		if r.Failed() {
			return nil, r.Err()
		}
		v, post.at = o["bundle"], "/bundle"
	}
	d, err := readDocument(v, post.at, "")
	if err != nil {
		return nil, err
	}
	post.Document = *d
	return post, nil
}

var (
	topNeed = field.Names("schema candidate_revision_id candidate strategy engine data runs artifacts limits seal_request")
	topMay  = field.Names("trials known_limitations extensions")
)

// readDocument reads a bundle; accepted is the SHA-256 of its text where that is known to
// be its canonical form.
func readDocument(v any, at, accepted string) (*Document, *Error) {
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, field.Refuse(field.InvalidBundle, at, "must be an object")
	}
	r := &field.Reader{}
	top := r.Free(v, at)
	top.Schema("schema", SchemaBundle)
	r.Object(v, at, topNeed, topMay)
	if accepted == "" {
		secrets(r, v, at)
	}
	id := top.Revision("candidate_revision_id")
	if r.Failed() {
		return nil, r.Err()
	}
	if accepted == "" {
		if core := coreDigest(tree); id != RevisionPrefix+core {
			err := field.Refuse(field.RevisionMismatch, top.At("candidate_revision_id"), "the core of the bundle is %s%s", RevisionPrefix, core)
			err.RevisionID = id
			return nil, err
		}
	}
	b := Bundle{Schema: SchemaBundle, CandidateRevisionID: id}
	readSections(r, top, &b)
	if r.Failed() {
		return nil, r.Err()
	}
	d := &Document{Bundle: b, FileSHA256: accepted}
	if accepted == "" {
		d.Canonical = digest.Tree(v)
		d.FileSHA256 = digest.SHA256Hex(d.Canonical)
	}
	return d, nil
}

// coreDigest is the SHA-256 of the core: the bundle without its own id and without the
// request, so that the same evidence can be submitted again for another stage.
func coreDigest(tree map[string]any) string {
	core := maps.Clone(tree)
	delete(core, "candidate_revision_id")
	delete(core, "seal_request")
	return digest.SHA256Hex(digest.Tree(core))
}

var (
	secretName = regexp.MustCompile(`(?i)^(api_?key|api_?secret|secret|password|passphrase|private_?key|token)$`)
	privatePEM = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----`)
)

// secrets looks through everything, also what is free of form, for what must never be
// handed over. What it finds is not quoted.
func secrets(r *field.Reader, v any, at string) {
	if r.Failed() {
		return
	}
	switch v := v.(type) {
	case string:
		if holdsKey(v) {
			r.Fail(field.SecretInBundle, at, "holds a private key")
		}
	case []any:
		for i, e := range v {
			secrets(r, e, at+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := at + "/" + digest.PointerStep(name)
			if secretName.MatchString(name) {
				r.Fail(field.SecretInBundle, below, "this name is one of a secret")
			}
			if holdsKey(name) {
				r.Fail(field.SecretInBundle, at, "holds a private key")
			}
			secrets(r, v[name], below)
		}
	}
}

func holdsKey(s string) bool { return strings.Contains(s, "PRIVATE KEY") && privatePEM.MatchString(s) }

// Pointer is where a member of the bundle stands in the body.
func (p *Post) Pointer(inBundle string) string { return p.at + inBundle }

// readSections reads what is below the top of a bundle, in the order of the contract.
func readSections(r *field.Reader, top field.Object, b *Bundle) {
	b.Candidate = readCandidate(top)
	b.Strategy = readStrategy(r, top)
	engine := top.Child("engine", field.Names("name version"), nil)
	b.Engine = Engine{Name: engine.Text("name"), Version: engine.Text("version")}
	b.Data = readData(r, top)
	b.Runs = readRuns(r, top)
	if trials := top.Child("trials", field.Names("family_trials"), nil); top.Has("trials") {
		b.Trials = &Trials{FamilyTrials: trials.Integer("family_trials", 0, maxCount)}
	}
	b.Artifacts = readArtifacts(r, top, b.Runs)
	b.Limits = readLimits(top)
	b.KnownLimitations = top.Texts("known_limitations", 0, nil)
	b.Extensions = readFree(r, top, "extensions")
	b.SealRequest = readSealRequest(top, b.CandidateRevisionID)
}

// maxCount bounds what is counted: beyond it numbers are no longer exact.
const maxCount = 1<<53 - 1

func readCandidate(top field.Object) Candidate {
	o := top.Child("candidate", field.Names("candidate_id family_id slug owner lineage"), field.Names("title description"))
	c := Candidate{
		CandidateID: o.Identifier("candidate_id"), FamilyID: o.Identifier("family_id"), Slug: o.Identifier("slug"),
		// An owner may not approve their own: one without a name would match no principal.
		Owner: o.Filled("owner"),
		Title: o.Text("title"), Description: o.Text("description"),
	}
	l := o.Child("lineage", field.Names("parent_revision_id change_class"), field.Names("change_note family_run_id"))
	if l.Raw("parent_revision_id") != nil {
		parent := l.Revision("parent_revision_id")
		c.Lineage.ParentRevisionID = &parent
	}
	c.Lineage.ChangeClass = l.OneOf("change_class", field.InvalidField, ChangeInitial, ChangeMaterial, ChangeNonMaterial)
	c.Lineage.ChangeNote = l.Text("change_note")
	c.Lineage.FamilyRunID = l.Identifier("family_run_id")
	return c
}

func readStrategy(r *field.Reader, top field.Object) Strategy {
	o := top.Child("strategy", field.Names("name version plugin params params_sha256 symbols timeframes"), field.Names("exchanges"))
	s := Strategy{Name: o.Identifier("name"), Version: o.Text("version")}
	p := o.Child("plugin", field.Names("sha256 size os arch protocol_version"),
		field.Names("sdk_version go_version vcs_revision vcs_modified source_sha256"))
	s.Plugin = Plugin{
		SHA256: p.SHA256("sha256"), Size: p.Integer("size", 0, field.MaxSize), OS: p.Text("os"), Arch: p.Text("arch"),
		ProtocolVersion: int(p.Integer("protocol_version", 0, math.MaxInt32)), SDKVersion: p.Text("sdk_version"),
		GoVersion: p.Text("go_version"), VCSRevision: p.Text("vcs_revision"), VCSModified: p.Bool("vcs_modified"),
		SourceSHA256: p.SHA256("source_sha256"),
	}
	s.Params = readFree(r, o, "params")
	s.ParamsSHA256 = o.SHA256("params_sha256")
	if s.ParamsSHA256 != digest.SHA256Hex(s.Params) {
		o.Fail(field.ParamsHashMismatch, "params_sha256", "is not the hash of params")
	}
	s.Symbols = o.Texts("symbols", MaxSymbols, must(field.IsSymbol, "must be BASE/QUOTE"))
	s.Timeframes = o.Texts("timeframes", 0, must(field.IsTimeframe, "must be a timeframe such as 1h"))
	s.Exchanges = o.Texts("exchanges", 0, nil)
	// A deployment is held to these lists, and an empty one would hold it to nothing.
	if len(s.Symbols) == 0 {
		o.Fail(field.InvalidField, "symbols", "must not be empty")
	}
	if len(s.Timeframes) == 0 {
		o.Fail(field.InvalidField, "timeframes", "must not be empty")
	}
	return s
}

func must(ok func(string) bool, what string) func(string) string {
	return func(s string) string {
		if ok(s) {
			return ""
		}
		return what
	}
}

// readFree is the canonical form of an object that the contract leaves free, nil where
// it is absent. Only the length of its strings is bounded.
func readFree(r *field.Reader, o field.Object, name string) []byte {
	if !o.Has(name) {
		return nil
	}
	free := o.Open(name)
	if r.Failed() {
		return nil
	}
	short(r, o.Raw(name), free.Pointer())
	return digest.Tree(o.Raw(name))
}

func short(r *field.Reader, v any, at string) {
	switch v := v.(type) {
	case string:
		if len(v) > field.MaxText {
			r.Fail(field.InvalidField, at, "is longer than %d bytes", field.MaxText)
		}
	case []any:
		for i, e := range v {
			short(r, e, at+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			short(r, name, at)
			short(r, v[name], at+"/"+digest.PointerStep(name))
		}
	}
}

func readData(r *field.Reader, top field.Object) []Dataset {
	data := []Dataset{}
	top.Each("data", MaxData, func(_ int, v any, at string) {
		o := r.Object(v, at, field.Names("dataset_id sha256 rows start end"), nil)
		d := Dataset{DatasetID: o.Identifier("dataset_id"), SHA256: o.SHA256("sha256"), Rows: o.Integer("rows", 0, maxCount)}
		d.Start, _ = o.Time("start")
		d.End, _ = o.Time("end")
		data = append(data, d)
	})
	return data
}

func readRuns(r *field.Reader, top field.Object) []Run {
	runs, seen := []Run{}, map[string]bool{}
	n := top.Each("runs", MaxRuns, func(_ int, v any, at string) {
		o := r.Object(v, at, field.Names("run_id role request_hash report_sha256 completed_at summary"),
			field.Names("metadata_sha256 started_at covered_seconds splits"))
		run := Run{RunID: o.Identifier("run_id")}
		if seen[run.RunID] {
			o.Fail(field.DuplicateItem, "run_id", "this run stands twice in the bundle")
		}
		seen[run.RunID] = true
		run.Role = Role(o.OneOf("role", field.InvalidField, roles...))
		run.RequestHash, run.ReportSHA256 = o.SHA256("request_hash"), o.SHA256("report_sha256")
		run.MetadataSHA256 = o.SHA256("metadata_sha256")
		run.StartedAt, _ = o.Time("started_at")
		run.CompletedAt, _ = o.Time("completed_at")
		if o.Has("covered_seconds") {
			x := o.Number("covered_seconds", 0)
			run.CoveredSeconds = &x
		}
		run.Summary = o.Numbers("summary")
		run.Splits = readSplits(r, o)
		runs = append(runs, run)
	})
	if n == 0 {
		top.Fail(field.MissingField, "runs", "at least one run is required")
	}
	return runs
}

func readSplits(r *field.Reader, o field.Object) []Split {
	var splits []Split
	o.Each("splits", 0, func(_ int, v any, at string) {
		s := r.Object(v, at, field.Names("split_id kind metrics"), nil)
		splits = append(splits, Split{
			SplitID: s.Identifier("split_id"), Kind: s.OneOf("kind", field.InvalidField, splitKinds...),
			Metrics: s.Numbers("metrics"),
		})
	})
	return splits
}

var (
	roles = []string{
		string(RoleBaseline), string(RoleOOS), string(RoleStress), string(RoleFalsification),
		string(RoleReplay), string(RolePaper), string(RoleCanary), string(RoleLive),
	}
	splitKinds = field.Names("train validation test search walk_forward full")
)

// SplitKinds are the kinds of splits that a bundle knows.
func SplitKinds() []string { return slices.Clone(splitKinds) }

func readLimits(top field.Object) Limits {
	o := top.Child("limits", field.Names("max_capital max_order_value max_position_value max_orders_per_minute max_instruments max_venues max_drawdown"),
		field.Names("max_daily_loss price_collar_bps quote_currency"))
	l := Limits{
		MaxCapital: o.Decimal("max_capital"), MaxOrderValue: o.Decimal("max_order_value"), MaxPositionValue: o.Decimal("max_position_value"),
		MaxOrdersPerMinute: o.Integer("max_orders_per_minute", 0, maxCount), MaxInstruments: o.Integer("max_instruments", 0, maxCount),
		MaxVenues: o.Integer("max_venues", 0, maxCount), MaxDrawdown: o.Decimal("max_drawdown"), MaxDailyLoss: o.Decimal("max_daily_loss"),
		QuoteCurrency: o.Text("quote_currency"),
	}
	if o.Has("price_collar_bps") {
		x := o.Number("price_collar_bps", 0)
		l.PriceCollarBps = &x
	}
	return l
}
