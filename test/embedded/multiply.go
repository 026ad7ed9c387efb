// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Multiply stores copies of what etcd has below the prefixes. as makes each copy of a key or a value. The copies pass no admission and no controller. So a
// fleet that would otherwise take hours exists in seconds, with the managed fields that it would have.
func (p *Plane) Multiply(ctx context.Context, prefixes []string, copies int, as func(text string, i int) string) error {
	c, err := p.etcdClient()
	if err != nil {
		return err
	}
	for _, prefix := range prefixes {
		answer, err := p.askEtcd(ctx, c, "range", "kv/range", below(prefix))
		if err != nil {
			return err
		}
		var now struct {
			KVs []kv `json:"kvs"`
		}
		err = json.NewDecoder(answer).Decode(&now)
		if err = errors.Join(err, answer.Close()); err != nil {
			return fmt.Errorf("reading what etcd has: %w", err)
		}
		for _, o := range now.KVs {
			for i := range copies {
				answer, err := p.askEtcd(ctx, c, "put", "kv/put", map[string]any{"key": []byte(as(string(o.Key), i)), "value": []byte(as(string(o.Value), i))})
				if err != nil {
					return err
				}
				if err := json.NewDecoder(answer).Decode(&struct{}{}); err != nil {
					return err
				}
				if err := answer.Close(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// below returns the request for all keys with a prefix.
func below(prefix string) map[string]any {
	return map[string]any{"key": []byte(prefix), "range_end": []byte(prefix[:len(prefix)-1] + string(prefix[len(prefix)-1]+1))}
}
