// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/poundlock/poundlock/policies/authority"
)

// API is the cloud as the controllers of one API (Machine API or Cluster API) see it. The ledger has each call under that API's name.
type API interface {
	// Launch creates an instance. If an instance was ever created with the same token, Launch returns that one, whatever has become of it.
	Launch(context.Context, Machine, Order) (Instance, error)
	// Describe returns an instance. For an instance that does not exist, or that the cloud does not show yet, it returns an error for which IsNotFound holds.
	Describe(context.Context, Machine, Key) (Instance, error)
	// Terminate ends an instance, which takes time. A second Terminate of the same instance changes nothing.
	Terminate(ctx context.Context, m Machine, id string) error
}

// Key names an instance: by its ID, or by the token with which it was requested.
type Key struct {
	ID    string `json:"id,omitempty"`
	Token string `json:"token,omitempty"`
}

func (k Key) String() string {
	if k.ID != "" {
		return k.ID
	}
	return "token " + k.Token
}

// Panel is the cloud as a person and a test see it: all of the cloud, without delay, and without an entry in the ledger. A Cloud and a Client are panels.
type Panel interface {
	// As returns the cloud as that API's controllers see it.
	As(authority.API) API
	// Instances returns every instance that ever existed, also the terminated ones, in the order of their launch.
	Instances(context.Context) ([]Instance, error)
	// Ledger returns the calls that the ledger keeps, oldest first.
	Ledger(context.Context) ([]Call, error)
	// Audit returns an error that lists everything that should not have happened; nil if there is nothing.
	Audit(context.Context) error
	// Act does to an instance, by hand, what no controller asked for.
	Act(ctx context.Context, id string, act Act) error
	// Inject adds faults. Each fault waits for a call to which it applies.
	Inject(context.Context, ...Fault) error
	// Faults returns the faults that still wait for a call.
	Faults(context.Context) ([]Fault, error)
	// Heal removes all faults. A call that hangs then ends with a transient error.
	Heal(context.Context) error
	// Settings and Configure read and replace the settings of the cloud: its times and limits.
	Settings(context.Context) (Settings, error)
	Configure(context.Context, Settings) error
}

var (
	_ Panel = (*Cloud)(nil)
	_ Panel = (*Client)(nil)
)

// Act is what a person does to an instance at the cloud's console.
type Act string

// The acts.
const (
	Stop Act = "stop"
	Boot Act = "start"
	End  Act = "terminate"
)

// Options of a cloud. The zero value makes a cloud in memory, in which everything happens at once.
type Options struct {
	Settings
	// File, if set, is where the cloud keeps its instances and ledger over a restart. Settings and faults are not kept.
	File string
	// Witness, if set, is asked at every call whether the caller may make the call.
	Witness Witness
	// Census, if set, is asked at every audit which Machines exist.
	Census Census
	// Now and Wait are the clock; nil means the system's. Wait returns early, with the context's error, when the context ends.
	Now  func() time.Time
	Wait func(context.Context, time.Duration) error
	// ProviderID returns the provider ID of an instance with a name in a zone, in the form of a platform. What follows the last slash is the instance's ID. nil
	// means EC2's form.
	ProviderID func(zone, name string) string
	// Keep is how many calls the ledger keeps; 5000 if 0. The ledger always keeps a call that has an objection.
	Keep int
}

// Cloud is the simulated cloud. Make one with New. Its methods may be called from several goroutines.
type Cloud struct {
	file    string
	keep    int
	witness Witness
	census  Census
	now     func() time.Time
	wait    func(context.Context, time.Duration) error
	// providerID is nil for EC2.
	providerID func(zone, name string) string

	mu        sync.Mutex
	settings  Settings
	faults    []Fault
	healed    chan struct{} // closed by the next Heal
	instances []Instance
	ledger    []Call
	last      int // Seq of the newest call
	dirty     bool
}

// New returns an empty cloud, or the cloud that the file of the Options holds.
func New(o Options) (*Cloud, error) {
	c := &Cloud{file: o.File, keep: o.Keep, witness: o.Witness, census: o.Census, now: o.Now, wait: o.Wait, providerID: o.ProviderID, settings: o.Settings,
		healed: make(chan struct{})}
	if c.keep == 0 {
		c.keep = 5000
	}
	if c.witness == nil {
		c.witness = func(context.Context, authority.API, Machine) Testimony { return Testimony{} }
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.wait == nil {
		c.wait = wait
	}
	return c, c.load()
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Instances returns every instance that ever existed, also the terminated ones, in the order of their launch.
func (c *Cloud) Instances(context.Context) ([]Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Clone(c.instances)
	for i := range out {
		out[i] = out[i].at(c.now(), c.settings)
	}
	return out, nil
}

// Act does to an instance, by hand, what no controller asked for.
func (c *Cloud) Act(_ context.Context, id string, act Act) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := slices.IndexFunc(c.instances, func(i Instance) bool { return i.ID == id })
	if n < 0 {
		return notFound(Key{ID: id})
	}
	i := &c.instances[n]
	if !i.Ended.IsZero() {
		return refuse(IncorrectState, "the instance %s is terminated, and cannot be changed any more", id)
	}
	switch act {
	case Stop:
		i.Stopped = c.now()
	case Boot:
		i.Stopped, i.Launched = time.Time{}, c.now()
	case End:
		i.Ended = c.now()
	default:
		return refuse(Malformed, "the action %q is unknown: use %s, %s or %s", act, Stop, Boot, End)
	}
	return c.save()
}

// As returns the cloud as that API's controllers see it.
func (c *Cloud) As(caller authority.API) API { return account{c, caller} }

// account is the API through which one caller uses a Cloud in the same process.
type account struct {
	cloud  *Cloud
	caller authority.API
}

func (a account) Launch(ctx context.Context, m Machine, o Order) (Instance, error) {
	return a.cloud.call(ctx, Call{Caller: a.caller, Verb: Launch, Machine: m}, func(t Testimony) (Instance, error) {
		return a.cloud.launch(Instance{Order: o, Machine: m, CreatedBy: a.caller, Incarnation: t.Incarnation})
	})
}

func (a account) Describe(ctx context.Context, m Machine, k Key) (Instance, error) {
	return a.cloud.call(ctx, Call{Caller: a.caller, Verb: Describe, Machine: m, Instance: k.ID}, func(Testimony) (Instance, error) {
		return a.cloud.find(k)
	})
}

func (a account) Terminate(ctx context.Context, m Machine, id string) error {
	_, err := a.cloud.call(ctx, Call{Caller: a.caller, Verb: Terminate, Machine: m, Instance: id}, func(Testimony) (Instance, error) {
		return a.cloud.terminate(id)
	})
	return err
}

// call writes a call to the ledger, applies the call's latency and its fault, and carries the call out. It holds the lock while it calls do.
func (c *Cloud) call(ctx context.Context, call Call, do func(Testimony) (Instance, error)) (Instance, error) {
	if err := ctx.Err(); err != nil {
		return Instance{}, err // the call was never sent
	}
	before := c.witness(ctx, call.Caller, call.Machine)
	call.Objection = cmp.Or(before.Objection, c.ofAnother(ctx, call))
	seq, fault, healed, latency := c.begin(call)
	if err := c.delay(ctx, fault, call.Verb, healed, latency); err != nil {
		c.end(seq, "", err.Error(), c.late(ctx, call))
		return Instance{}, err
	}
	late := ""
	if latency > 0 {
		late = c.late(ctx, call)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.carryOut(fault, call.Verb, before, do)
	outcome := "done"
	if err != nil {
		outcome = err.Error()
	}
	c.close(seq, i.ID, outcome, late)
	if err != nil {
		return Instance{}, err
	}
	return i, nil
}

func (c *Cloud) delay(ctx context.Context, fault Fault, verb Verb, healed <-chan struct{}, latency time.Duration) error {
	if fault.Do == Hang {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-healed:
			return fault.err(verb)
		}
	}
	if latency <= 0 {
		return nil
	}
	return c.wait(ctx, latency)
}

// ofAnother returns why the caller may not terminate an instance that was launched for another Machine than the call names, "" if it may.
func (c *Cloud) ofAnother(ctx context.Context, call Call) string {
	if call.Verb != Terminate {
		return ""
	}
	c.mu.Lock()
	n := slices.IndexFunc(c.instances, func(i Instance) bool {
		return i.ID == call.Instance && i.Ended.IsZero() && i.Machine.Name != call.Machine.Name
	})
	of := Machine{}
	if n >= 0 {
		of = c.instances[n].Machine
	}
	c.mu.Unlock()
	if n < 0 {
		return ""
	}
	if why := c.witness(ctx, call.Caller, of).Objection; why != "" {
		return fmt.Sprintf("the call was for the instance of Machine %s: %s", of.Name, why)
	}
	return ""
}

// late asks the Witness a second time after a call that took time, and returns its objection. Another API may be authoritative when the call is carried out, or
// given up, than when the call began.
func (c *Cloud) late(ctx context.Context, call Call) string {
	if call.Objection != "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if after := c.witness(ctx, call.Caller, call.Machine); after.Objection != "" {
		return "when the call ended, " + after.Objection
	}
	return ""
}

func (c *Cloud) carryOut(fault Fault, verb Verb, t Testimony, do func(Testimony) (Instance, error)) (Instance, error) {
	if fault.Do == Refuse {
		return Instance{}, fault.err(verb)
	}
	i, err := do(t)
	if err == nil && fault.Do == LoseAnswer {
		return Instance{ID: i.ID}, fault.err(verb)
	}
	return i, err
}

// launch creates an instance if the quota lets it. It marks an instance with an objection if a Machine must not have it beside an earlier one (second).
func (c *Cloud) launch(want Instance) (Instance, error) {
	now := c.now()
	alive := 0
	for _, i := range c.instances {
		i = i.at(now, c.settings)
		if i.Token != "" && i.Token == want.Token {
			return i, nil
		}
		if !i.Gone() {
			alive++
		}
		if want.Objection == "" {
			want.Objection = want.second(i)
		}
	}
	if c.settings.Quota > 0 && alive >= c.settings.Quota {
		return Instance{}, refuse(LimitExceeded, "the quota of %d instances is exhausted", c.settings.Quota)
	}
	c.name(&want)
	want.Launched = now
	c.instances = append(c.instances, want)
	return want.at(now, c.settings), c.save()
}

// name sets the ID and provider ID of a new instance.
func (c *Cloud) name(i *Instance) {
	number := len(c.instances) + 1
	if c.providerID == nil {
		i.ID = fmt.Sprintf("i-%08x%0*x", hash(i.Token), countDigits, number)
		return
	}
	i.Number = number
	i.Provider = c.providerID(i.Zone, fmt.Sprintf("%08x-0000-4000-8000-%012x", hash(i.Token), number))
	i.ID = InstanceID(i.Provider)
}

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

// find returns an instance as a cloud shows it that reports late (Settings.Lag): for a while, a new instance is not found, and a terminated one still exists.
func (c *Cloud) find(k Key) (Instance, error) {
	now := c.now()
	for _, i := range c.instances {
		if k.ID != i.ID && (k.ID != "" || k.Token == "" || k.Token != i.Token) {
			continue
		}
		if now.Sub(i.Launched) < c.settings.Lag {
			break
		}
		if now.Sub(i.Ended) < c.settings.Lag {
			i.Ended = time.Time{}
		}
		return i.at(now, c.settings), nil
	}
	return Instance{}, notFound(k)
}

func (c *Cloud) terminate(id string) (Instance, error) {
	if _, err := c.find(Key{ID: id}); err != nil {
		return Instance{}, err
	}
	n := slices.IndexFunc(c.instances, func(i Instance) bool { return i.ID == id })
	if !c.instances[n].Ended.IsZero() {
		return c.instances[n], nil
	}
	c.instances[n].Ended = c.now()
	return c.instances[n], c.save()
}
