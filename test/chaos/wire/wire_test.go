// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/embedded"
)

var plane *embedded.Plane

func TestMain(m *testing.M) {
	os.Exit(embedded.Main(m, embedded.Options{}, func(p *embedded.Plane) error {
		plane = p
		return p.Serving(filepath.Join(p.Dir(), "wire"))
	}))
}

const user = "system:serviceaccount:default:walker"

func stretch(t *testing.T) *Wire {
	t.Helper()
	as, err := plane.As(user, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	w, err := Stretch(as, filepath.Join(plane.Dir(), "wire", "tls.crt"), filepath.Join(plane.Dir(), "wire", "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func dial(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// value returns what is stored, read without the wire.
func value(t *testing.T, name string) string {
	t.Helper()
	o := named(name)
	if err := dial(t, plane.Admin()).Get(t.Context(), client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return o.Data["value"]
}

func set(ctx context.Context, c client.Client, name, value string) error {
	return c.Patch(ctx, named(name), client.RawPatch(types.MergePatchType, []byte(`{"data":{"value":"`+value+`"}}`)))
}

func made(t *testing.T, name string) {
	t.Helper()
	o := named(name)
	o.Data = map[string]string{"value": "old"}
	if err := dial(t, plane.Admin()).Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func TestTheServerSeesWhoTheClientIs(t *testing.T) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := dial(t, stretch(t).Config()).Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	if got := review.Status.UserInfo.Username; got != user {
		t.Errorf("the server sees %s", got)
	}
}

func TestNobodyGetsInWithoutACertificate(t *testing.T) {
	config := stretch(t).Config()
	config.CertData, config.KeyData = nil, nil
	if err := set(t.Context(), dial(t, config), "any", "new"); !noAnswer(err) {
		t.Errorf("got %v", err)
	}
}

func TestHTTP2PassesThrough(t *testing.T) {
	config := stretch(t).Config()
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := h.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Proto != "HTTP/2.0" || answer.StatusCode != http.StatusOK {
		t.Errorf("%s %s", answer.Proto, answer.Status)
	}
}

func TestWhatARuleDoesToAWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		do     Effect
		is     func(error) bool
		stored string
	}{
		"a conflict":                      {Conflict(), apierrors.IsConflict, "old"},
		"too many requests":               {TooManyRequests(time.Second), apierrors.IsTooManyRequests, "old"},
		"an internal error":               {InternalError(), apierrors.IsInternalError, "old"},
		"no service":                      {Unavailable(), apierrors.IsServiceUnavailable, "old"},
		"a request that is lost":          {LoseRequest(), noAnswer, "old"},
		"an answer that is lost":          {LoseAnswer(), noAnswer, "new"},
		"a timeout after it was stored":   {TimedOut(), apierrors.IsTimeout, "new"},
		"a server that never answers":     {Hang(), func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, "old"},
		"a server that takes a moment":    {Slow(10 * time.Millisecond), func(err error) bool { return err == nil }, "new"},
		"something that happens after it": {Then(func() {}), func(err error) bool { return err == nil }, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			object := strings.ReplaceAll(name, " ", "-")
			made(t, object)
			w := stretch(t)
			w.Lay(Rule{When: Stores, Do: tc.do})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			// client-go retries by itself after a Retry-After, but not for ever.
			if err := set(ctx, dial(t, w.Config()), object, "new"); !tc.is(err) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the client was told %v", err)
			}
			if got := value(t, object); got != tc.stored {
				t.Errorf("stored is %q", got)
			}
		})
	}
}

func noAnswer(err error) bool {
	var status apierrors.APIStatus
	return err != nil && !errors.As(err, &status)
}

func TestAClientRetriesAfterRetryAfter(t *testing.T) {
	made(t, "again")
	w := stretch(t)
	w.Lay(Rule{When: Nth(1, Stores), Do: TooManyRequests(time.Second)})
	began := time.Now()
	if err := set(t.Context(), dial(t, w.Config()), "again", "new"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("it came again after %s", took)
	}
}

func TestTheJournalHasEachWriteInOrder(t *testing.T) {
	w := stretch(t)
	c := dial(t, w.Config())
	o := named("told")
	steps := []error{
		c.Create(t.Context(), named("told"), client.DryRunAll),
		c.Create(t.Context(), o),
		c.Get(t.Context(), client.ObjectKeyFromObject(o), o),
		set(t.Context(), c, "told", "new"),
		c.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"`+o.ResourceVersion+`","finalizers":["a.b/c"]}}`))),
		c.Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationForeground)),
	}
	if !apierrors.IsConflict(steps[4]) {
		t.Errorf("an old object was patched: %v", steps[4])
	}
	steps[4] = nil
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range w.Writes() {
		got = append(got, http.StatusText(one.Code)+": "+one.String())
	}
	want := []string{
		"Created: create configmaps application/vnd.kubernetes.protobuf",
		"OK: patch configmaps told data.value=new",
		"Conflict: patch configmaps told metadata.finalizers=[a.b/c]",
		"OK: delete configmaps told application/vnd.kubernetes.protobuf",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestACrashRightBeforeAndRightAfterTheNthWrite(t *testing.T) {
	made(t, "crash")
	w := stretch(t)
	c := dial(t, w.Config())
	var seen []string
	see := func() { seen = append(seen, value(t, "crash")) }
	w.Lay(Rule{When: Nth(2, Stores), Do: Before(see)})
	w.Lay(Rule{When: Nth(3, Stores), Do: After(see)})
	for i, v := range []string{"one", "two", "three"} {
		if err := set(t.Context(), c, "crash", v); (err == nil) != (i == 0) {
			t.Errorf("%s: %v", v, err)
		}
	}
	if diff := cmp.Diff([]string{"one", "three"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestStaleReads(t *testing.T) {
	made(t, "stale")
	w := stretch(t)
	c := dial(t, w.Config())
	get := func() string {
		o := named("stale")
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		return o.Data["value"]
	}
	got := []string{get()}
	lift := w.Lay(Rule{When: Reads, Do: w.Stale()})
	if err := set(t.Context(), c, "stale", "new"); err != nil {
		t.Fatal(err)
	}
	got = append(got, get())
	lift()
	if diff := cmp.Diff([]string{"old", "old", "new"}, append(got, get())); diff != "" {
		t.Error(diff)
	}
}

// watching follows one object through the wire.
func watching(t *testing.T, w *Wire, name string) watch.Interface {
	t.Helper()
	made(t, name)
	news, err := dial(t, w.Config()).Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("default"), client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(news.Stop)
	<-news.ResultChan() // that it exists
	return news
}

func TestWatchesPassAndAreDropped(t *testing.T) {
	w := stretch(t)
	news := watching(t, w, "watched")
	if err := set(t.Context(), dial(t, plane.Admin()), "watched", "new"); err != nil {
		t.Fatal(err)
	}
	if e := <-news.ResultChan(); e.Type != watch.Modified {
		t.Fatalf("got %v", e)
	}
	if n := w.DropWatches(); n != 1 {
		t.Errorf("dropped %d watches", n)
	}
	for e := range news.ResultChan() {
		if e.Type != watch.Error {
			t.Errorf("got %v", e)
		}
	}
}

func TestWatchesLagAndKeepTheirOrder(t *testing.T) {
	w := stretch(t)
	news := watching(t, w, "lags")
	const lag = 500 * time.Millisecond
	w.Lag(lag)
	began := time.Now()
	for _, v := range []string{"one", "two"} {
		if err := set(t.Context(), dial(t, plane.Admin()), "lags", v); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for range 2 {
		got = append(got, (<-news.ResultChan()).Object.(*corev1.ConfigMap).Data["value"])
	}
	if took := time.Since(began); took < lag {
		t.Errorf("the news came after %s", took)
	}
	if diff := cmp.Diff([]string{"one", "two"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPauseHoldsUpEverything(t *testing.T) {
	w := stretch(t)
	news := watching(t, w, "paused")
	w.Pause()
	written := make(chan error, 1)
	go func() { written <- set(t.Context(), dial(t, w.Config()), "paused", "late") }()
	if err := set(t.Context(), dial(t, plane.Admin()), "paused", "soon"); err != nil {
		t.Fatal(err)
	}
	silent := time.NewTimer(300 * time.Millisecond) // that nothing happens cannot be waited for otherwise
	defer silent.Stop()
	select {
	case err := <-written:
		t.Errorf("a write got through: %v", err)
	case e := <-news.ResultChan():
		t.Errorf("news got through: %v", e)
	case <-silent.C:
	}
	w.Resume()
	if err := <-written; err != nil {
		t.Error(err)
	}
	if got := (<-news.ResultChan()).Object.(*corev1.ConfigMap).Data["value"]; got != "soon" {
		t.Errorf("the first news is %q", got)
	}
}
