// Package bucket keeps files in a bucket of an S3-compatible store, as a team does whose machines share no
// folder. The address is s3://BUCKET or s3://BUCKET/PREFIX; where the store is and who asks are said by the
// variables and files that the AWS tools read: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, AWS_REGION,
// AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else the profile in ~/.aws/credentials.
package bucket

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Variable names a team's bucket to the programs that read and write one.
const Variable = "SERVICE_ARTIFACTS"

const scheme = "s3://"

// Is reports whether text is the address of a bucket, and not a folder.
func Is(text string) bool { return strings.HasPrefix(text, scheme) }

// Bucket is the part of a bucket below a prefix. Names in it are as those of fs.FS.
type Bucket struct {
	client         *minio.Client
	bucket, prefix string
}

// Open returns the bucket of an address. Nothing is asked before a file is. The error says what of the
// address or of the environment cannot be used.
func Open(address string, getenv func(string) string) (*Bucket, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(address, scheme), "/")
	prefix = strings.Trim(prefix, "/")
	if !Is(address) || name == "" || prefix != "" && !fs.ValidPath(prefix) {
		return nil, fmt.Errorf("%q is not the address of a bucket: write s3://BUCKET or s3://BUCKET/PREFIX",
			address)
	}
	at, err := endpoint(cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"),
		"https://s3.amazonaws.com"))
	if err != nil {
		return nil, err
	}
	client, err := minio.New(at.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.Static{Value: credentials.Value{
				AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"),
				SessionToken: getenv("AWS_SESSION_TOKEN"), SignerType: credentials.SignatureV4}},
			&credentials.FileAWSCredentials{},
		}),
		Secure: at.Scheme == "https", Region: getenv("AWS_REGION"), MaxRetries: 3,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return &Bucket{client: client, bucket: name, prefix: prefix}, nil
}

func endpoint(text string) (*url.URL, error) {
	at, err := url.Parse(text)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || at.User != nil ||
		strings.Trim(at.Path, "/") != "" {
		return nil, errors.New("AWS_ENDPOINT_URL is not the address of a store: write https://HOST or " +
			"http://HOST:PORT")
	}
	return at, nil
}

// String returns the address.
func (b *Bucket) String() string { return scheme + path.Join(b.bucket, b.prefix) }

// Check asks whether the bucket is there and may be used. The error says what is not.
func (b *Bucket) Check(ctx context.Context) error {
	there, err := b.client.BucketExists(ctx, b.bucket)
	if err == nil && !there {
		err = minio.ErrorResponse{Code: minio.NoSuchBucket}
	}
	return b.explain("open", ".", err)
}

// Put stores a file. A reader finds the old content or the new one, never a part.
func (b *Bucket) Put(ctx context.Context, name string, content []byte) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: "put", Path: name, Err: fs.ErrInvalid}
	}
	_, err := b.client.PutObject(ctx, b.bucket, path.Join(b.prefix, name), bytes.NewReader(content),
		int64(len(content)), minio.PutObjectOptions{ContentType: "application/octet-stream"})
	return b.explain("put", name, err)
}

// Get reads a file of at most limit bytes whole. The error wraps fs.ErrNotExist where it is not there.
func (b *Bucket) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	f, err := b.FS(ctx).Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("is larger than %d bytes", limit)}
	}
	return text, err
}

// FS returns the files as a file system, whose requests end with ctx. It lists no folders.
func (b *Bucket) FS(ctx context.Context) fs.FS { return files{b, ctx} }

type files struct {
	*Bucket
	ctx context.Context
}

// Open opens a file.
func (f files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	object, err := f.client.GetObject(f.ctx, f.bucket, path.Join(f.prefix, name), minio.GetObjectOptions{})
	if err != nil {
		return nil, f.explain("open", name, err)
	}
	info, err := object.Stat()
	if err != nil {
		return nil, errors.Join(f.explain("open", name, err), object.Close())
	}
	return &file{Object: object, info: fileInfo{path.Base(name), info}}, nil
}

// Stat asks for a file without opening it.
func (f files) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	info, err := f.client.StatObject(f.ctx, f.bucket, path.Join(f.prefix, name), minio.StatObjectOptions{})
	if err != nil {
		return nil, f.explain("stat", name, err)
	}
	return fileInfo{path.Base(name), info}, nil
}

// explain makes the error of a store one of a file system. It holds no credentials.
func (b *Bucket) explain(op, name string, err error) error {
	if err == nil {
		return nil
	}
	switch answer := minio.ToErrorResponse(err); {
	case answer.Code == minio.NoSuchKey:
		err = fs.ErrNotExist
	case answer.Code == minio.NoSuchBucket:
		err = fmt.Errorf("there is no bucket %q", b.bucket)
	case answer.StatusCode == http.StatusForbidden:
		err = fmt.Errorf("%w: the store refuses this key (%s): look at AWS_ACCESS_KEY_ID and the policy of "+
			"the bucket", fs.ErrPermission, answer.Code)
	}
	return &fs.PathError{Op: op, Path: b.String() + "/" + name, Err: err}
}

// file is an object that is read.
type file struct {
	*minio.Object
	info fileInfo
}

// Stat implements [fs.File].
func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

type fileInfo struct {
	name string
	of   minio.ObjectInfo
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.of.Size }
func (i fileInfo) Mode() fs.FileMode  { return 0o400 }
func (i fileInfo) ModTime() time.Time { return i.of.LastModified }
func (i fileInfo) IsDir() bool        { return false }
func (i fileInfo) Sys() any           { return nil }

// Root is where files are read from: a folder, from which no link leads out, or a bucket.
type Root struct {
	folder string
	bucket *Bucket
}

// NewRoot returns the root of a path or of an address. Whether it is there is seen when it is opened.
func NewRoot(text string, getenv func(string) string) (*Root, error) {
	if !Is(text) {
		return &Root{folder: text}, nil
	}
	b, err := Open(text, getenv)
	return &Root{bucket: b}, err
}

// String returns the path or the address, "off" for none.
func (r *Root) String() string {
	if r == nil {
		return "off"
	}
	if r.bucket != nil {
		return r.bucket.String()
	}
	return r.folder
}

// Check reports what keeps the root from being used.
func (r *Root) Check(ctx context.Context) error {
	if r.bucket != nil {
		return r.bucket.Check(ctx)
	}
	if info, err := os.Stat(r.folder); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not a folder", r.folder)
	}
	return nil
}

// Open opens the files, until done is called or ctx ends.
func (r *Root) Open(ctx context.Context) (files fs.FS, done func(), err error) {
	if r.bucket != nil {
		return r.bucket.FS(ctx), func() {}, nil
	}
	folder, err := os.OpenRoot(r.folder)
	if err != nil {
		return nil, nil, err
	}
	return folder.FS(), func() { _ = folder.Close() }, nil
}
