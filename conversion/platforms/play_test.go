// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
)

var (
	patches   = regexp.MustCompile(`--type=merge -p '((?:[^']|'\\'')*)'`)
	applies   = regexp.MustCompile(`echo '((?:[^']|'\\'')*)' \| kubectl apply --server-side`)
	annotates = regexp.MustCompile(`kubectl annotate [a-z]+\.infrastructure\S+ \S+ -n \S+ --overwrite '?(poundlock\.openshift\.io/vcenters)=([^' ]*)'?`)
	// blanks are the placeholders that a person fills in from the output of the message's command.
	blanks = strings.NewReplacer("SCHEME", "internal", "INTERNAL_POOL", "lock-7x2k9", "SUBSCRIPTION", "00000000-0000-0000-0000-000000000001", "IPV4_CIDR", "10.0.0.0/16", "IPV6_CIDR", "fd00:10::/48")
)

// play applies the commands of a message to an infrastructure cluster object; false: the message has none.
func play(t *testing.T, infraCluster map[string]any, message string) (map[string]any, bool) {
	t.Helper()
	out, played := runtime.DeepCopyJSON(infraCluster), false
	text := func(quoted string) json.RawMessage {
		return json.RawMessage(blanks.Replace(strings.ReplaceAll(quoted, `'\''`, "'")))
	}
	for _, m := range patches.FindAllStringSubmatch(message, -1) {
		if strings.Contains(m[1], `"strategy"`) || strings.Contains(m[1], `"finalizers"`) {
			continue // of another object, or of the old one
		}
		next := map[string]any{}
		merge(t, out, text(m[1]), &next)
		out, played = next, true
	}
	for _, m := range applies.FindAllStringSubmatch(message, -1) {
		var applied map[string]any
		if err := json.Unmarshal(text(m[1]), &applied); err != nil {
			t.Fatalf("%v: %s", err, m[1])
		}
		spec, _ := out["spec"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
			out["spec"] = spec
		}
		added, _, _ := unstructured.NestedMap(applied, "spec")
		add(spec, added)
		played = true
	}
	for _, m := range annotates.FindAllStringSubmatch(message, -1) {
		if err := unstructured.SetNestedField(out, m[2], "metadata", "annotations", m[1]); err != nil {
			t.Fatal(err)
		}
		played = true
	}
	return out, played
}

// add adds the items of lists, as a server-side apply does.
func add(to, more map[string]any) {
	for name, value := range more {
		switch value := value.(type) {
		case []any:
			have, _ := to[name].([]any)
			to[name] = append(slices.Clone(have), value...)
		case map[string]any:
			below, _ := to[name].(map[string]any)
			if below == nil {
				below = map[string]any{}
				to[name] = below
			}
			add(below, value)
		default:
			to[name] = value
		}
	}
}

// ends plays the commands of an object's refusals, one after the other, and reports messages that are repeated.
func ends(t *testing.T, o *unstructured.Unstructured, env conversion.Env) (played int, problems []string) {
	t.Helper()
	for range 6 {
		_, errs := core.ToClusterAPI(o.GetKind(), o, env)
		i := slices.IndexFunc(errs, func(e *field.Error) bool { _, has := play(t, env.InfraCluster, e.Detail); return has })
		if i < 0 {
			return played, nil
		}
		env.InfraCluster, _ = play(t, env.InfraCluster, errs[i].Detail)
		played++
		_, again := core.ToClusterAPI(o.GetKind(), o, env)
		for _, e := range again {
			if e.Field == errs[i].Field && e.Detail == errs[i].Detail {
				return played, []string{e.Field + ": " + e.Detail}
			}
		}
	}
	return played, []string{"no end of commands"}
}

// TestTheCommandsOfMessagesRemoveWhatIsInTheWay plays them for every manifest of an installation that cannot move.
func TestTheCommandsOfMessagesRemoveWhatIsInTheWay(t *testing.T) {
	all := 0
	eachCluster(t, func(t *testing.T, folder string, c corpus, v variants) {
		for text, v := range v.Refused {
			t.Run(text, func(t *testing.T) {
				c, o := v.Apply(t, c, read(t, filepath.Join(folder, v.Of)))
				if c.InfraCluster == nil {
					return
				}
				played, problems := ends(t, o, c.Env(t))
				all += played
				for _, problem := range problems {
					t.Errorf("it comes again: %s", problem)
				}
			})
		}
	})
	if t.Logf("%d commands", all); all < 10 {
		t.Error("that is no test")
	}
}

// TestTheCommandsOfMessagesEndWhateverTheClusterAnswers: each value that a cluster has once for all its machines is removed, emptied or replaced in turn.
func TestTheCommandsOfMessagesEndWhateverTheClusterAnswers(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			all, seen := 0, map[string]bool{}
			try := func(text string, infraCluster, infrastructure map[string]any) {
				for _, kind := range []string{"Machine", "MachineSet"} {
					for _, role := range []string{"worker", "master"} {
						env := kit.Env()
						env.InfraCluster, env.Infrastructure = map[string]any{"spec": infraCluster}, infrastructure
						o := machineAPIObject(kind, kit)
						machine := []string{}
						if kind == "MachineSet" {
							machine = []string{"spec", "template"}
						}
						if role == "master" {
							if err := unstructured.SetNestedMap(o.Object, ofMaster(kit), append(slices.Clone(machine), "spec", "providerSpec", "value")...); err != nil {
								t.Fatal(err)
							}
						}
						for _, label := range []string{"role", "type"} {
							if err := unstructured.SetNestedField(o.Object, role, append(slices.Clone(machine), "metadata", "labels", "machine.openshift.io/cluster-api-machine-"+label)...); err != nil {
								t.Fatal(err)
							}
						}
						played, problems := ends(t, o, env)
						all += played
						for _, problem := range problems {
							if !seen[problem] {
								t.Errorf("%s: a %s's %s: it comes again: %s", text, role, kind, problem)
							}
							seen[problem] = true
						}
					}
				}
			}
			whole := map[string]any{"spec": kit.InfraCluster, "infrastructure": kit.Infrastructure}
			others(whole, nil, func(path []string, value any, leftOut bool) {
				changed := runtime.DeepCopyJSON(whole)
				if !put(changed, path, value, leftOut) {
					return
				}
				spec, _ := changed["spec"].(map[string]any)
				infrastructure, _ := changed["infrastructure"].(map[string]any)
				if spec != nil && infrastructure != nil {
					try(fmt.Sprintf("%s is %v", strings.Join(path, "."), value), spec, infrastructure)
				}
			})
			t.Logf("%d commands", all)
		})
	}
}

// others calls use with each path of a JSON object, and with other values for it.
func others(v any, at []string, use func(path []string, value any, leftOut bool)) {
	if len(at) > 1 {
		use(at, nil, true)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			others(v[name], append(slices.Clone(at), name), use)
		}
	case []any:
		use(at, []any{}, false)
		for i := range v {
			others(v[i], append(slices.Clone(at), fmt.Sprint(i)), use)
		}
	case string:
		use(at, "", false)
		use(at, "other", false)
	case bool:
		use(at, !v, false)
	}
}

// put sets or removes the value at a path.
func put(o any, path []string, value any, leaveOut bool) bool {
	switch o := o.(type) {
	case map[string]any:
		if len(path) > 1 {
			return put(o[path[0]], path[1:], value, leaveOut)
		}
		if o[path[0]] = value; leaveOut {
			delete(o, path[0])
		}
		return true
	case []any:
		var i int
		if _, err := fmt.Sscan(path[0], &i); err != nil || i >= len(o) || len(path) == 1 && leaveOut {
			return false
		}
		if len(path) > 1 {
			return put(o[i], path[1:], value, leaveOut)
		}
		o[i] = value
		return true
	}
	return false
}

// TestRemovingWhatAMessageNamesRemovesIt plays "remove", "set it to false" and "leave it out" for each field of a providerSpec.
func TestRemovingWhatAMessageNamesRemovesIt(t *testing.T) {
	// A message names the field that it is about by a pronoun, or by the last part of the path.
	does := func(e *field.Error, verbs, rest string) bool {
		path := steps(e.Field)
		for len(path) > 1 && path[len(path)-1] != "" && strings.Trim(path[len(path)-1], "0123456789") == "" {
			path = path[:len(path)-1]
		}
		return regexp.MustCompile(`(: |, |\. |; |or |and )(?i:` + verbs + `) (it|them|this|the field|this field|(?:\w+\.)*` +
			regexp.QuoteMeta(path[len(path)-1]) + `)\b` + rest).MatchString(": " + e.Detail)
	}
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			seen := map[string]bool{}
			const at = "spec.providerSpec.value"
			odd(reflect.TypeOf(kit.Platform.Spec.NewProviderSpec()), func(patch any) {
				if patch == nil {
					return
				}
				spec := map[string]any{}
				if err := json.Unmarshal(conversiontest.Patched(t, rawOf(t, kit.ProviderSpec), string(rawOf(t, patch))), &spec); err != nil {
					t.Fatal(err)
				}
				o := machineAPIObject("Machine", kit)
				convert := func(spec map[string]any) field.ErrorList {
					if err := unstructured.SetNestedMap(o.Object, spec, "spec", "providerSpec", "value"); err != nil {
						t.Fatal(err)
					}
					return core.Check("Machine", rawOf(t, o.Object), kit.Env())
				}
				for _, e := range convert(spec) {
					name, of := strings.CutPrefix(e.Field, at+".")
					value, leaveOut := any(nil), does(e, "remove|leave", "")
					if does(e, "set", " to false") {
						value = false
					} else if !leaveOut {
						continue
					}
					if !of || seen[e.Field+e.Detail] {
						continue
					}
					seen[e.Field+e.Detail] = true
					fixed := runtime.DeepCopyJSON(spec)
					if !take(fixed, steps(name), value, leaveOut) {
						t.Errorf("%s is not there: %s", e.Field, e.Detail)
						continue
					}
					for _, again := range convert(fixed) {
						if again.Field == e.Field {
							t.Errorf("%s: %s\nand then: %s", e.Field, e.Detail, again.Detail)
						}
					}
				}
			})
			t.Logf("%d messages", len(seen))
		})
	}
}

// steps are those of a path as messages have it: a.b[0].c[name].
func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// take sets or removes the value at a path, also in items of lists.
func take(o any, path []string, value any, leaveOut bool) bool {
	m, isMap := o.(map[string]any)
	if len(path) > 1 {
		if isMap {
			list, isList := m[path[0]].([]any)
			if isList && len(path) == 2 && leaveOut {
				var i int
				if _, err := fmt.Sscan(path[1], &i); err != nil || i >= len(list) {
					return false
				}
				m[path[0]] = slices.Delete(list, i, i+1)
				return true
			}
			return take(m[path[0]], path[1:], value, leaveOut)
		}
		if list, isList := o.([]any); isList {
			var i int
			if _, err := fmt.Sscan(path[0], &i); err != nil || i >= len(list) {
				return false
			}
			return take(list[i], path[1:], value, leaveOut)
		}
		return false
	}
	return put(o, path, value, leaveOut)
}
