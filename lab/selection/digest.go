package selection

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/assay-run/assay/host/metric"
)

// Digest is what a falsification depends on besides the run that it attacks, as it
// stands in the request. It needs only sums, products and square roots: equal on every
// CPU.
type Digest struct {
	NTrials int `json:"n_trials"`
	// NTrialsFamily is absent in what was written before it was counted.
	NTrialsFamily int     `json:"n_trials_family,omitempty"`
	NEff          float64 `json:"n_eff"`
	// TrialSRVariance is null where it is undefined.
	TrialSRVariance *float64 `json:"trial_sr_variance"`
	ReturnsSHA256   string   `json:"returns_sha256"`
	TestPeeks       int      `json:"test_peeks"`
	PostPeek        bool     `json:"post_peek"`
}

// Digest condenses the ledger.
func (l *Ledger) Digest() Digest {
	m, _ := l.matrix(context.Background()) // it takes as long as reading the returns a few times
	d := Digest{
		NTrials: len(l.Trials), NTrialsFamily: l.FamilyTrials(), NEff: metric.Round(m.alike.NEff),
		ReturnsSHA256: l.returnsSHA256(),
		TestPeeks:     l.TestPeeks, PostPeek: l.PostPeek,
	}
	if m.why == "" {
		v := metric.Round(m.variance)
		d.TrialSRVariance = &v
	}
	return d
}

// returnsSHA256 covers every trial: its key, a zero byte, the number of its returns as a
// big-endian int64, then each of them as date (int64 milliseconds) and return (the bits
// of the float64), and its net exposure.
func (l *Ledger) returnsSHA256() string {
	h := sha256.New()
	var b []byte
	for i := range l.Trials {
		t := &l.Trials[i]
		b = append(append(b[:0], t.Key...), 0)
		if t.Series == nil {
			h.Write(binary.BigEndian.AppendUint64(b, 0))
			continue
		}
		b = binary.BigEndian.AppendUint64(b, uint64(len(t.Series.Return)))
		for k, r := range t.Series.Return {
			b = binary.BigEndian.AppendUint64(b, uint64(t.Series.Date[k]))
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(r))
		}
		h.Write(binary.BigEndian.AppendUint64(b, math.Float64bits(t.Series.NetExposure)))
	}
	return hex.EncodeToString(h.Sum(nil))
}
