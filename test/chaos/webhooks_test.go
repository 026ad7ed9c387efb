// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// attempt is one request of a person.
type attempt struct {
	message string
	do      func(context.Context) error
}

// barred returns the requests that must be refused whatever is down. Machine API is authoritative for the play's set and Machine.
func (p *play) barred() []attempt {
	return []attempt{
		{"edit the mirror of the set", p.merges(p.set(capi).empty(), `{"spec":{"replicas":4}}`)},
		{"scale the mirror of the set", func(ctx context.Context) error {
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
			return admin.SubResource("scale").Update(ctx, p.set(capi).empty(), client.WithSubResourceBody(scale))
		}},
		{"edit the mirror of the Machine", p.merges(p.the(capi).empty(), `{"spec":{"failureDomain":"us-east-1c"}}`)},
		{"release the mirror of the Machine", p.merges(p.the(capi).empty(), `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)},
		{"edit the AWSMachine", p.merges(p.infra(), `{"spec":{"instanceType":"m6i.4xlarge"}}`)},
		{"release the AWSMachine", p.merges(p.infra(), `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)},
		{"delete the AWSMachine", func(ctx context.Context) error { return stage.Admin.Delete(ctx, p.infra()) }},
		{"forge the status", func(ctx context.Context) error {
			return stage.Admin.Status().Patch(ctx, p.set(mapi).empty(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"synchronizedGeneration":77}}`)))
		}},
		{"forge the finalizer of a Machine that is Cluster API's", p.forge()},
	}
}

// open returns the requests that must be allowed whatever is down: deletions about which a webhook only warns, and requests to objects of Machine API that
// never moved.
func (p *play) open() []attempt {
	deletes := func(o thing) func(context.Context) error {
		return func(ctx context.Context) error { return stage.Admin.Delete(ctx, o.empty(), client.DryRunAll) }
	}
	return []attempt{
		{"delete the set", deletes(p.set(mapi))},
		{"delete its mirror", deletes(p.set(capi))},
		{"delete the Machine", deletes(p.the(mapi))},
		{"delete its mirror", deletes(p.the(capi))},
		{"edit the set", p.tries(p.set(mapi).empty(), `{"spec":{"replicas":2}}`)},
		{"edit the Machine", p.tries(p.the(mapi).empty(), `{"metadata":{"labels":{"machine.openshift.io/mine":"yes"}}}`)},
		{"scale the set", func(ctx context.Context) error {
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
			return admin.SubResource("scale").Update(ctx, p.set(mapi).empty(), client.WithSubResourceBody(scale), client.DryRunAll)
		}},
		{"write the Machine's status", func(ctx context.Context) error {
			return stage.Admin.Status().Patch(ctx, p.the(mapi).empty(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`)),
				client.DryRunAll)
		}},
		{"create a Machine", func(ctx context.Context) error {
			m := p.the(mapi).empty()
			m.SetName(p.name + "-new")
			return stage.Admin.Create(ctx, m, client.DryRunAll)
		}},
	}
}

// forge returns a request that creates a Machine for Cluster API with the finalizer under which the Machine API's controllers call the cloud.
func (p *play) forge() func(context.Context) error {
	return func(ctx context.Context) error {
		m := p.the(mapi).empty()
		m.SetName(p.name + "-forged")
		m.SetFinalizers([]string{authority.MachineAPIMachineFinalizer})
		_ = unstructured.SetNestedField(m.Object, "ClusterAPI", "spec", "authoritativeAPI")
		return stage.Admin.Create(ctx, m)
	}
}

func (p *play) infra() *unstructured.Unstructured {
	for _, kind := range kinds() {
		if kind.GetKind() == "AWSMachine" {
			kind.SetName(p.machine)
			return kind
		}
	}
	return nil
}

func (p *play) merges(o *unstructured.Unstructured, body string) func(context.Context) error {
	return func(ctx context.Context) error {
		return stage.Admin.Patch(ctx, o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)))
	}
}

// tries returns a merge patch as a dry run.
func (p *play) tries(o *unstructured.Unstructured, body string) func(context.Context) error {
	return func(ctx context.Context) error {
		return stage.Admin.Patch(ctx, o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
	}
}

// try makes all attempts at once, and returns their results in order.
func try(ctx context.Context, all []attempt) []error {
	out := make([]error, len(all))
	var group sync.WaitGroup
	for i, a := range all {
		group.Go(func() { out[i] = a.do(ctx) })
	}
	group.Wait()
	return out
}

// refused reports an error unless each attempt was refused, by a rule or because nobody could answer.
func (p *play) refused(all []attempt, errs []error) {
	p.Helper()
	for i, err := range errs {
		if text := fmt.Sprint(err); !p.printed[all[i].message+text] {
			p.printed[all[i].message+text] = true
			p.Logf("%s: %.160s", all[i].message, text)
		}
		if err == nil || !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) && !strings.Contains(err.Error(), "webhook") {
			p.Errorf("%s: %v, and was to be refused", all[i].message, err)
		}
	}
}

// holds makes every attempt, and reports an error if any object has changed after it.
func (p *play) holds() {
	p.Helper()
	before := p.versions()
	p.refused(p.barred(), try(p.Context(), p.barred()))
	allowed := try(p.Context(), p.open())
	for i, err := range allowed {
		if err != nil {
			p.Errorf("%s: %v", p.open()[i].message, err)
		}
	}
	if now := p.versions(); now != before {
		p.Errorf("something was changed:\n%s\nand is now\n%s", before, now)
	}
}

// versions returns the versions of the specs, past any cache.
func (p *play) versions() string {
	p.Helper()
	var out strings.Builder
	for _, o := range []*unstructured.Unstructured{p.set(mapi).empty(), p.set(capi).empty(), p.the(mapi).empty(), p.the(capi).empty(), p.infra()} {
		if err := stage.Admin.Get(p.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			p.Error(err)
		}
		fmt.Fprintf(&out, "%s %s %d %v %v\n", o.GetKind(), o.GetUID(), o.GetGeneration(), o.GetAnnotations(), o.GetDeletionTimestamp())
	}
	return out.String()
}

// door is a request that the webhooks must answer, and that is allowed.
func (p *play) door(ctx context.Context) error {
	return stage.Admin.Patch(ctx, p.the(capi).empty(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"example.com/mine":"yes"}}}`)),
		client.DryRunAll)
}

func TestWebhooksOutOfReach(t *testing.T) {
	f := newFront(t)
	p := newPlay()
	p.printed = map[string]bool{}
	p.on(t, func(p *play) { p.ready(story{"locks hold", steps{aSet(1)}, nil}) })
	answers := func(p *play) { p.eventually("the webhooks answer", func() bool { return p.door(p.Context()) == nil }) }
	for _, c := range []struct {
		message string
		do      func(p *play)
	}{
		{"all is well", (*play).holds},
		{"the webhooks are gone", func(p *play) {
			behind := f.behind
			f.put()
			p.holds()
			f.put(behind...)
		}},
		{"the webhooks are slow", func(p *play) {
			f.stop()
			p.holds()
			f.flow()
		}},
		{"the manager is killed", func(p *play) {
			must(p.T, stage.StopManager())
			p.holds()
			must(p.T, stage.StartManager(p.Context()))
		}},
		{"the certificate is rotated", func(p *play) { p.rotates(f) }},
		{"one of two is gone", func(p *play) { p.loses(f) }},
	} {
		t.Run(c.message, func(t *testing.T) {
			p.on(t, answers)
			p.on(t, c.do)
		})
	}
	p.on(t, (*play).clean)
}

// during makes attempts until over returns true, and returns how often the door did not open.
func (p *play) during(over func() bool) (closed, asked int) {
	p.Helper()
	before := p.versions()
	for !over() {
		p.refused(p.barred(), try(p.Context(), p.barred()))
		asked++
		if err := p.door(p.Context()); err != nil {
			p.Logf("the door: %v", err)
			closed++
		}
	}
	if now := p.versions(); now != before {
		p.Errorf("something was changed:\n%s\nand is now\n%s", before, now)
	}
	return closed, asked
}

// rotates deletes the certificate while requests come. No request may meet a certificate that the API server does not trust.
func (p *play) rotates(f *front) {
	old := p.serial(f)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: stage.Pairs[0].ClusterAPI, Name: "poundlock-serving"}}
	must(p.T, admin.Delete(p.Context(), secret))
	until := time.Now().Add(patience)
	closed, asked := p.during(func() bool {
		if old != "" && p.serial(f) != old { // and for a while after that
			old, until = "", time.Now().Add(3*time.Second)
		}
		return time.Now().After(until)
	})
	if old != "" {
		p.Error("no other certificate was served")
	}
	p.Logf("the door was asked %d times and did not open %d times", asked, closed)
	if closed > 0 {
		p.Error("the door did not open at all times")
	}
}

// serial returns the serial number of the certificate that is served.
func (p *play) serial(f *front) string {
	conn, err := tls.Dial("tcp", f.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return ""
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// loses kills one of two managers that serve, while requests come.
func (p *play) loses(f *front) {
	behind := f.behind
	second := newReplica(p.T, "poundlock-b", "--reconcilers=false")
	second.start(p.T)
	f.put(append([]string{second.webhooks}, behind...)...)
	defer f.put(behind...)
	began, killed := time.Now(), false
	closed, asked := p.during(func() bool {
		if !killed && time.Since(began) > 2*time.Second {
			second.kill()
			killed = true
		}
		return time.Since(began) > 6*time.Second
	})
	p.Logf("the door was asked %d times and did not open %d times", asked, closed)
	if closed > 2 {
		p.Error("the other one does not serve")
	}
}
