// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/machine"
)

func TestTheSimulatedActuatorConforms(t *testing.T) {
	for name, remote := range map[string]bool{"in this process": false, "over HTTP": true} {
		t.Run(name, func(t *testing.T) {
			Conform(t, func(t *testing.T) Subject { return simulated(newWorld(t, Options{}, remote), nil) })
		})
	}
}

// lag is how late news come when they do: longer than anything else takes.
const lag = 10 * time.Second

// simulated is the actuator over a world, or what wrap makes of it.
func simulated(w world, wrap func(world, machine.Actuator) machine.Actuator) Subject {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	heal := func() { must(w.Heal(ctx)) }
	change := func(f func(*Settings)) {
		s, err := w.Settings(ctx)
		must(err)
		f(&s)
		must(w.Configure(ctx, s))
	}
	by := func(name string, act Act) {
		for _, i := range must1(w.Instances(ctx)) {
			if i.Machine.Name == name && !i.Gone() {
				must(w.Act(ctx, i.ID, act))
			}
		}
	}
	var actuator machine.Actuator = &Actuator{Cloud: w.mapi(), ListedWithin: lag + 2*time.Second, Now: w.clock.Now}
	if wrap != nil {
		actuator = wrap(w, actuator)
	}
	return Subject{
		Actuator: actuator,
		Machine:  func(name string, uid types.UID) *machinev1beta1.Machine { return aMachine(name, uid, plain) },
		Invalid:  spoilers(),
		Alive: func(name string) int {
			return len(slices.DeleteFunc(must1(w.Instances(ctx)), func(i Instance) bool { return i.Machine.Name != name || i.Gone() }))
		},
		Rest: func() {
			w.clock.pass(2 * lag)
			change(func(s *Settings) { s.Lag = 0 })
		},
		Patience: 300 * time.Millisecond,
		Foreign: func(name string) string {
			i, err := w.capi().Launch(ctx, Machine{Name: name, UID: "another-apis"}, Order{Token: "another-apis", Zone: "us-east-1c", Type: "m6i.large"})
			must(err)
			return i.ProviderID()
		},
		LoseAnswer: func() { must(w.Inject(ctx, Fault{Do: LoseAnswer, Verb: Launch})) },
		Refuse: func() func() {
			must(w.Inject(ctx, Fault{Do: Refuse, Times: -1}))
			return heal
		},
		Hang: func() func() {
			must(w.Inject(ctx, Fault{Do: Hang, Times: -1}))
			return heal
		},
		Exhaust: func() func() {
			launched, err := w.mapi().Launch(ctx, Machine{Name: "takes-the-room"}, Order{})
			must(err)
			change(func(s *Settings) { s.Quota = 1 })
			return func() { must(w.Act(ctx, launched.ID, End)); w.clock.pass(lag) }
		},
		Delay: func() { change(func(s *Settings) { s.Lag = lag }) },
		End:   func(name string) { by(name, End) },
		Stop:  func(name string) { by(name, Stop) },
	}
}

func must1[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// plain is a providerSpec that can be made.
const plain = `{"kind": "AWSMachineProviderConfig", "ami": {"id": "ami-1"}, "instanceType": "m6i.large", "placement": {"region": "us-east-1", "availabilityZone": "us-east-1b"}}`

func aMachine(name string, uid types.UID, spec string) *machinev1beta1.Machine {
	m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "openshift-machine-api", Name: name, UID: uid, ResourceVersion: "1",
		CreationTimestamp: metav1.NewTime(newWatch().Now()),
	}}
	m.Spec.ProviderSpec.Value = &kruntime.RawExtension{Raw: []byte(spec)}
	return m
}

func spoilers() map[string]func(*machinev1beta1.Machine) {
	out := map[string]func(*machinev1beta1.Machine){
		"no providerSpec": func(m *machinev1beta1.Machine) { m.Spec.ProviderSpec.Value = nil },
	}
	for what, spec := range map[string]string{
		"an empty providerSpec":          ``,
		"a providerSpec that is no JSON": `{`,
		"a providerSpec that is a list":  `[]`,
		"a number that is a word":        `{"deviceIndex": "0"}`,
		"another provider's":             `{"kind": "GCPMachineProviderSpec", "ami": {"id": "a"}, "instanceType": "x"}`,
		"no instanceType":                `{"ami": {"id": "ami-1"}}`,
		"no ami":                         `{"instanceType": "m6i.large"}`,
		"an ami without a name":          `{"instanceType": "m6i.large", "ami": {"filters": [{"name": "x"}]}}`,
		"a zone of another region":       `{"instanceType": "m6i.large", "ami": {"id": "ami-1"}, "placement": {"region": "us-east-1", "availabilityZone": "eu-west-1a"}}`,
	} {
		out[what] = func(m *machinev1beta1.Machine) { m.Spec.ProviderSpec.Value.Raw = []byte(spec) }
	}
	return out
}

// bad is an actuator that does one thing wrong.
type bad struct {
	machine.Actuator
	exists                 func(context.Context, *machinev1beta1.Machine) (bool, error)
	create, update, delete func(context.Context, *machinev1beta1.Machine) error
}

func (b bad) Exists(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
	if b.exists != nil {
		return b.exists(ctx, m)
	}
	return b.Actuator.Exists(ctx, m)
}

func (b bad) Create(ctx context.Context, m *machinev1beta1.Machine) error {
	if b.create != nil {
		return b.create(ctx, m)
	}
	return b.Actuator.Create(ctx, m)
}

func (b bad) Update(ctx context.Context, m *machinev1beta1.Machine) error {
	if b.update != nil {
		return b.update(ctx, m)
	}
	return b.Actuator.Update(ctx, m)
}

func (b bad) Delete(ctx context.Context, m *machinev1beta1.Machine) error {
	if b.delete != nil {
		return b.delete(ctx, m)
	}
	return b.Actuator.Delete(ctx, m)
}

type verb = func(context.Context, *machinev1beta1.Machine) error

// after is a verb that then spoils what the good one left.
func after(good verb, spoil func(*machinev1beta1.Machine)) verb {
	return func(ctx context.Context, m *machinev1beta1.Machine) error {
		err := good(ctx, m)
		spoil(m)
		return err
	}
}

// sin is an actuator that breaks a sentence of the contract, and the check that catches it.
type sin struct {
	plant  func(w world, good machine.Actuator) machine.Actuator
	caught string
}

func planted() map[string]sin {
	return map[string]sin{
		"Exists that makes up for what was ended": {func(w world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, exists: func(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
				is, err := good.Exists(ctx, m)
				if !is && err == nil && AWS().named(m) != "" {
					_, err = w.mapi().Launch(ctx, subject(m), Order{})
				}
				return is, err
			}}
		}, "Exists changes nothing"},
		"Exists that asks for what is not there": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, exists: func(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
				_ = good.Create(ctx, m)
				return good.Exists(ctx, m)
			}}
		}, "Exists returns false if no instance was created"},
		"Exists that counts what is terminated": {func(w world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, exists: func(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
				_, err := w.mapi().Describe(ctx, subject(m), Key{ID: AWS().named(m)})
				return err == nil, nil
			}}
		}, "Exists returns false for a terminated instance"},
		"Exists that takes an error for a no": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, exists: func(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
				is, _ := good.Exists(ctx, m)
				return is, nil
			}}
		}, "Exists returns an error if the provider does not answer"},
		"Exists that wants it to run": {func(w world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, exists: func(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
				is, err := good.Exists(ctx, m)
				i, _ := w.mapi().Describe(ctx, subject(m), Key{Token: string(m.UID)})
				return is && i.State != Stopped, err
			}}
		}, "Exists returns true for a stopped instance"},
		"Exists that believes a provider that is slow to tell": {func(w world, _ machine.Actuator) machine.Actuator {
			return &Actuator{Cloud: w.mapi(), Now: w.clock.Now}
		}, "Create creates no second instance while the provider does not list the first yet"},
		"Create without a token": {func(w world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
				i, err := w.mapi().Launch(ctx, subject(m), Order{Zone: "us-east-1a", Type: "m6i.large"})
				if err == nil {
					AWS().writeInstance(m, i)
				}
				return err
			}}
		}, "two calls of Create create one instance"},
		"Create without a token, where it names none": {func(w world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if AWS().named(m) != "" {
					return good.Create(ctx, m)
				}
				i, err := w.mapi().Launch(ctx, subject(m), Order{Zone: "us-east-1a", Type: "m6i.large"})
				if err == nil {
					AWS().writeInstance(m, i)
				}
				return err
			}}
		}, "Create with an outdated Machine creates no second instance"},
		"a token that is the name": {func(w world, _ machine.Actuator) machine.Actuator {
			return byName{&Actuator{Cloud: w.mapi(), ListedWithin: lag, Now: w.clock.Now}}
		}, "an instance is recognized by the Machine's UID, and not by its name"},
		"a token that is new each time": {func(w world, _ machine.Actuator) machine.Actuator {
			return &Actuator{Cloud: &forgetful{API: w.mapi()}, ListedWithin: lag, Now: w.clock.Now}
		}, "an instance of a Create whose answer was lost is found, and not created twice"},
		"Create that makes nothing": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, create: func(context.Context, *machinev1beta1.Machine) error { return nil }}
		}, "Create creates one instance"},
		"want of room that is terminal": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if err := good.Create(ctx, m); code(err) == LimitExceeded {
					return machine.Terminal(machinev1beta1.InsufficientResourcesMachineError, "no room")
				} else if err != nil {
					return err
				}
				return nil
			}}
		}, "Create without capacity returns an error that is not terminal"},
		"an invalid configuration that passes": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if err := good.Create(ctx, m); err != nil {
					return fmt.Errorf("%s", err.Error())
				}
				return nil
			}}
		}, "an invalid configuration is a terminal error that names the field"},
		"an invalid configuration that names no field": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
				err := good.Create(ctx, m)
				if _, is := machine.AsTerminal(err); is {
					return machine.InvalidConfiguration("something is wrong")
				}
				return err
			}}
		}, "an invalid configuration is a terminal error that names the field"},
		"every error is terminal": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, update: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if err := good.Update(ctx, m); err != nil {
					return machine.Terminal(machinev1beta1.UpdateMachineError, "%v", err)
				}
				return nil
			}}
		}, "a temporary refusal of the provider is an error that is not terminal"},
		"Update that tells nothing": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, update: func(context.Context, *machinev1beta1.Machine) error { return nil },
				create: after(good.Create, func(m *machinev1beta1.Machine) { delete(m.Labels, "machine.openshift.io/zone") })}
		}, "Update reports the state of the instance"},
		"Update that tells the time": {func(_ world, good machine.Actuator) machine.Actuator {
			var calls atomic.Int32
			return bad{Actuator: good, update: after(good.Update, func(m *machinev1beta1.Machine) {
				metav1.SetMetaDataAnnotation(&m.ObjectMeta, "seen", fmt.Sprint(calls.Add(1)))
			})}
		}, "Update changes nothing if the instance has not changed"},
		"Delete that misses what is not there": {func(w world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, delete: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if _, err := w.mapi().Describe(ctx, subject(m), Key{ID: AWS().named(m), Token: string(m.UID)}); err != nil {
					return err
				}
				return good.Delete(ctx, m)
			}}
		}, "Delete succeeds if there is no instance"},
		"Delete that reads the providerSpec": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, delete: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if _, err := AWS().orderOf(m); err != nil {
					return err
				}
				return good.Delete(ctx, m)
			}}
		}, "Delete succeeds for a Machine with an invalid configuration"},
		"Delete that does not wait": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, delete: func(ctx context.Context, m *machinev1beta1.Machine) error {
				err := good.Delete(ctx, m)
				if _, is := machine.AsRequeueAfter(err); is {
					return nil
				}
				return err
			}}
		}, "Delete succeeds only when nothing is left in the cloud"},
		"Delete that waits for no time": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, delete: func(ctx context.Context, m *machinev1beta1.Machine) error {
				err := good.Delete(ctx, m)
				if _, is := machine.AsRequeueAfter(err); is {
					return machine.RequeueAfter(0, "nothing")
				}
				return err
			}}
		}, "Delete succeeds only when nothing is left in the cloud"},
		"Delete that reports waiting as a failure": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, delete: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if err := good.Delete(ctx, m); err != nil {
					return fmt.Errorf("%s", err.Error())
				}
				return nil
			}}
		}, "Delete succeeds only when nothing is left in the cloud"},
		"Delete that knows the provider ID alone": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, delete: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if m.Spec.ProviderID == nil {
					return nil
				}
				return good.Delete(ctx, m)
			}}
		}, "Delete finds the instance of a Create whose answer was lost"},
		"Delete that knows the provider ID alone, from an old cache": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, delete: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if m.Spec.ProviderID == nil {
					return nil
				}
				return good.Delete(ctx, m)
			}}
		}, "Delete with an outdated Machine finds the instance"},
		"Delete that misses what was deleted": {func(_ world, good machine.Actuator) machine.Actuator {
			done := map[types.UID]bool{}
			return bad{Actuator: good, delete: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if done[m.UID] {
					return machine.Terminal(machinev1beta1.DeleteMachineError, "it is deleted already")
				}
				err := good.Delete(ctx, m)
				done[m.UID] = err == nil
				return err
			}}
		}, "Delete succeeds again after it has succeeded"},
		"Delete that believes a provider that is slow to tell": {func(w world, good machine.Actuator) machine.Actuator {
			hasty := &Actuator{Cloud: w.mapi(), Now: w.clock.Now}
			return bad{Actuator: good, delete: hasty.Delete}
		}, "Delete leaves no instance behind while the provider does not list it yet"},
		"a provider ID that is not looked at": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, exists: func(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
				m.Spec.ProviderID = nil
				return good.Exists(ctx, m)
			}}
		}, "an instance is recognized by spec.providerID alone"},
		"a finalizer of its own": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, create: after(good.Create, func(m *machinev1beta1.Machine) { m.Finalizers = append(m.Finalizers, "mine") })}
		}, "the actuator changes only the fields of the Machine that it may change"},
		"a phase of its own": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, update: after(good.Update, func(m *machinev1beta1.Machine) { m.Status.Phase = nil })}
		}, "the actuator changes only the fields of the Machine that it may change"},
		"labels of its own alone": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, update: after(good.Update, func(m *machinev1beta1.Machine) { delete(m.Labels, "example.com/whose") })}
		}, "the actuator changes only the fields of the Machine that it may change"},
		"a condition that is the controller's": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, delete: after(good.Delete, func(m *machinev1beta1.Machine) { m.Status.Conditions = nil })}
		}, "the actuator changes only the fields of the Machine that it may change"},
		"a providerSpec that is put right": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, create: after(good.Create, func(m *machinev1beta1.Machine) { m.Spec.ProviderSpec.Value = nil })}
		}, "the actuator changes only the fields of the Machine that it may change"},
		"a context that is not looked at": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, update: func(ctx context.Context, m *machinev1beta1.Machine) error {
				later, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
				defer cancel()
				return good.Update(later, m)
			}}
		}, "a call returns when its context ends"},
		"an end of the context that is swallowed": {func(_ world, good machine.Actuator) machine.Actuator {
			return bad{Actuator: good, delete: func(ctx context.Context, m *machinev1beta1.Machine) error {
				err := good.Delete(ctx, m)
				if ctx.Err() != nil {
					return nil //nolint:nilerr // that is its sin
				}
				return err
			}}
		}, "a call returns when its context ends"},
		"one Machine's answer for another": {func(w world, _ machine.Actuator) machine.Actuator {
			return &Actuator{Cloud: &singular{API: w.mapi()}, ListedWithin: lag, Now: w.clock.Now}
		}, "calls for several Machines at the same time do not disturb each other"},
	}
}

// TestTheSuiteCatches plants actuators that break one sentence each. Each is caught by the check of that sentence, at least.
func TestTheSuiteCatches(t *testing.T) {
	for name, c := range planted() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caught := []string{}
			for _, check := range checks {
				if failed := record(t, func(r *recorder) { check.try(r, simulated(newWorld(t, Options{}, false), c.plant)) }); failed != "" {
					caught = append(caught, check.promise)
				}
			}
			if !slices.Contains(caught, c.caught) {
				t.Errorf("not caught by %q; caught by %q", c.caught, caught)
			}
		})
	}
}

// Every check must be able to fail: each is named by a planted actuator above.
func TestEveryCheckIsNeeded(t *testing.T) {
	caught := map[string]bool{}
	for _, p := range planted() {
		caught[p.caught] = true
	}
	for _, c := range checks {
		if !caught[c.promise] {
			t.Errorf("nothing planted is caught by %q", c.promise)
		}
	}
}

func TestAMissingPartOfTheSubjectSkips(t *testing.T) {
	skipped := 0
	for _, c := range checks {
		s := simulated(newWorld(t, Options{}, false), nil)
		s.LoseAnswer = nil
		failed := record(t, func(r *recorder) {
			defer func() { skipped += r.skipped }()
			c.try(r, s)
		})
		if failed != "" {
			t.Errorf("%s: %s", c.promise, failed)
		}
	}
	if skipped != 2 {
		t.Errorf("%d checks were skipped for want of LoseAnswer, want 2", skipped)
	}
}

// recorder is a T that remembers instead of failing.
type recorder struct {
	*testing.T
	mu      sync.Mutex
	failed  []string
	skipped int
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(string, ...any) {
	r.skipped++
	runtime.Goexit()
}

// record runs a check to its end, and returns what it found.
func record(t *testing.T, run func(*recorder)) string {
	r := &recorder{T: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(r)
	}()
	<-done
	return strings.Join(r.failed, "; ")
}

// byName takes the name for the UID.
type byName struct{ *Actuator }

func (b byName) as(m *machinev1beta1.Machine, call func(*machinev1beta1.Machine)) {
	uid := m.UID
	m.UID = types.UID(m.Name)
	call(m)
	m.UID = uid
}

func (b byName) Exists(ctx context.Context, m *machinev1beta1.Machine) (is bool, err error) {
	b.as(m, func(m *machinev1beta1.Machine) { is, err = b.Actuator.Exists(ctx, m) })
	return is, err
}

func (b byName) Create(ctx context.Context, m *machinev1beta1.Machine) (err error) {
	b.as(m, func(m *machinev1beta1.Machine) { err = b.Actuator.Create(ctx, m) })
	return err
}

// forgetful gives every request another token, and finds nothing by one.
type forgetful struct {
	API
	mu sync.Mutex
	n  int
}

func (f *forgetful) Launch(ctx context.Context, m Machine, o Order) (Instance, error) {
	f.mu.Lock()
	f.n++
	o.Token = fmt.Sprint(o.Token, f.n)
	f.mu.Unlock()
	return f.API.Launch(ctx, m, o)
}

// singular gives everybody the first answer.
type singular struct {
	API
	mu    sync.Mutex
	first Instance
}

func (s *singular) Launch(ctx context.Context, m Machine, o Order) (Instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.API.Launch(ctx, m, o)
	if s.first.ID == "" {
		s.first = i
	}
	return s.first, err
}
