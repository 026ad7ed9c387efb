// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

// shapes return two growing documents. The second differs from the first in as many places as possible.
var shapes = map[string]func(n int) (before, after string){
	"nested": func(n int) (string, string) {
		n = min(n, 4000) // encoding/json stops at 10,000
		return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n), strings.Repeat(`{"a":`, n) + `2` + strings.Repeat(`}`, n)
	},
	"nested, with a change at each level": func(n int) (string, string) {
		n = min(n, 4000)
		return strings.Repeat(`{"b":1,"a":`, n) + `1` + strings.Repeat(`}`, n), strings.Repeat(`{"b":2,"a":`, n) + `2` + strings.Repeat(`}`, n)
	},
	"nested lists": func(n int) (string, string) {
		n = min(n, 4000)
		return strings.Repeat(`[1,`, n) + `1` + strings.Repeat(`]`, n), strings.Repeat(`[2,`, n) + `2` + strings.Repeat(`]`, n)
	},
	"wide": func(n int) (string, string) {
		one := func(v int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `,"field%d":%d`, i, v)
			}
			return "{" + b.String()[1:] + "}"
		}
		return one(1), one(2)
	},
	"a list of objects": func(n int) (string, string) {
		return `{"tags":[` + strings.Repeat(`{"name":"a","value":"b"},`, n) + `{}]}`, `{"tags":[` + strings.Repeat(`{"name":"a","value":"c"},`, n) + `{}]}`
	},
	"a long text": func(n int) (string, string) {
		return `{"a":"` + strings.Repeat("x y ", n) + `"}`, `{"a":"` + strings.Repeat("x z ", n) + `"}`
	},
	"a long name": func(n int) (string, string) {
		return `{"` + strings.Repeat("x", 4*n) + `":1}`, `{"` + strings.Repeat("x", 4*n) + `":2}`
	},
	"a text of escapes": func(n int) (string, string) {
		return `{"a":"` + strings.Repeat(`\\\"`, n) + `"}`, `{"a":"` + strings.Repeat(`\\\"`, n) + `x"}`
	},
}

// placed puts a document into the places where users write: a spec, a provider's fields, labels and annotations.
var placed = map[string]func(document string) string{
	"spec": func(document string) string {
		return `"spec":{"authoritativeAPI":"ClusterAPI","more":` + document + `}`
	},
	"providerSpec": func(document string) string {
		value := `"providerSpec":{"value":{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig",` + awsMachineSpec +
			`,"more":` + document + `}}`
		spec := `"spec":{` + value + `}`
		return `"spec":{` + value + `,"template":{` + spec + `,"machines_v1beta1_machine_openshift_io":{` + spec + `}}}`
	},
}

// names returns metadata with 2n labels and 2n annotations. Half of their names have the prefix openshift.io, which is reserved.
func names(n int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"openshift.io/%d":%q,"mine%d":%[2]q`, i, value, i)
	}
	return fmt.Sprintf(`"metadata":{"name":"worker-a","labels":{%s},"annotations":{%[1]s}}`, b.String()[1:])
}

// TestWorkGrowsWithTheRequest: a request that is four times as large needs about four times as much memory, on every route, and its answer stays small. A lock
// that wrote each field's path once took seconds for 60 KB and answered with megabytes. `make test` plays one kind of each route.
func TestWorkGrowsWithTheRequest(t *testing.T) {
	catalog := All(platforms.List()...)
	for _, route := range Routes(catalog) {
		seen := map[string]bool{}
		for _, c := range everyRequest(t, route) {
			once := c.Change.Kind + string(c.Change.Operation) + string(authority.Read(c.Change.Facts.Twin).Current) +
				string(authority.Read(c.Change.Old).Current) // one provider represents all
			if route.Mutating || seen[once] {
				continue
			}
			seen[once] = true
			first := len(seen) == 1
			t.Run(route.Name+", "+c.Name, func(t *testing.T) {
				if !first {
					stories.Long(t)
				}
				w := worldOf(c)
				w.convert = converting(awsShelf(t), w).Unconvertible
				h := handlerOf(t, catalog, w)
				grow := func(what string, of func(n int) (before, after string)) {
					t.Helper()
					var cost, sent [2]float64
					for i, n := range []int{80, 320} {
						before, after := of(n)
						request := review(requestWith(t, route, c.Change, before, after))
						var was, is runtime.MemStats
						runtime.ReadMemStats(&was)
						answer := post(h, route.Path(), request)
						runtime.ReadMemStats(&is)
						cost[i], sent[i] = float64(is.TotalAlloc-was.TotalAlloc), float64(len(request))
						if answer.Code != http.StatusOK || answer.Body.Len() > 16<<10 {
							t.Errorf("%s, %s, %s: HTTP %d, an answer of %d bytes", route.Name, c.Name, what, answer.Code, answer.Body.Len())
						}
					}
					if ratio, most := cost[1]/cost[0], 1.5*sent[1]/sent[0]+0.5; ratio > most {
						t.Errorf("%s, %s, %s: %.0f bytes cost %.0f of memory, %.0f cost %.0f, %.1f times as much",
							route.Name, c.Name, what, sent[0], cost[0], sent[1], cost[1], ratio)
					}
				}
				for shape, document := range shapes {
					for place, put := range placed {
						grow(shape+" in "+place, func(n int) (string, string) {
							before, after := document(n)
							return put(before), put(after)
						})
					}
				}
				grow("labels and annotations", func(n int) (string, string) { return names(n, "a"), names(n, "b") })
			})
		}
	}
}

// requestWith returns a case's request, with some members of its objects replaced.
func requestWith(t *testing.T, route Route, c policies.Change, before, after string) string {
	t.Helper()
	with := func(o *policies.Object, text string) *policies.Object {
		if o == nil {
			return nil
		}
		content := map[string]json.RawMessage{}
		for _, part := range []string{string(o.Raw()), "{" + text + "}"} {
			if err := json.Unmarshal([]byte(part), &content); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		out, err := policies.ParseObject(raw)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	c.Old, c.New = with(c.Old, before), with(c.New, after)
	subject, _ := route.subject(c.Resource.Group, c.Resource.Resource)
	return reviewOf(t, c, subject, c.Name)
}
