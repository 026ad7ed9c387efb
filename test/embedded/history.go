// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Stored is what etcd has stored under a key since a revision. Value is nil if the key was deleted.
type Stored struct {
	Key      string
	Revision int64
	Value    []byte
}

// History calls see for everything below a prefix, in the order in which etcd stored it, until ctx is done. It begins with what is stored now. It reads etcd
// and not the API server, so it misses nothing while the API server is away. It also has one order for the objects of all kinds, which watches of two kinds do
// not have.
func (p *Plane) History(ctx context.Context, prefix string, see func(Stored)) error {
	c, err := p.etcdClient()
	if err != nil {
		return err
	}
	below := below(prefix)
	var now struct {
		Header header `json:"header"`
		KVs    []kv   `json:"kvs"`
	}
	answer, err := p.askEtcd(ctx, c, "range", "kv/range", below)
	if err != nil {
		return err
	}
	err = json.NewDecoder(answer).Decode(&now)
	if err = errors.Join(err, answer.Close()); err != nil {
		return fmt.Errorf("reading what etcd has: %w", err)
	}
	for _, o := range now.KVs {
		see(o.stored(false))
	}
	next := int64(now.Header.Revision) + 1
	for ctx.Err() == nil {
		if next, err = p.follow(ctx, c, below, next, see); err != nil && ctx.Err() == nil {
			select { // etcd is stopped for a while
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

// follow watches from a revision on, and returns the revision from which the next watch begins.
func (p *Plane) follow(ctx context.Context, c *http.Client, below map[string]any, from int64, see func(Stored)) (int64, error) {
	request := map[string]any{"start_revision": strconv.FormatInt(from, 10)}
	for k, v := range below {
		request[k] = v
	}
	stream, err := p.askEtcd(ctx, c, "watch", "watch", map[string]any{"create_request": request})
	if err != nil {
		return from, err
	}
	defer stream.Close()
	for read := json.NewDecoder(stream); ; {
		var value struct {
			Result struct {
				CompactRevision revision `json:"compact_revision"`
				Events          []struct {
					Type string `json:"type"`
					KV   kv     `json:"kv"`
				} `json:"events"`
			} `json:"result"`
		}
		if err := read.Decode(&value); err != nil {
			return from, err
		}
		for _, e := range value.Result.Events {
			see(e.KV.stored(e.Type == "DELETE"))
			from = int64(e.KV.Revision) + 1
		}
		if r := int64(value.Result.CompactRevision); r > 0 {
			return r, fmt.Errorf("etcd has forgotten what it stored before revision %d", r)
		}
	}
}

// revision is a number that etcd's gateway writes as a string.
type revision int64

func (r *revision) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	*r = revision(n)
	return err
}

type header struct {
	Revision revision `json:"revision"`
}

type kv struct {
	Key      []byte   `json:"key"`
	Value    []byte   `json:"value"`
	Revision revision `json:"mod_revision"`
}

func (o kv) stored(deleted bool) Stored {
	if deleted {
		o.Value = nil
	}
	return Stored{Key: string(o.Key), Revision: int64(o.Revision), Value: o.Value}
}

// Compact has etcd discard what it stored before now, as the API server does every few minutes.
func (p *Plane) Compact(ctx context.Context) error {
	c, err := p.etcdClient()
	if err != nil {
		return err
	}
	answer, err := p.askEtcd(ctx, c, "range", "kv/range", map[string]any{"key": []byte("/"), "count_only": true})
	if err != nil {
		return err
	}
	var now struct {
		Header header `json:"header"`
	}
	err = json.NewDecoder(answer).Decode(&now)
	if err = errors.Join(err, answer.Close()); err != nil {
		return fmt.Errorf("reading the revision of etcd: %w", err)
	}
	if answer, err = p.askEtcd(ctx, c, "compact", "kv/compaction", map[string]any{"revision": strconv.FormatInt(int64(now.Header.Revision), 10)}); err != nil {
		return err
	}
	return answer.Close()
}

// askEtcd posts to etcd's gateway, which speaks JSON.
func (p *Plane) askEtcd(ctx context.Context, c *http.Client, what, path string, body map[string]any) (io.ReadCloser, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.etcdURL()+"/v3/"+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	answer, err := c.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking etcd to %s: %w", what, err)
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, fmt.Errorf("asking etcd to %s: HTTP %s", what, answer.Status)
	}
	return answer.Body, nil
}

// etcdClient returns a client with the certificate that the API server uses for etcd.
func (p *Plane) etcdClient() (*http.Client, error) {
	cert, err := tls.LoadX509KeyPair(p.keys.etcdClient.certFile, p.keys.etcdClient.keyFile)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(p.keys.etcd.certFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots,
		MinVersion: tls.VersionTLS12}}}, nil
}
