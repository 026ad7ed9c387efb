// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies/authority"
)

// watch is a clock that advances only when a test advances it, or when somebody waits.
type watch struct {
	mu  sync.Mutex
	now time.Time
}

func newWatch() *watch { return &watch{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)} }

func (w *watch) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *watch) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *watch) Wait(ctx context.Context, d time.Duration) error {
	w.pass(d)
	return ctx.Err()
}

// world is a cloud under a clock of its own, and a panel of it: the cloud itself, or a client of it.
type world struct {
	Panel
	cloud *Cloud
	clock *watch
}

func (w world) mapi() API { return w.As(authority.MachineAPI) }
func (w world) capi() API { return w.As(authority.ClusterAPI) }

func newWorld(t *testing.T, o Options, remote bool) world {
	t.Helper()
	clock := newWatch()
	o.Now, o.Wait = clock.Now, clock.Wait
	if o.BootTime == 0 {
		o.BootTime, o.ShutdownTime = 2*time.Second, time.Second
	}
	cloud, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := world{cloud, cloud, clock}
	if remote {
		server := httptest.NewServer(Handler(cloud))
		t.Cleanup(server.Close)
		w.Panel = Dial(strings.TrimPrefix(server.URL, "http://"))
	}
	return w
}

// everywhere runs a test in this process and over HTTP: nobody may be able to tell them apart.
func everywhere(t *testing.T, o Options, test func(*testing.T, world)) {
	t.Helper()
	t.Run("in this process", func(t *testing.T) { test(t, newWorld(t, o, false)) })
	t.Run("over HTTP", func(t *testing.T) { test(t, newWorld(t, o, true)) })
}

func TestAnInstanceLives(t *testing.T) {
	everywhere(t, Options{}, func(t *testing.T, w world) {
		id := launch(t, w.mapi(), "worker-1", "uid-1").ID
		var states []State
		see := func() {
			i, err := w.mapi().Describe(t.Context(), Machine{Name: "worker-1"}, Key{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, i.State)
		}
		see()
		w.clock.pass(2 * time.Second)
		see()
		ok(t, w.Act(t.Context(), id, Stop))
		see()
		ok(t, w.Act(t.Context(), id, Boot))
		see()
		ok(t, w.mapi().Terminate(t.Context(), Machine{Name: "worker-1"}, id))
		see()
		ok(t, w.mapi().Terminate(t.Context(), Machine{Name: "worker-1"}, id)) // changes nothing
		w.clock.pass(time.Second)
		see()
		if diff := cmp.Diff([]State{Pending, Running, Stopped, Pending, ShuttingDown, Terminated}, states); diff != "" {
			t.Error(diff)
		}
		if err := w.Act(t.Context(), id, Boot); code(err) != IncorrectState {
			t.Errorf("starting what is terminated: %v", err)
		}
	})
}

func TestAskingTwiceIsAskingOnce(t *testing.T) {
	everywhere(t, Options{}, func(t *testing.T, w world) {
		first := launch(t, w.mapi(), "worker-1", "uid-1")
		if again := launch(t, w.mapi(), "worker-1", "uid-1"); again.ID != first.ID {
			t.Errorf("the same token made %s and %s", first.ID, again.ID)
		}
		byToken, err := w.mapi().Describe(t.Context(), Machine{Name: "worker-1"}, Key{Token: "uid-1"})
		if err != nil || byToken.ID != first.ID {
			t.Errorf("by its token: %s, %v", byToken.ID, err)
		}
		_, err = w.mapi().Describe(t.Context(), Machine{Name: "worker-1"}, Key{})
		if !IsNotFound(err) {
			t.Errorf("by nothing: %v", err)
		}
		ok(t, w.Audit(t.Context()))
	})
}

func TestNewsComeLate(t *testing.T) {
	everywhere(t, Options{Settings: Settings{BootTime: time.Second, ShutdownTime: time.Second, Lag: 5 * time.Second}}, func(t *testing.T, w world) {
		m := Machine{Name: "worker-1"}
		first := launch(t, w.mapi(), "worker-1", "uid-1")
		for _, k := range []Key{{ID: first.ID}, {Token: "uid-1"}} {
			if _, err := w.mapi().Describe(t.Context(), m, k); !IsNotFound(err) {
				t.Errorf("%s right after the launch: %v, want not found", k, err)
			}
		}
		if err := w.mapi().Terminate(t.Context(), m, first.ID); !IsNotFound(err) {
			t.Errorf("ending it right after the launch: %v, want not found", err)
		}
		if again := launch(t, w.mapi(), "worker-1", "uid-1"); again.ID != first.ID {
			t.Error("the token is forgotten while news are late")
		}
		w.clock.pass(5 * time.Second)
		ok(t, w.mapi().Terminate(t.Context(), m, first.ID))
		w.clock.pass(4 * time.Second)
		if i, err := w.mapi().Describe(t.Context(), m, Key{ID: first.ID}); err != nil || i.State != Running {
			t.Errorf("before the news of its end: %s, %v", i.State, err)
		}
		if all, _ := w.Instances(t.Context()); all[0].State != Terminated {
			t.Errorf("the panel sees %s, want the truth", all[0].State)
		}
		w.clock.pass(time.Second)
		if i, err := w.mapi().Describe(t.Context(), m, Key{ID: first.ID}); err != nil || i.State != Terminated {
			t.Errorf("after the news of its end: %s, %v", i.State, err)
		}
	})
}

func TestTheQuotaCountsWhatIsNotGone(t *testing.T) {
	everywhere(t, Options{Settings: Settings{BootTime: time.Second, ShutdownTime: time.Second, Quota: 1}}, func(t *testing.T, w world) {
		first := launch(t, w.mapi(), "worker-1", "uid-1")
		_, err := w.mapi().Launch(t.Context(), Machine{Name: "worker-2"}, Order{Token: "uid-2"})
		if code(err) != LimitExceeded {
			t.Errorf("beyond the quota: %v", err)
		}
		ok(t, w.mapi().Terminate(t.Context(), Machine{Name: "worker-1"}, first.ID))
		_, err = w.mapi().Launch(t.Context(), Machine{Name: "worker-2"}, Order{Token: "uid-2"})
		if code(err) != LimitExceeded {
			t.Errorf("while the first shuts down: %v", err)
		}
		w.clock.pass(time.Second)
		launch(t, w.mapi(), "worker-2", "uid-2")
	})
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault Fault
		// fails says which of a Launch of a, one of b and another one of a fail.
		fails [3]bool
		made  int
	}{
		"one call is refused":                 {Fault{Do: Refuse, Verb: Launch}, [3]bool{true}, 2},
		"two calls are refused":               {Fault{Do: Refuse, Times: 2}, [3]bool{true, true}, 1},
		"every call is refused":               {Fault{Do: Refuse, Times: -1}, [3]bool{true, true, true}, 0},
		"one Machine's calls are refused":     {Fault{Do: Refuse, Machine: "a", Times: -1}, [3]bool{true, false, true}, 1},
		"an answer is lost":                   {Fault{Do: LoseAnswer, Verb: Launch}, [3]bool{true}, 2},
		"another verb is none of its affairs": {Fault{Do: Refuse, Verb: Terminate}, [3]bool{}, 2},
		"nor is another caller":               {Fault{Do: Refuse, Caller: authority.ClusterAPI}, [3]bool{}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, Options{}, func(t *testing.T, w world) {
				ok(t, w.Inject(t.Context(), c.fault))
				var fails [3]bool
				for n, machine := range []string{"a", "b", "a"} {
					_, err := w.mapi().Launch(t.Context(), Machine{Name: machine}, Order{Token: machine})
					fails[n] = err != nil
				}
				all, err := w.Instances(t.Context())
				ok(t, err)
				if fails != c.fails || len(all) != c.made {
					t.Errorf("failed: %v, made: %d; want %v and %d", fails, len(all), c.fails, c.made)
				}
				ok(t, w.Heal(t.Context()))
				launch(t, w.mapi(), "a", "a")
			})
		})
	}
}

func TestWhatHangsEndsWithItsContext(t *testing.T) {
	everywhere(t, Options{}, func(t *testing.T, w world) {
		ok(t, w.Inject(t.Context(), Fault{Do: Hang, Machine: "worker-1"}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := w.mapi().Launch(ctx, Machine{Name: "worker-1"}, Order{})
			ended <- err
		}()
		underWay := func(is bool) func() bool {
			return func() bool {
				all, _ := w.Ledger(t.Context())
				return len(all) > 0 && (all[0].Outcome == "") == is
			}
		}
		eventually(t, "the call in the ledger", underWay(true))
		launch(t, w.mapi(), "worker-2", "uid-2") // others pass
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		eventually(t, "the call's end in the ledger", underWay(false))
		if all, _ := w.Instances(t.Context()); len(all) != 1 {
			t.Errorf("%d instances: what hung was carried out", len(all))
		}
	})
}

func TestWhatHangsEndsWhenTheFaultsAreTakenAway(t *testing.T) {
	everywhere(t, Options{}, func(t *testing.T, w world) {
		ok(t, w.Inject(t.Context(), Fault{Do: Hang, Times: -1}))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		ended := make(chan error)
		go func() {
			_, err := w.mapi().Describe(ctx, Machine{Name: "worker-1"}, Key{Token: "uid-1"})
			ended <- err
		}()
		eventually(t, "the call in the ledger", func() bool {
			all, _ := w.Ledger(t.Context())
			return len(all) > 0
		})
		ok(t, w.Heal(t.Context()))
		if err := <-ended; code(err) != Unavailable {
			t.Errorf("ended with %v", err)
		}
		launch(t, w.mapi(), "worker-1", "uid-1")
	})
}

func TestLatencyIsTheVerbsOwn(t *testing.T) {
	w := newWorld(t, Options{Settings: Settings{Latency: map[Verb]time.Duration{Launch: 3 * time.Second}}}, false)
	before := w.clock.Now()
	i := launch(t, w.mapi(), "worker-1", "uid-1")
	if took := w.clock.Now().Sub(before); took != 3*time.Second {
		t.Errorf("a launch took %s", took)
	}
	_, err := w.mapi().Describe(t.Context(), Machine{}, Key{ID: i.ID})
	ok(t, err)
	if took := w.clock.Now().Sub(before); took != 3*time.Second {
		t.Errorf("a launch and a question took %s", took)
	}
}

func TestACallThatOutlivesItsCallersChargeIsObjectedTo(t *testing.T) {
	authoritative := true
	witness := func(context.Context, authority.API, Machine) Testimony {
		defer func() { authoritative = false }() // while the call takes its time
		if authoritative {
			return Testimony{}
		}
		return Testimony{Objection: "somebody else was authoritative"}
	}
	for name, latency := range map[string]time.Duration{"slow": time.Second, "at once": 0} {
		authoritative = true
		w := newWorld(t, Options{Witness: witness, Settings: Settings{Latency: map[Verb]time.Duration{Launch: latency}}}, false)
		launch(t, w.mapi(), "worker-1", "uid-1")
		if err := w.Audit(t.Context()); (err != nil) != (latency > 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A name comes back, twins have UIDs of their own, and mirrors are recreated: see Instance.second.
func TestWhatIsOneInstanceTooMany(t *testing.T) {
	type asks struct {
		by    authority.API
		uid   types.UID
		stand []types.UID
	}
	first := asks{authority.MachineAPI, "m1", []types.UID{"m1", "c1"}}
	for name, c := range map[string]struct {
		first, second asks
		gone          bool
		wrong         bool
	}{
		"the twin asks while the first runs":                   {first, asks{authority.ClusterAPI, "c1", []types.UID{"m1", "c1"}}, false, true},
		"another Machine of the name, while the first runs":    {first, asks{authority.MachineAPI, "m2", []types.UID{"m2"}}, false, true},
		"another Machine of the name, when the first is gone":  {first, asks{authority.MachineAPI, "m2", []types.UID{"m2", "c2"}}, true, false},
		"the same object again, when the first is gone":        {first, asks{authority.MachineAPI, "m1", nil}, true, true},
		"the twin asks, when the first is gone":                {first, asks{authority.ClusterAPI, "c1", []types.UID{"m1", "c1"}}, true, true},
		"a mirror recreated asks, when the first is gone":      {first, asks{authority.ClusterAPI, "c2", []types.UID{"m1", "c2"}}, true, true},
		"an infrastructure object recreated, no twin":          {asks{authority.ClusterAPI, "a1", []types.UID{"c1"}}, asks{authority.ClusterAPI, "a2", []types.UID{"c1"}}, true, true},
		"a Machine of Cluster API alone, whose name came back": {asks{authority.ClusterAPI, "a1", []types.UID{"c1"}}, asks{authority.ClusterAPI, "a2", []types.UID{"c2"}}, true, false},
		"nobody saw anything, when the first is gone":          {asks{by: authority.MachineAPI}, asks{by: authority.ClusterAPI}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var stand []types.UID
			w := newWorld(t, Options{Witness: func(context.Context, authority.API, Machine) Testimony { return Testimony{Incarnation: stand} }}, false)
			ask := func(a asks) Instance {
				stand = a.stand
				i, err := w.As(a.by).Launch(t.Context(), Machine{Name: "worker-1", UID: a.uid}, Order{})
				ok(t, err)
				return i
			}
			one := ask(c.first)
			launch(t, w.mapi(), "worker-2", "") // another name is nobody's second
			if c.gone {
				ok(t, w.mapi().Terminate(t.Context(), Machine{}, one.ID))
				w.clock.pass(time.Second)
			}
			ok(t, w.Audit(t.Context()))
			ask(c.second)
			if err := w.Audit(t.Context()); (err != nil) != c.wrong {
				t.Errorf("Audit() = %v", err)
			}
		})
	}
}

func TestAuditHasACallThatTheWitnessObjectsTo(t *testing.T) {
	witness := func(_ context.Context, caller authority.API, _ Machine) Testimony {
		if caller == authority.ClusterAPI {
			return Testimony{Objection: "not authoritative"}
		}
		return Testimony{}
	}
	everywhere(t, Options{Witness: witness, Keep: 2}, func(t *testing.T, w world) {
		one := launch(t, w.mapi(), "worker-1", "uid-1")
		ok(t, w.Audit(t.Context()))
		_, err := w.capi().Describe(t.Context(), Machine{Name: "worker-1"}, Key{ID: one.ID})
		ok(t, err)
		for range 5 {
			_, err := w.mapi().Describe(t.Context(), Machine{Name: "worker-1"}, Key{ID: one.ID})
			ok(t, err)
		}
		err = w.Audit(t.Context())
		if err == nil || !strings.Contains(err.Error(), "Describe of Machine worker-1 by Cluster API: not authoritative") {
			t.Errorf("Audit() = %v, want the witness's objection, which the ledger keeps", err)
		}
		all, err := w.Ledger(t.Context())
		ok(t, err)
		if len(all) != 2 || all[1].Seq != 7 || all[1].Outcome != "done" || all[1].Instance != one.ID {
			t.Errorf("the ledger of two calls: %v", all)
		}
	})
}

func TestARestartFindsEverything(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.json")
	w := newWorld(t, Options{File: file, Witness: func(context.Context, authority.API, Machine) Testimony {
		return Testimony{Objection: "no", Incarnation: []types.UID{"m1"}}
	}}, false)
	one := launch(t, w.mapi(), "worker-1", "uid-1")
	_, err := w.mapi().Describe(t.Context(), Machine{Name: "worker-1", Namespace: "here", UID: "m1"}, Key{ID: one.ID})
	ok(t, err)
	ok(t, w.cloud.Flush())
	again := newWorld(t, Options{File: file}, false)
	for what, get := range map[string]func(world) any{
		"instances": func(w world) any { all, _ := w.Instances(t.Context()); return all },
		"ledger":    func(w world) any { all, _ := w.Ledger(t.Context()); return all },
		"audit":     func(w world) any { return w.Audit(t.Context()).Error() },
	} {
		if diff := cmp.Diff(get(w), get(again)); diff != "" {
			t.Errorf("%s after a restart:\n%s", what, diff)
		}
	}
	launch(t, again.mapi(), "worker-1", "uid-1")
	all, _ := again.Ledger(t.Context())
	if len(all) != 3 || all[2].Seq != 3 || all[2].Instance != one.ID {
		t.Errorf("after a restart the ledger goes on with %v", all)
	}
}

func TestSettingsAreChangedWhileItRuns(t *testing.T) {
	everywhere(t, Options{}, func(t *testing.T, w world) {
		want := Settings{BootTime: time.Minute, ShutdownTime: time.Second, Lag: time.Millisecond, Latency: map[Verb]time.Duration{Describe: time.Hour}, Quota: 3}
		ok(t, w.Configure(t.Context(), want))
		got, err := w.Settings(t.Context())
		ok(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := w.Configure(t.Context(), Settings{Quota: -1}); code(err) != Malformed {
			t.Errorf("a quota of -1: %v", err)
		}
	})
}

func launch(t *testing.T, api API, machine, token string) Instance {
	t.Helper()
	i, err := api.Launch(t.Context(), Machine{Name: machine}, Order{Token: token, Zone: "us-east-1a", Type: "m6i.large"})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func code(err error) Code {
	var e *Error
	errors.As(err, &e)
	if e == nil {
		return ""
	}
	return e.Code
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ; !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s", what)
		}
	}
}
