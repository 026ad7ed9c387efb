// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// kept is the content of the cloud's file.
type kept struct {
	Instances []Instance `json:"instances"`
	Ledger    []Call     `json:"ledger"`
}

func (c *Cloud) load() error {
	if c.file == "" {
		return nil
	}
	raw, err := os.ReadFile(c.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the simulated cloud: %w", err)
	}
	var k kept
	if err := json.Unmarshal(raw, &k); err != nil {
		return fmt.Errorf("reading the simulated cloud from %s: %w. To start with an empty cloud, delete the folder of this file", c.file, err)
	}
	c.instances, c.ledger = k.Instances, k.Ledger
	if len(c.ledger) > 0 {
		c.last = c.ledger[len(c.ledger)-1].Seq
	}
	return nil
}

// Flush writes the ledger's new entries to the file. Instances are written at once, because a cloud that forgets an instance would create a second one. The
// many calls that only read are written by Flush.
func (c *Cloud) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dirty {
		return nil
	}
	return c.save()
}

// Keep flushes once every period until the context ends, and then once more. It passes each failure to report.
func (c *Cloud) Keep(ctx context.Context, period time.Duration, report func(error)) {
	for c.wait(ctx, period) == nil {
		if err := c.Flush(); err != nil {
			report(err)
		}
	}
	if err := c.Flush(); err != nil {
		report(err)
	}
}

// save replaces the whole file by a rename. So if the process is killed while it writes, the older file stays. save is called under the lock.
func (c *Cloud) save() error {
	if c.file == "" {
		return nil
	}
	raw, err := json.MarshalIndent(kept{c.instances, c.ledger}, "", " ")
	if err != nil {
		return err
	}
	next := c.file + ".next"
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return fmt.Errorf("keeping the simulated cloud: %w", err)
	}
	if err := os.Rename(next, c.file); err != nil {
		return fmt.Errorf("keeping the simulated cloud: %w", err)
	}
	c.dirty = false
	return nil
}

// strictly decodes JSON that people write. An unknown field is an error that names the field.
func strictly(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		var own *Error
		if errors.As(err, &own) {
			return err
		}
		return refuse(Malformed, "reading the request: %v", err)
	}
	return nil
}
