package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/proc/bundle"
)

// putFile stores a file under its hash, unless it is there. What is read on the way must have the hash.
func (l *Link) putFile(ctx context.Context, sum, path string) error {
	if info, err := l.blobs.GetInfo(ctx, sum); err == nil && info.Size > 0 {
		return nil
	} else if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	if bundle.IsDocument(path) {
		return l.putFolder(ctx, sum, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := l.blobs.Put(ctx, jetstream.ObjectMeta{Name: sum}, io.TeeReader(f, h)); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return errors.Join(fmt.Errorf("%s has the SHA-256 %.12s, not %.12s", path, got, sum),
			l.blobs.Delete(ctx, sum))
	}
	return nil
}

// putFolder stores a bundle or a layer under the hash of its document.
func (l *Link) putFolder(ctx context.Context, sum, document string) error {
	in, out := io.Pipe()
	go func() { out.CloseWithError(bundle.Pack(out, document)) }()
	_, err := l.blobs.Put(ctx, jetstream.ObjectMeta{Name: sum}, in)
	_ = in.Close() // ends the goroutine
	return err
}

// getBundle brings a bundle and its layers from the object store, unless they are there. What is there was
// checked when it was unpacked, and is again before it is executed.
func (l *Link) getBundle(ctx context.Context, sum, manifest string) error {
	if err := l.getFolder(ctx, sum, manifest); err != nil {
		return err
	}
	m, _, err := bundle.Open(filepath.Dir(manifest))
	if err != nil {
		return err
	}
	layers := filepath.Join(filepath.Dir(filepath.Dir(manifest)), bundle.LayersFolder)
	for _, layer := range m.Layers {
		list := filepath.Join(layers, layer.SHA256, bundle.ListFile)
		if err := l.getFolder(ctx, layer.SHA256, list); err != nil {
			return err
		}
	}
	return nil
}

func (l *Link) getFolder(ctx context.Context, sum, document string) error {
	if got, err := digest.File(document); err == nil && got == sum {
		return nil
	}
	object, err := l.blobs.Get(ctx, sum)
	if err != nil {
		return fmt.Errorf("bundle %.12s: %w", sum, err)
	}
	defer object.Close()
	err = bundle.Unpack(object, document, sum)
	var wrong *bundle.Error
	if errors.As(err, &wrong) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	if isDamaged(err) {
		_ = l.blobs.Delete(ctx, sum) // its coordinator puts it there again
	}
	if err != nil {
		return fmt.Errorf("bundle %.12s: %w", sum, err)
	}
	return nil
}

// getFile brings a file of the object store into a folder under its hash, unless it is there. It has its
// name only once its bytes have the hash.
func (l *Link) getFile(ctx context.Context, sum, dir string) error {
	path := filepath.Join(dir, sum)
	if got, err := digest.File(path); err == nil && got == sum {
		return nil
	}
	object, err := l.blobs.Get(ctx, sum)
	if err != nil {
		return fmt.Errorf("file %.12s: %w", sum, err)
	}
	defer object.Close()
	to, err := file.Create(dir)
	if err != nil {
		return err
	}
	defer to.Discard()
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, h), object)
	if got := hex.EncodeToString(h.Sum(nil)); err == nil && got != sum {
		err = fmt.Errorf("%w: it has the SHA-256 %.12s and is not used", errDamaged, got)
	}
	if isDamaged(err) {
		_ = l.blobs.Delete(ctx, sum) // its coordinator puts it there again
	}
	if err != nil {
		return fmt.Errorf("file %.12s: %w", sum, err)
	}
	return to.Replace(path, 0o600)
}

// errDamaged is of an object whose bytes are not what its name says.
var errDamaged = errors.New("the object is damaged")

func isDamaged(err error) bool {
	return errors.Is(err, errDamaged) || errors.Is(err, jetstream.ErrDigestMismatch)
}

// putRun stores the files of a played trial and returns the hash of their archive.
func (l *Link) putRun(ctx context.Context, files map[string][]byte) (string, error) {
	text, err := pack(files)
	if err != nil {
		return "", err
	}
	sum := digest.SHA256Hex(text)
	_, err = l.runs.PutBytes(ctx, sum, text)
	return sum, err
}

// getRun returns the files of a played trial.
func (l *Link) getRun(ctx context.Context, sum string) (map[string][]byte, error) {
	object, err := l.runs.Get(ctx, sum)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	text, err := io.ReadAll(io.LimitReader(object, 2*maxRun))
	if err != nil {
		return nil, err
	}
	if got := digest.SHA256Hex(text); got != sum {
		return nil, fmt.Errorf("%w: the files of a run have the SHA-256 %.12s, not %.12s", errDamaged, got,
			sum)
	}
	return unpack(text)
}
