// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/policies/authority"
)

// curl is what a person sees who asks with curl, which accepts anything.
func curl(t *testing.T, c *Cloud, method, path, body string) (string, int) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Accept", "*/*")
	w := httptest.NewRecorder()
	Handler(c).ServeHTTP(w, r)
	value, err := io.ReadAll(w.Result().Body)
	ok(t, err)
	return string(value), w.Code
}

func TestWhatAPersonSees(t *testing.T) {
	w := newWorld(t, Options{Witness: func(_ context.Context, caller authority.API, _ Machine) Testimony {
		if caller == authority.ClusterAPI {
			return Testimony{Objection: "not authoritative"}
		}
		return Testimony{}
	}}, false)
	one := launch(t, w.mapi(), "worker-1", "uid-1")
	w.clock.pass(2 * time.Second)
	launch(t, w.mapi(), "worker-2", "uid-2")
	_, err := w.capi().Describe(t.Context(), Machine{Name: "worker-1"}, Key{ID: one.ID})
	ok(t, err)
	ok(t, w.mapi().Terminate(t.Context(), Machine{Name: "worker-1"}, one.ID))
	ok(t, w.Inject(t.Context(), Fault{Do: LoseAnswer, Verb: Launch, Machine: "worker-3"}, Fault{Do: Hang, Times: -1, Caller: authority.MachineAPI}))
	for path, want := range map[string]string{
		"/instances": `
ID                   STATE          MACHINE   ZONE        TYPE       CREATED BY   LAUNCHED      ENDED
i-50c45a43000000001  shutting-down  worker-1  us-east-1a  m6i.large  Machine API  12:00:00.000  12:00:02.000
i-51c45bd6000000002  pending        worker-2  us-east-1a  m6i.large  Machine API  12:00:02.000  -
`,
		"/instances?machine=worker-3": `
none
`,
		"/ledger?machine=worker-1": `
CALL  AT            BY           VERB       MACHINE   INSTANCE             OUTCOME  OBJECTION
1     12:00:00.000  Machine API  Launch     worker-1  i-50c45a43000000001  done     -
3     12:00:02.000  Cluster API  Describe   worker-1  i-50c45a43000000001  done     not authoritative
4     12:00:02.000  Machine API  Terminate  worker-1  i-50c45a43000000001  done     -
`,
		"/ledger?verb=Launch&caller=ClusterAPI": `
none
`,
		"/audit": `
the cloud's ledger:
  Jan  1 12:00:02.000 Describe of Machine worker-1 by Cluster API: not authoritative
`,
		"/faults": `
DO           VERB    MACHINE   CALLER       TIMES
lose-answer  Launch  worker-3  any          1
hang         any     any       Machine API  every time
`,
		"/settings": `
{
  "bootTime": "2s",
  "shutdownTime": "1s",
  "lag": "0s",
  "latency": {},
  "quota": 0
}
`,
		"/audit?output=json": `
["Jan  1 12:00:02.000 Describe of Machine worker-1 by Cluster API: not authoritative"]
`,
	} {
		t.Run(path, func(t *testing.T) {
			if got, _ := curl(t, w.cloud, http.MethodGet, path, ""); got != strings.TrimPrefix(want, "\n") {
				t.Error(cmp.Diff(strings.TrimPrefix(want, "\n"), got))
			}
		})
	}
}

func TestABadRequestSaysWhatToWrite(t *testing.T) {
	w := newWorld(t, Options{}, false)
	for name, c := range map[string]struct {
		method, path, body, want string
		code                     int
	}{
		"a misspelt setting":       {"PATCH", "/settings", `{"bootime":"1s"}`, `unknown field "bootime"`, 400},
		"a setting without a unit": {"PATCH", "/settings", `{"bootTime":"5"}`, `bootTime is "5": write a duration`, 400},
		"a negative duration":      {"PATCH", "/settings", `{"lag":"-5s"}`, `lag is "-5s": write a duration`, 400},
		"a verb that is none":      {"PATCH", "/settings", `{"latency":{"Reboot":"1s"}}`, `is not a known verb: use Launch`, 400},
		"a quota below zero":       {"PATCH", "/settings", `{"quota":-1}`, `quota is -1`, 400},
		"settings that are a list": {"PATCH", "/settings", `[]`, `reading the request`, 400},
		"a fault without a mishap": {"POST", "/faults", `{"verb":"Launch"}`, `do is "": use refuse, lose-answer or hang`, 400},
		"a fault of no verb":       {"POST", "/faults", `{"do":"hang","verb":"launch"}`, `verb is "launch": use Launch`, 400},
		"a fault of no caller":     {"POST", "/faults", `[{"do":"hang","caller":"mapi"}]`, `caller is "mapi": use MachineAPI or ClusterAPI`, 400},
		"no body":                  {"POST", "/faults", ``, `reading the request`, 400},
		"an instance that is none": {"POST", "/instances/i-1/terminate", ``, `there is no instance with i-1`, 404},
		"an act that is none":      {"POST", "/instances/" + launch(t, w.mapi(), "worker-1", "uid-1").ID + "/explode", ``, `use stop, start or terminate`, 400},
		"a caller that is none":    {"POST", "/call/Nobody/Launch", `{}`, `use MachineAPI or ClusterAPI`, 400},
		"a call that is none":      {"POST", "/call/MachineAPI/Reboot", `{}`, `the verb "Reboot" is unknown`, 400},
		"a page that is none":      {"GET", "/nowhere", ``, `not found`, 404},
	} {
		t.Run(name, func(t *testing.T) {
			text, code := curl(t, w.cloud, c.method, c.path, c.body)
			if code != c.code || !strings.Contains(text, c.want) {
				t.Errorf("%d: %s\nwant %d and %q", code, text, c.code, c.want)
			}
		})
	}
}

func TestASettingThatIsNotNamedStays(t *testing.T) {
	w := newWorld(t, Options{Settings: Settings{BootTime: time.Second, Quota: 2, Latency: map[Verb]time.Duration{Launch: time.Second}}}, false)
	if text, code := curl(t, w.cloud, http.MethodPatch, "/settings", `{"lag":"1m30s"}`); code != http.StatusOK {
		t.Fatal(text)
	}
	got, err := w.Settings(t.Context())
	ok(t, err)
	want := Settings{BootTime: time.Second, Lag: 90 * time.Second, Quota: 2, Latency: map[Verb]time.Duration{Launch: time.Second}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every line of the help that can be tried by itself is.
func TestTheHelpHelps(t *testing.T) {
	w := newWorld(t, Options{}, false)
	text, _ := curl(t, w.cloud, http.MethodGet, "/", "")
	const here = "http://example.com" // as whom httptest asks
	tried := 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "curl" || strings.Contains(line, "/ID/") {
			continue
		}
		method, path, body := http.MethodGet, "", ""
		for i, word := range words {
			switch {
			case word == "-X":
				method = words[i+1]
			case strings.HasPrefix(word, here):
				path = strings.TrimPrefix(word, here)
			case word == "-d":
				body = strings.Trim(words[i+1], "'")
				if method == http.MethodGet {
					method = http.MethodPost
				}
			}
		}
		if answer, code := curl(t, w.cloud, method, path, body); code != http.StatusOK {
			t.Errorf("%s: %d %s", strings.TrimSpace(line), code, answer)
		}
		tried++
	}
	if tried < 7 {
		t.Errorf("only %d lines of the help were tried", tried)
	}
}

// Who terminates another Machine's instance is found, under whatever name: which API is authoritative for that Machine counts.
func TestTheInstanceOfAnotherMachine(t *testing.T) {
	w := newWorld(t, Options{Witness: func(_ context.Context, caller authority.API, m Machine) Testimony {
		if caller == authority.ClusterAPI && m.Name == "worker-1" {
			return Testimony{Objection: "Machine API is authoritative"}
		}
		return Testimony{}
	}}, false)
	one, two := launch(t, w.mapi(), "worker-1", "uid-1"), launch(t, w.capi(), "worker-2", "uid-2")
	w.clock.pass(2 * time.Second)
	ok(t, w.capi().Terminate(t.Context(), Machine{Name: "kept-for-worker-2"}, two.ID))
	ok(t, w.Audit(t.Context()))
	ok(t, w.capi().Terminate(t.Context(), Machine{Name: "another"}, one.ID))
	if err := w.Audit(t.Context()); err == nil || !strings.Contains(err.Error(), "the call was for the instance of Machine worker-1: Machine API is authoritative") {
		t.Error(err)
	}
}

// An instance whose Machine both APIs have lost is found as long as it runs.
func TestAnInstanceLeftBehind(t *testing.T) {
	gone := false
	w := newWorld(t, Options{Census: func(context.Context) (func(Machine) bool, error) {
		return func(m Machine) bool { return !gone || m.Name != "worker-1" }, nil
	}}, false)
	one := launch(t, w.mapi(), "worker-1", "uid-1")
	launch(t, w.mapi(), "worker-2", "uid-2")
	ok(t, w.Audit(t.Context()))
	gone = true
	if err := w.Audit(t.Context()); err == nil || !strings.Contains(err.Error(), one.ID+" was left behind") || strings.Contains(err.Error(), "worker-2") {
		t.Error(err)
	}
	ok(t, w.Act(t.Context(), one.ID, End))
	ok(t, w.Audit(t.Context()))
}
