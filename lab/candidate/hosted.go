package candidate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/base/dsse"
)

// hosted are the statements by which services have signed runs of a bundle, as far as a plane trusts their
// keys: others, and those of a plane in open mode, would refuse the post.
func (p *Packed) hosted(ctx context.Context, plane *client.Client) ([]dsse.Envelope, error) {
	var found []*dsse.Signed
	for _, run := range p.Bundle.Runs {
		if !run.Role.Venue() {
			continue
		}
		path := bundle.HostedPath(filepath.Dir(p.candidates.dir), run.RunID)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		signed, refused := bundle.DecodeEnvelope(text)
		if refused != nil {
			return nil, fmt.Errorf("%s: %w", path, refused)
		}
		found = append(found, signed)
	}
	if len(found) == 0 {
		return nil, nil
	}
	trust, err := plane.TrustFile(ctx)
	if err != nil {
		return nil, PlaneError(err)
	}
	var list []dsse.Envelope
	for _, signed := range found {
		if slices.ContainsFunc(trust.Signers(signed, time.Now()), func(k bundle.TrustKey) bool {
			return slices.Contains(k.Roles, bundle.TrustHost)
		}) {
			list = append(list, signed.Envelope)
		}
	}
	return list, nil
}
