package command

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

// signing is what all commands that sign have in common.
type signing struct {
	w       World
	keyFile string
	reason  string
	valid   string
	yes     bool
	json    bool
	plan    *promotion.Plan // what was shown, nil where it was none
}

// valid is for how long a statement holds by default: stops have their effect when
// they arrive, approvals wait for others.
const (
	validApproval = "7d"
	validStop     = "1d"
)

func (s *signing) register(cmd *cobra.Command, valid string) {
	controlURL.register(cmd)
	cmd.Flags().StringVar(&s.keyFile, "key", "", "file of your private key")
	cmd.Flags().StringVar(&s.reason, "reason", "", "why, for the log")
	cmd.Flags().StringVar(&s.valid, "valid", valid, "how long the statement holds, such as 12h or 7d")
	cmd.Flags().BoolVar(&s.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&s.json, "json", false, "print the plane's receipt as JSON, of an approval with the plan; "+
		"what people read goes to the error stream")
}

// out is where people read.
func (s *signing) out() io.Writer {
	if s.json {
		return s.w.Err
	}
	return s.w.Out
}

// open reads the arguments that every such command has.
func (s *signing) open(cmd *cobra.Command, id string) (*client, *ecdsa.PrivateKey, error) {
	if !field.IsRevision(id) {
		return nil, nil, usagef("%q is no candidate_revision_id: it begins with cr-", id)
	}
	if s.keyFile == "" {
		return nil, nil, usagef("--key is missing: the file of your private key (governance keys new NAME makes one)")
	}
	if _, err := parseValid(s.valid); err != nil {
		return nil, nil, usagef("--valid: %v", err)
	}
	key, err := dsse.ReadP256(s.keyFile)
	if err != nil {
		return nil, nil, usagef("--key: %v", err)
	}
	c, err := newClient(cmd, s.w.Env)
	return c, key, err
}

func parseValid(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n <= 0 || n > 3650 {
			return 0, fmt.Errorf("%q is no number of days", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no duration such as 12h or 7d", s)
	}
	return d, nil
}

// common is what all statements carry.
func (s *signing) common(sub *subject) bundle.Common {
	now := s.w.Now().UTC()
	valid, _ := parseValid(s.valid) // was checked
	return bundle.Common{
		LogOrigin: sub.origin, CandidateRevisionID: sub.doc.Bundle.CandidateRevisionID, MadeAt: now.Format(time.RFC3339Nano),
		ExpiresAt: bundle.FormatTime(now.Add(valid)), Reason: s.reason,
	}
}

// confirm asks, unless --yes is given; no answer is no.
func (s *signing) confirm(question string) error {
	if s.yes {
		return nil
	}
	fmt.Fprintf(s.out(), "%s [y/N] ", question)
	line, _ := bufio.NewReader(s.w.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return refusef("nothing was signed: answer y, or give --yes")
}

// post signs a predicate about a bundle and reports what it has come to.
func (s *signing) post(ctx context.Context, c *client, sub *subject, kind string, predicate any, key *ecdsa.PrivateKey) error {
	env, err := sub.doc.Attest(kind, predicate, key)
	if err != nil {
		return usagef("the statement: %v", err)
	}
	body, err := bundle.EncodePost(sub.doc.Canonical, env)
	if err != nil {
		return err
	}
	answer, err := c.call(ctx, http.MethodPost, "/candidate-bundles/ingest", body)
	if err != nil {
		return err
	}
	var rec struct {
		Duplicate bool
		State     struct {
			Stage       string
			StageStatus string `json:"stage_status"`
		} `json:"promotion_state"`
		Warnings []struct{ Code, Message string }
	}
	if err := json.Unmarshal(answer, &rec); err != nil {
		return &unreachable{err}
	}
	for _, warning := range rec.Warnings {
		fmt.Fprintf(s.w.Err, "warning: %s: %s\n", warning.Code, warning.Message)
	}
	if s.json {
		return s.printAnswer(answer)
	}
	fmt.Fprintf(s.w.Out, "%s %s/%s\n", sub.doc.Bundle.CandidateRevisionID, rec.State.Stage, rec.State.StageStatus)
	return nil
}

// printAnswer prints the receipt, with the plan that was shown as its member plan.
func (s *signing) printAnswer(receipt []byte) error {
	if s.plan == nil {
		_, err := fmt.Fprintf(s.w.Out, "%s\n", receipt)
		return err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(receipt, &members); err != nil {
		return &unreachable{err}
	}
	var err error
	if members["plan"], err = json.Marshal(s.plan); err != nil {
		return err
	}
	text, err := json.Marshal(members)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.w.Out, "%s\n", text)
	return err
}
