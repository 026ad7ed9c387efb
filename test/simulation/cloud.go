// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/poundlock/poundlock/policies/authority"
)

// State is an instance's, in the words of EC2.
type State string

// The states of an instance, in the order in which it passes through them.
const (
	Pending      State = "pending"
	Running      State = "running"
	ShuttingDown State = "shutting-down"
	Terminated   State = "terminated"
)

// Instance is one machine of the cloud.
type Instance struct {
	ID, Zone, Type string
	// Machine is the name of the Machine that it was made for: what EC2 has as the tag Name.
	Machine string
	// Token makes asking twice the same as asking once, as EC2's ClientToken does.
	Token string
	// CreatedBy is the API whose controller asked for it.
	CreatedBy authority.API
	Launched  time.Time
	Ended     time.Time `json:",omitzero"`
	State     State
}

// ProviderID is how both APIs and the Node name the instance.
func (i Instance) ProviderID() string { return "aws:///" + i.Zone + "/" + i.ID }

// IP is the instance's private address; it follows from the ID.
func (i Instance) IP() string {
	n := hash(i.ID)
	return fmt.Sprintf("10.0.%d.%d", n>>8&0xff, n&0xff)
}

// DNS is the instance's private name, and its Node's.
func (i Instance) DNS() string {
	return "ip-" + strings.ReplaceAll(i.IP(), ".", "-") + ".ec2.internal"
}

// InstanceID reads the instance's ID out of a provider ID, "" where there is none.
func InstanceID(providerID string) string {
	if i := strings.LastIndexByte(providerID, '/'); i >= 0 {
		return providerID[i+1:]
	}
	return ""
}

// Cloud holds the instances and the ledger. Use NewCloud.
type Cloud struct {
	// BootTime is how long an instance is pending, and half of it how long it shuts down.
	BootTime time.Duration
	// Witness, if set, is asked at every call whether the caller may make it.
	Witness Witness
	// File, if set, keeps the instances over a restart.
	File string

	now func() time.Time

	mu        sync.Mutex
	instances []Instance
	ledger    []Call
}

// NewCloud returns an empty cloud, or the one that file holds; file may be "".
func NewCloud(bootTime time.Duration, file string) (*Cloud, error) {
	c := &Cloud{BootTime: bootTime, File: file, now: time.Now}
	raw, err := os.ReadFile(file)
	if file == "" || os.IsNotExist(err) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the simulated cloud: %w", err)
	}
	if err := json.Unmarshal(raw, &c.instances); err != nil {
		return nil, fmt.Errorf("reading the simulated cloud from %s: %w; remove the folder that it lies in to start anew", file, err)
	}
	return c, nil
}

// Instances returns every instance there ever was, the terminated included, in the order of their launch.
func (c *Cloud) Instances() []Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Clone(c.instances)
	for i := range out {
		out[i].State = c.state(out[i])
	}
	return out
}

// InstancesOf returns every instance that was ever made for a Machine.
func (c *Cloud) InstancesOf(machine string) []Instance {
	return slices.DeleteFunc(c.Instances(), func(i Instance) bool { return i.Machine != machine })
}

func (c *Cloud) state(i Instance) State {
	now := c.now()
	switch {
	case !i.Ended.IsZero() && now.Sub(i.Ended) >= c.BootTime/2:
		return Terminated
	case !i.Ended.IsZero():
		return ShuttingDown
	case now.Sub(i.Launched) >= c.BootTime:
		return Running
	}
	return Pending
}

// launch makes an instance, or returns the one that was made with the same token.
func (c *Cloud) launch(want Instance) (Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range c.instances {
		if i.Token == want.Token {
			i.State = c.state(i)
			return i, nil
		}
	}
	want.ID = fmt.Sprintf("i-%08x%09x", hash(want.Token), len(c.instances)+1)
	want.Launched = c.now()
	c.instances = append(c.instances, want)
	want.State = c.state(want)
	return want, c.save()
}

func (c *Cloud) find(id string) (Instance, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.instances, func(i Instance) bool { return i.ID == id })
	if i < 0 {
		return Instance{}, false
	}
	found := c.instances[i]
	found.State = c.state(found)
	return found, true
}

func (c *Cloud) terminate(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.instances, func(i Instance) bool { return i.ID == id })
	if i < 0 || !c.instances[i].Ended.IsZero() {
		return nil
	}
	c.instances[i].Ended = c.now()
	return c.save()
}

// save replaces the file whole, so that a kill between two writes leaves the older one.
func (c *Cloud) save() error {
	if c.File == "" {
		return nil
	}
	raw, err := json.MarshalIndent(c.instances, "", "  ")
	if err != nil {
		return err
	}
	next := c.File + ".next"
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return fmt.Errorf("keeping the simulated cloud in %s: %w", filepath.Dir(c.File), err)
	}
	return os.Rename(next, c.File)
}

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}
