// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/test/stories"
)

// perKB is a conversion's maximum CPU time for a KB of input, and longestError a message's maximum length in bytes.
const (
	perKB        = 10 * time.Millisecond
	longestError = 10_000
)

// FuzzEffort: no spec of either side makes a conversion slow, or a message as long as its subject.
func FuzzEffort(f *testing.F) {
	for _, kit := range platformstest.Kits() {
		for _, spec := range []any{kit.ProviderSpec, merged(kit.ProviderSpec, kit.Master), kit.InfraCluster} {
			raw, err := json.Marshal(spec)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	for _, seed := range []string{
		`{"memorySize":"1e999999999"}`, `{"memorySize":1e999999999}`, `{"spotVMOptions":{"maxPrice":"-1e-999999999"}}`,
		`{"processors":"1e99999999"}`, `{"tags":["a","a","b"]}`,
		`{"metadata":` + strings.Repeat(`{"x":`, 200) + `1` + strings.Repeat(`}`, 200) + `}`, strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, kit := range platformstest.Kits() {
			costs(t, kit, raw)
		}
	})
}

// TestNoFieldIsTooMuch: a megabyte in any field, or very many items of any list, are converted or refused quickly and in few words.
func TestNoFieldIsTooMuch(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			n := 0
			for _, side := range []struct {
				base any
				into any
			}{{kit.ProviderSpec, kit.Platform.Spec.NewProviderSpec()}, {map[string]any{}, kit.Platform.Spec.NewInfraSpec()}} {
				tooMuch(reflect.TypeOf(side.into), func(patch any) {
					raw, err := json.Marshal(merged(side.base, patch))
					if err != nil {
						t.Fatal(err)
					}
					costs(t, kit, raw)
					n++
				})
			}
			t.Logf("%d fields", n)
			if n < 30 {
				t.Error("that is no test")
			}
		})
	}
}

// TestNoMasterIsTooMuch: the same of a control plane Machine, for which a message names the load balancers and zones of all, and a command for the
// infrastructure cluster object has them.
func TestNoMasterIsTooMuch(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			base, env := merged(kit.ProviderSpec, kit.Master), kit.Env()
			unnamed := kit.Env()
			unnamed.InfraCluster = map[string]any{"spec": map[string]any{}}
			tooMuch(reflect.TypeOf(kit.Platform.Spec.NewProviderSpec()), func(patch any) {
				spec, is := merged(base, patch).(map[string]any)
				if !is {
					t.Fatal("that is no providerSpec")
				}
				for _, env := range []conversion.Env{env, unnamed} {
					env.ControlPlane = []conversion.Master{{Name: "other", ProviderSpec: spec}}
					says(t, &env, base, master)
					env.ControlPlane = nil
					says(t, &env, spec, master)
				}
			})
		})
	}
}

// TestNoClusterIsTooMuch: neither large contents of an infrastructure cluster object or the Infrastructure are repeated, nor long names.
func TestNoClusterIsTooMuch(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			n := 0
			within := func(content map[string]any, set func(*conversion.Env, map[string]any)) {
				texts(content, func(patch any) {
					env := kit.Env()
					set(&env, merged(content, patch).(map[string]any))
					env.Region = env.PlatformStatus("region")
					says(t, &env, kit.ProviderSpec, worker, conversion.Core{Template: true})
					says(t, &env, merged(kit.ProviderSpec, kit.Master), master, conversion.Core{ControlPlane: true, Template: true})
					n++
				})
			}
			within(map[string]any{"spec": kit.InfraCluster}, func(e *conversion.Env, content map[string]any) { e.InfraCluster = content })
			within(kit.Infrastructure, func(e *conversion.Env, content map[string]any) { e.Infrastructure = content })
			env := kit.Env()
			env.ClusterName = strings.Repeat("x", 1<<15)
			says(t, &env, kit.ProviderSpec, worker)
			if n == 0 {
				t.Error("that is no test")
			}
		})
	}
}

// TestNoObjectIsTooMuch: the same of an object's fields outside the provider's part, of every kind and either API.
func TestNoObjectIsTooMuch(t *testing.T) {
	kit := platformstest.Kits()[0]
	env := kit.Env()
	infra, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "m"}, "spec": map[string]any{"template": map[string]any{"spec": map[string]any{}}}})
	if err != nil {
		t.Fatal(err)
	}
	value := map[string]any{"value": kit.ProviderSpec}
	for kind, c := range map[string]struct {
		machineAPI, clusterAPI any
		base                   map[string]any
	}{
		"Machine":            {machinev1beta1.MachineSpec{}, clusterv1.MachineSpec{}, map[string]any{"providerSpec": value}},
		"MachineSet":         {machinev1beta1.MachineSetSpec{}, clusterv1.MachineSetSpec{}, map[string]any{"template": map[string]any{"spec": map[string]any{"providerSpec": value}}}},
		"MachineHealthCheck": {machinev1beta1.MachineHealthCheckSpec{}, clusterv1.MachineHealthCheckSpec{}, map[string]any{}},
	} {
		t.Run(kind, func(t *testing.T) {
			n := 0
			for _, side := range []struct {
				spec  any
				base  any
				check func([]byte) field.ErrorList
			}{
				{c.machineAPI, c.base, func(raw []byte) field.ErrorList { return core.Check(kind, raw, env) }},
				{c.clusterAPI, map[string]any{}, func(raw []byte) field.ErrorList { return core.CheckTwin(kind, raw, infra, env) }},
			} {
				try := func(object map[string]any) {
					raw, err := json.Marshal(object)
					if err != nil {
						t.Fatal(err)
					}
					brief(t, kind, side.check(raw))
					n++
				}
				tooMuch(reflect.TypeOf(side.spec), func(patch any) {
					try(map[string]any{"metadata": map[string]any{"name": "m"}, "spec": merged(side.base, patch)})
				})
				for _, of := range []string{"labels", "annotations"} {
					tooMuch(reflect.TypeFor[map[string]string](), func(patch any) {
						try(map[string]any{"metadata": map[string]any{"name": "m", of: patch}, "spec": side.base})
					})
				}
			}
			if n < 30 {
				t.Errorf("%d fields: that is no test", n)
			}
		})
	}
}

// TestNoTwoListsMultiply: a conversion does not repeat all items of one list for each item of another.
func TestNoTwoListsMultiply(t *testing.T) {
	const n = 1500
	many := func(item func(i int) any) []any {
		var out []any
		for i := range n {
			out = append(out, item(i))
		}
		return out
	}
	named := map[string]any{}
	for i := range n {
		named["k"+strconv.Itoa(i)] = "v"
	}
	kit := platformstest.Kits()[slices.IndexFunc(platformstest.Kits(), func(k conversiontest.Kit) bool { return k.Platform.Name == "OpenStack" })]
	subnets := many(func(i int) any { return map[string]any{"filter": map[string]any{"name": "s" + strconv.Itoa(i)}} })
	for text, patch := range map[string]map[string]any{
		"subnets, each with the tags of its network": {"networks": []any{map[string]any{
			"subnets": subnets, "portTags": many(func(i int) any { return "t" + strconv.Itoa(i) })}}},
		"subnets, each with the profile of its network": {"networks": []any{map[string]any{"subnets": subnets, "profile": named}}},
		"ports, each with the machine's groups": {
			"securityGroups": many(func(i int) any { return map[string]any{"name": "g" + strconv.Itoa(i)} }),
			"ports": many(func(i int) any {
				return map[string]any{"networkID": "5f3d1c2e-9b0a-4a7e-8c55-0d2f6a1b7e09", "portSecurity": i > 0}
			})},
	} {
		t.Run(text, func(t *testing.T) {
			raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "m"},
				"spec": map[string]any{"providerSpec": map[string]any{"value": merged(kit.ProviderSpec, patch)}}})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			errs := core.Check("Machine", raw, kit.Env())
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > uint64(200*len(raw)) {
				t.Errorf("%d MB are used for %d KB", made>>20, len(raw)>>10)
			}
			if len(errs) != 1 || !strings.Contains(errs[0].Detail, "larger than API servers store") {
				t.Errorf("it says: %.500s", errs.ToAggregate())
			}
		})
	}
}

// TestNoClusterMultiplies: an infrastructure cluster object with a long list is not read once for each item of a list.
func TestNoClusterMultiplies(t *testing.T) {
	const n = 2000
	var tags, texts, subnets []any
	for i := range n {
		tags = append(tags, map[string]any{"parentID": "p", "key": "k" + strconv.Itoa(i), "value": "v"})
		subnets = append(subnets, map[string]any{"filter": map[string]any{"name": "s" + strconv.Itoa(i)}})
	}
	for i := range 10 * n {
		texts = append(texts, "t"+strconv.Itoa(i))
	}
	for platform, c := range map[string]struct{ cluster, spec map[string]any }{
		"GCP":       {map[string]any{"resourceManagerTags": tags}, nil},
		"OpenStack": {map[string]any{"tags": texts}, map[string]any{"networks": []any{map[string]any{"subnets": subnets}}}},
	} {
		t.Run(platform, func(t *testing.T) {
			kit, err := platformstest.Named(platform)
			if err != nil {
				t.Fatal(err)
			}
			env := kit.Env()
			env.InfraCluster = merged(env.InfraCluster, map[string]any{"spec": c.cluster}).(map[string]any)
			raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "m"},
				"spec": map[string]any{"providerSpec": map[string]any{"value": merged(kit.ProviderSpec, c.spec)}}})
			if err != nil {
				t.Fatal(err)
			}
			list, err := json.Marshal(c.cluster)
			if err != nil {
				t.Fatal(err)
			}
			before := processor(t)
			core.Check("Machine", raw, env)
			if took, kb := processor(t)-before, (len(raw)+len(list))/1024; took > perKB/2*time.Duration(kb) {
				t.Errorf("%v for %d KB", took, kb)
			}
		})
	}
}

// TestManyLabelsOfANodeAreQuick: the names of labels and annotations for Nodes, which an annotation lists, are read and written once.
func TestManyLabelsOfANodeAreQuick(t *testing.T) {
	kit := platformstest.Kits()[0]
	env := kit.Env()
	every, err := conversion.ParsePatterns([]string{".*"})
	if err != nil {
		t.Fatal(err)
	}
	env.NodeSync = conversion.NodeSync{Labels: every, Annotations: every}
	many := map[string]any{}
	for i := range 10_000 {
		many["k"+strconv.Itoa(i)] = "v"
	}
	machine := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "m"}, "spec": map[string]any{
		"metadata": map[string]any{"labels": many, "annotations": many}, "providerSpec": map[string]any{"value": kit.ProviderSpec}}}}
	raw, err := json.Marshal(machine)
	if err != nil {
		t.Fatal(err)
	}
	before := processor(t)
	twin, errs := core.ToClusterAPI("Machine", machine, env)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	back, errs := core.ToMachineAPI("Machine", twin, env)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	core.KeepSpelling("Machine", machine, back, env)
	if took := processor(t) - before; took > perKB*time.Duration(len(raw)/1024) {
		t.Errorf("%v there and back for %d KB", took, len(raw)/1024)
	}
	if labels, _, _ := unstructured.NestedStringMap(back.Object, "spec", "metadata", "labels"); len(labels) != len(many) {
		t.Errorf("%d labels come back, of %d", len(labels), len(many))
	}
}

// TestKeepingTheSpellingOfManyItemsIsQuick: not each of the items is tried, and none is copied for each of the others.
func TestKeepingTheSpellingOfManyItemsIsQuick(t *testing.T) {
	kit, n := platformstest.Kits()[0], 1000
	env := kit.Env()
	var groups []any
	for i := range n {
		groups = append(groups, map[string]any{"id": "sg-" + strconv.Itoa(i), "arn": nil, "filters": nil})
	}
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "m"}, "spec": map[string]any{
		"providerSpec": map[string]any{"value": merged(kit.ProviderSpec, map[string]any{"securityGroups": groups})}}})
	machine := &unstructured.Unstructured{}
	if err != nil || json.Unmarshal(raw, &machine.Object) != nil {
		t.Fatal(err)
	}
	twin, errs := core.ToClusterAPI("Machine", machine, env)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	changed, _, _ := unstructured.NestedSlice(twin.Infra.Object, "spec", "additionalSecurityGroups")
	changed[n-1] = map[string]any{"id": "sg-other"}
	if err := unstructured.SetNestedSlice(twin.Infra.Object, changed, "spec", "additionalSecurityGroups"); err != nil {
		t.Fatal(err)
	}
	back, errs := core.ToMachineAPI("Machine", twin, env)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	before := processor(t)
	core.KeepSpelling("Machine", machine, back, env)
	if took := processor(t) - before; took > perKB*time.Duration(len(raw)/1024) {
		t.Errorf("%v for %d KB", took, len(raw)/1024)
	}
	kept, _, _ := unstructured.NestedSlice(back.Object, "spec", "providerSpec", "value", "securityGroups")
	if _, written := kept[0].(map[string]any)["arn"]; !written || kept[n-1].(map[string]any)["id"] != "sg-other" {
		t.Errorf("the first group is %v, and the last %v", kept[0], kept[n-1])
	}
}

// texts calls use with a merge patch for each text of a content, with a long one, and for each list, with a long one.
func texts(content any, use func(any)) {
	long := strings.Repeat("x", 1<<15)
	switch content := content.(type) {
	case map[string]any:
		for name, v := range content {
			texts(v, func(v any) { use(map[string]any{name: v}) })
		}
	case []any:
		for i, v := range content {
			texts(v, func(v any) {
				changed := slices.Clone(content)
				changed[i] = merged(changed[i], v)
				use(changed)
			})
		}
		if len(content) > 0 {
			use(slices.Repeat(content[:1], 500))
		}
	case string:
		use(long)
	}
}

var master, worker = conversion.Core{ControlPlane: true, Name: "m"}, conversion.Core{Name: "m"}

// says fails if a message about a providerSpec is too long.
func says(t *testing.T, env *conversion.Env, spec any, of ...conversion.Core) {
	t.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range of {
		p := conversion.NewPass(env, &one, "spec.providerSpec.value")
		conversiontest.ToClusterAPI(p, raw)
		brief(t, env.Platform.Name, p.Errors())
	}
}

// brief fails if a message is too long.
func brief(t *testing.T, platform string, errs field.ErrorList) {
	t.Helper()
	for _, e := range errs {
		if text := e.Error(); len(text) > longestError {
			t.Fatalf("%s: a message of %d bytes: %.300s", platform, len(text), text)
		}
	}
}

// tooMuch calls use with a merge patch for each field of a type, with too large a value.
func tooMuch(t reflect.Type, use func(any)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	long := strings.Repeat("x", 1<<15)
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		use("1e999999999")
		use("9" + strings.Repeat("9", 1000))
	case t.Kind() == reflect.String:
		use(long)
	case t.Kind() == reflect.Map:
		many := map[string]any{}
		for i := range 500 {
			many["k"+strconv.Itoa(i)] = "v"
		}
		use(many)
		use(map[string]any{long: "x"})
		use(map[string]any{"x": long})
	case t.Kind() == reflect.Slice:
		tooMuch(t.Elem(), func(v any) { use([]any{v}) })
		if item := t.Elem(); item.Kind() == reflect.String {
			var many []any
			for i := range 2000 {
				many = append(many, "v"+strconv.Itoa(i))
			}
			use(many)
			use(slices.Repeat([]any{"v"}, 2000))
		} else {
			use(slices.Repeat([]any{map[string]any{}}, 500))
		}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-" || name == "" && !f.Anonymous || name == "metadata":
			case name == "":
				tooMuch(f.Type, use)
			default:
				tooMuch(f.Type, func(v any) { use(map[string]any{name: v}) })
			}
		}
	}
}

// TestTimeGrowsWithWhatIsListed: eight times as many items take about eight times as much work, and not sixty-four times. What is quadratic is so in each of
// ten tries; what other work on the machine adds is not. The garbage collector's share, which depends on all that the process holds, is left out.
func TestTimeGrowsWithWhatIsListed(t *testing.T) {
	stories.Long(t)
	const few, times, tries = 1000, 8, 10
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			env, secret := kit.Env(), "worker-user-data"
			for _, side := range []struct {
				base    any
				into    any
				convert func(*conversion.Pass, []byte) any
			}{{kit.ProviderSpec, kit.Platform.Spec.NewProviderSpec(), conversiontest.ToClusterAPI},
				{map[string]any{}, kit.Platform.Spec.NewInfraSpec(), conversiontest.ToMachineAPI}} {
				listed(reflect.TypeOf(side.into), "", func(path string, patch func(n int) any) {
					took := func(n int) time.Duration {
						raw, err := json.Marshal(merged(side.base, patch(n)))
						if err != nil {
							t.Fatal(err)
						}
						before := processor(t)
						side.convert(conversion.NewPass(&env, &conversion.Core{BootstrapSecret: &secret, Template: true}, "x"), raw)
						return processor(t) - before
					}
					var small, large time.Duration
					for range tries {
						small, large = took(few), took(few*times)
						if large <= 60*time.Millisecond || large <= 3*times*small {
							return
						}
						runtime.GC()
					}
					t.Errorf("%s: %v for %d, %v for %d, and no better in %d tries", path, small, few, large, few*times, tries)
				})
			}
			runtime.GC()
		})
	}
}

// listed calls use with each list of texts and each map of a type, and with a function for a merge patch with a number of items.
func listed(t reflect.Type, path string, use func(path string, patch func(n int) any)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	within := func(wrap func(any) any) func(string, func(int) any) {
		return func(path string, patch func(int) any) { use(path, func(n int) any { return wrap(patch(n)) }) }
	}
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
	case t.Kind() == reflect.Map:
		use(path, func(n int) any {
			many := map[string]any{}
			for i := range n {
				many["k"+strconv.Itoa(i)] = "v"
			}
			return many
		})
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		use(path, func(n int) any {
			var many []any
			for i := range n {
				many = append(many, "v"+strconv.Itoa(i))
			}
			return many
		})
	case t.Kind() == reflect.Slice:
		listed(t.Elem(), path+"[]", within(func(v any) any { return []any{v} }))
	case t.Kind() == reflect.Struct:
		if path == "" {
			use("members that it does not have", func(n int) any {
				many := map[string]any{}
				for i := range n {
					many["unknown"+strconv.Itoa(i)] = "v"
				}
				return many
			})
		}
		for i := range t.NumField() {
			f := t.Field(i)
			switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
			case name == "-" || name == "" && !f.Anonymous || name == "metadata":
			case name == "":
				listed(f.Type, path, use)
			default:
				listed(f.Type, path+"."+name, within(func(v any) any { return map[string]any{name: v} }))
			}
		}
	}
}

// merged is a base with a patch.
func merged(base, patch any) any {
	from, isFrom := base.(map[string]any)
	over, isOver := patch.(map[string]any)
	if !isFrom || !isOver {
		return patch
	}
	out := maps.Clone(from)
	for name, v := range over {
		out[name] = merged(from[name], v)
	}
	return out
}

// costs fails if a conversion of a spec of either side takes too long or has too long a message: of the spec alone, and of the object that has it, as a review
// and the mirror convert it. CPU time does not depend on other work, except for caches: it has three tries.
func costs(t *testing.T, kit conversiontest.Kit, raw []byte) {
	t.Helper()
	env, secret := kit.Env(), "worker-user-data"
	alone := func(convert func(*conversion.Pass, []byte) any) func() field.ErrorList {
		return func() field.ErrorList {
			p := conversion.NewPass(&env, &conversion.Core{BootstrapSecret: &secret, Template: true}, "spec.template.spec.providerSpec.value")
			convert(p, raw)
			return p.Errors()
		}
	}
	within := func(before, after string) []byte { return slices.Concat([]byte(before), raw, []byte(after)) }
	conversions := []func() field.ErrorList{alone(conversiontest.ToClusterAPI), alone(conversiontest.ToMachineAPI)}
	if json.Valid(raw) {
		conversions = append(conversions,
			func() field.ErrorList {
				return core.Check("Machine", within(`{"metadata":{"name":"m"},"spec":{"providerSpec":{"value":`, `}}}`), env)
			},
			func() field.ErrorList {
				return core.CheckTwin("Machine", refersTo(kit), within(`{"metadata":{"name":"m"},"spec":`, `}`), env)
			})
	}
	budget := perKB * time.Duration(2+len(raw)/1024)
	for _, convert := range conversions {
		var took time.Duration
		for range 3 {
			before := processor(t)
			errs := convert()
			took = processor(t) - before
			brief(t, kit.Platform.Name, errs)
			if took <= budget {
				break
			}
		}
		if took > budget {
			t.Fatalf("%s: %v for %d bytes: %.300s", kit.Platform.Name, took, len(raw), raw)
		}
	}
}

// refersTo is a Cluster API Machine that refers to an infrastructure machine with the name m. Without the reference no infrastructure machine is converted.
func refersTo(kit conversiontest.Kit) []byte {
	of := kit.Platform.InfraMachine
	return fmt.Appendf(nil, `{"metadata":{"name":"m"},"spec":{"infrastructureRef":{"apiGroup":%q,"kind":%q,"name":"m"},"bootstrap":{"dataSecretName":"worker-user-data"}}}`,
		of.Group, of.Kind)
}

// processor is the CPU time of the test's own thread.
func processor(t *testing.T) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
