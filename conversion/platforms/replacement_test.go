// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	awswebhooks "sigs.k8s.io/cluster-api-provider-aws/v2/webhooks"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"
	gcpwebhooks "sigs.k8s.io/cluster-api-provider-gcp/webhooks"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/stories"
)

// odd calls use with a merge patch for each leaf of a type, with values that few conversions accept.
func odd(t reflect.Type, use func(patch any)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		use("1")
	case t.Kind() == reflect.String:
		use("")
		use("no such word")
		use("Windows")
	case t.Kind() == reflect.Bool:
		use(false)
		use(true)
	case t.Kind() == reflect.Map:
		use(map[string]any{"no such name": "x"})
		use(map[string]any{})
	case t.Kind() == reflect.Slice:
		use([]any{})
		odd(t.Elem(), func(patch any) { use([]any{patch}); use([]any{patch, patch}) })
	case t.Kind() == reflect.Struct:
		use(map[string]any{})
		use(nil)
		for i := range t.NumField() {
			f := t.Field(i)
			switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
			case name == "-" || name == "" && !f.Anonymous:
			case name == "":
				odd(f.Type, use)
			default:
				odd(f.Type, func(patch any) { use(map[string]any{name: patch}) })
			}
		}
	default:
		use(-1)
		use(0)
		use(1 << 30)
	}
}

// Most fields of a provider's machine or template are immutable once it is stored. Each message about such a field says what to do instead, on each platform;
// and no message about an editable field does.
func TestARefusalOfAProvidersObjectCanBeActedUpon(t *testing.T) {
	stories.Long(t)
	for _, kit := range platformstest.Kits() {
		for _, kind := range []string{"Machine", "MachineSet"} {
			t.Run(kit.Platform.Name+" "+kind, func(t *testing.T) {
				env := kit.Env()
				twin, errs := core.ToClusterAPI(kind, machineAPIObject(kind, kit), env)
				if len(errs) > 0 {
					t.Fatal(errs.ToAggregate())
				}
				path, resource, editable := []string{"spec"}, kit.Platform.InfraMachine, kit.Platform.Editable.Machine
				todo := "replace the Machine by one"
				if kind == "MachineSet" {
					path, resource, editable = []string{"spec", "template", "spec"}, kit.Platform.InfraMachineTemplate, kit.Platform.Editable.Template
					todo = "create a corrected copy"
				}
				root, seen := resource.Kind+"."+strings.Join(path, ".")+".", map[string]bool{}
				base, _, _ := unstructured.NestedMap(twin.Infra.Object, path...)
				odd(reflect.TypeOf(kit.Platform.Spec.NewInfraSpec()), func(patch any) {
					if patch == nil {
						return
					}
					spec, infra := map[string]any{}, twin.Infra.DeepCopy()
					if err := json.Unmarshal(conversiontest.Patched(t, rawOf(t, base), string(rawOf(t, patch))), &spec); err != nil {
						t.Fatal(err)
					}
					if err := unstructured.SetNestedMap(infra.Object, spec, path...); err != nil {
						t.Fatal(err)
					}
					_, errs := core.ToMachineAPI(kind, core.Twin{Core: twin.Core, Infra: infra}, env)
					for _, e := range errs {
						field, of := strings.CutPrefix(e.Field, root)
						if !of || seen[field] {
							continue
						}
						seen[field] = true
						free := slices.ContainsFunc(editable, func(f string) bool {
							return f == conversion.Everything || field == f || strings.HasPrefix(field, f+".") || strings.HasPrefix(field, f+"[")
						})
						if replaced := strings.Contains(e.Detail, todo); replaced == free {
							t.Errorf("%s: %s", e.Field, e.Detail)
						}
					}
				})
				t.Logf("%d fields are refused", len(seen))
				if len(seen) < 10 {
					t.Error("that is no test")
				}
			})
		}
	}
}

// A refusal on the way to Cluster API says what to do, or what the value must be, for any value in any field of a providerSpec, of a worker or of a control
// plane Machine.
func TestARefusalOfAProviderSpecNamesTheRemedy(t *testing.T) {
	todo := regexp.MustCompile(`(: |, |\. |; |or |and )(?i:add|associate|choose|correct|create|find|give|keep|leave|list|make|name|remove|replace|say|set|use) |` + // what to do
		`must |supported value|takes |may contain|needs |only with|at least one|has 1 to|begins with|` + // or what it must be
		`given twice|is not the JSON`)
	for _, kit := range platformstest.Kits() {
		seen := map[string]bool{}
		for kind, role := range map[string]string{"Machine": "master", "MachineSet": "worker"} {
			o, machine := machineAPIObject(kind, kit), []string{}
			if kind == "MachineSet" {
				machine = []string{"spec", "template"}
			}
			for _, label := range []string{"role", "type"} {
				if err := unstructured.SetNestedField(o.Object, role, append(slices.Clone(machine), "metadata", "labels", "machine.openshift.io/cluster-api-machine-"+label)...); err != nil {
					t.Fatal(err)
				}
			}
			odd(reflect.TypeOf(kit.Platform.Spec.NewProviderSpec()), func(patch any) {
				if patch == nil {
					return
				}
				spec := map[string]any{}
				if err := json.Unmarshal(conversiontest.Patched(t, rawOf(t, kit.ProviderSpec), string(rawOf(t, patch))), &spec); err != nil {
					t.Fatal(err)
				}
				if err := unstructured.SetNestedMap(o.Object, spec, append(slices.Clone(machine), "spec", "providerSpec", "value")...); err != nil {
					t.Fatal(err)
				}
				for _, e := range core.Check(kind, rawOf(t, o.Object), kit.Env()) {
					detail, _, _ := strings.Cut(e.Detail, "; this is a control plane")
					if _, again := seen[e.Field+detail]; !again && !todo.MatchString(": "+detail) {
						t.Errorf("%s: %s: %s", kit.Platform.Name, e.Field, detail)
					}
					seen[e.Field+detail] = true
				}
			})
		}
		if t.Logf("%s: %d messages", kit.Platform.Name, len(seen)); len(seen) < 30 {
			t.Error("that is no test")
		}
	}
}

// machineAPIObject is a worker, or a set of workers, as an installer writes it.
func machineAPIObject(kind string, kit conversiontest.Kit) *unstructured.Unstructured {
	labels := map[string]any{"machine.openshift.io/cluster-api-cluster": kit.Env().ClusterName, "machine.openshift.io/cluster-api-machineset": "w"}
	machine := map[string]any{"providerSpec": map[string]any{"value": runtime.DeepCopyJSON(kit.ProviderSpec)}}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "machine.openshift.io/v1beta1", "kind": kind, "metadata": map[string]any{"name": "w"}}}
	if kind == "Machine" {
		machine["providerID"] = kit.ProviderID("w")
		o.Object["spec"] = machine
		return o
	}
	o.Object["spec"] = map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": machine}}
	return o
}

func rawOf(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The selector of Machine API's MachineSets, and the cluster's name in Cluster API's objects, are immutable too.
func TestARefusalOfAFieldOfTheCoreThatCannotChangeNamesTheCommands(t *testing.T) {
	kit := platformstest.Kits()[0]
	env := kit.Env()
	for sentence, selector := range map[string]map[string]any{
		"nothing": {}, "a label that reaches Nodes": {"matchLabels": map[string]any{"node-role.kubernetes.io/infra": ""}},
		"a label of Cluster API's": {"matchExpressions": []any{map[string]any{"key": "cluster.x-k8s.io/control-plane", "operator": "DoesNotExist"}}},
	} {
		o := machineAPIObject("MachineSet", kit)
		if err := unstructured.SetNestedMap(o.Object, selector, "spec", "selector"); err != nil {
			t.Fatal(err)
		}
		_, errs := core.ToClusterAPI("MachineSet", o, env)
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Field, "spec.selector") || !strings.Contains(errs[0].Detail, "delete the MachineSet with --cascade=orphan") {
			t.Errorf("a set that selects by %s: %v", sentence, errs)
		}
	}
	for _, kind := range []string{"Machine", "MachineSet"} {
		twin, _ := core.ToClusterAPI(kind, machineAPIObject(kind, kit), env)
		if err := unstructured.SetNestedField(twin.Core.Object, "other", "spec", "clusterName"); err != nil {
			t.Fatal(err)
		}
		_, errs := core.ToMachineAPI(kind, twin, env)
		if len(errs) != 1 || errs[0].Field != "spec.clusterName" || !strings.Contains(errs[0].Detail, "create the object again") {
			t.Errorf("a %s of another cluster: %v", kind, errs)
		}
	}
}

// The webhooks of AWS's and GCP's providers decide themselves what of a stored machine is editable.
func TestWhatCanBeChangedIsWhatTheWebhooksLetPass(t *testing.T) {
	for name, webhook := range map[string]struct {
		spec    any
		changes func(old, changed []byte) error
	}{
		"AWS": {awsv1.AWSMachineSpec{}, func(old, changed []byte) error {
			var o, c awsv1.AWSMachine
			if !decodes(old, &o.Spec) || !decodes(changed, &c.Spec) {
				return nil
			}
			_, err := (&awswebhooks.AWSMachine{}).ValidateUpdate(t.Context(), &o, &c)
			return err
		}},
		"GCP": {gcpv1.GCPMachineSpec{}, func(old, changed []byte) error {
			var o, c gcpv1.GCPMachine
			if !decodes(old, &o.Spec) || !decodes(changed, &c.Spec) {
				return nil
			}
			_, err := (&gcpwebhooks.GCPMachine{}).ValidateUpdate(t.Context(), &o, &c)
			return err
		}},
		"GCP's templates": {gcpv1.GCPMachineSpec{}, func(old, changed []byte) error {
			var o, c gcpv1.GCPMachineTemplate
			if !decodes(old, &o.Spec.Template.Spec) || !decodes(changed, &c.Spec.Template.Spec) {
				return nil
			}
			_, err := (&gcpwebhooks.GCPMachineTemplate{}).ValidateUpdate(t.Context(), &o, &c)
			return err
		}},
	} {
		platform, templates := strings.CutSuffix(name, "'s templates")
		p, _ := platforms.For(platform)
		editable := p.Editable.Machine
		if templates {
			editable = p.Editable.Template
		}
		left := slices.Clone(editable)
		leaves(reflect.TypeOf(webhook.spec), "", func(path, value string) {
			at := strings.Split(path, ".")
			whole := value
			for _, name := range slices.Backward(at) {
				whole = `{"` + name + `":` + whole + `}`
			}
			refused := webhook.changes([]byte(beside(at)), []byte(whole))
			free := slices.ContainsFunc(editable, func(f string) bool { return path == f || strings.HasPrefix(path, f+".") })
			if cannot := refused != nil && strings.Contains(refused.Error(), "cannot be modified"); cannot == free {
				t.Errorf("%s: %s: said to be free: %t, and the webhook says: %v", name, path, free, refused)
			}
			left = slices.DeleteFunc(left, func(f string) bool { return path == f || strings.HasPrefix(path, f+".") })
		})
		if len(left) > 0 {
			t.Errorf("%s has no %v", name, left)
		}
	}
}

func decodes(raw []byte, into any) bool { return json.Unmarshal(raw, into) == nil }

// beside is an object without the value at a path, but with its parents.
func beside(path []string) string {
	out := "{}"
	for _, name := range slices.Backward(path[:len(path)-1]) {
		out = `{"` + name + `":` + out + `}`
	}
	return out
}

// leaves calls use with each path of a type that leads to no struct, and a value for it.
func leaves(t reflect.Type, at string, use func(path, value string)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		use(at, `"x"`)
	case reflect.Bool:
		use(at, "true")
	case reflect.Slice:
		value := map[reflect.Kind]string{reflect.String: `["x"]`, reflect.Uint8: `"eA=="`}[t.Elem().Kind()]
		use(at, cmp.Or(value, "[{}]"))
	case reflect.Map:
		use(at, `{"x":"x"}`)
	case reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
				leaves(t.Field(i).Type, strings.TrimPrefix(at+"."+name, "."), use)
			}
		}
	default:
		use(at, "7")
	}
}

// The webhooks of other providers cannot be called from here. The test looks for their rules in the sources: a release without them must be read anew.
func TestTheSourcesOfWebhooksThatCannotBeCalledAreAsTheyWereRead(t *testing.T) {
	for _, c := range []struct{ module, file, has string }{
		{"sigs.k8s.io/cluster-api-provider-vsphere", "internal/webhooks/vspheremachine.go", `allowChangeKeys := []string{"providerID", "powerOffMode", "guestSoftPowerOffTimeout"}`},
		{"sigs.k8s.io/cluster-api-provider-vsphere", "internal/webhooks/vspheremachine.go", `delete(oldVSphereMachineNetwork, "devices")`},
		{"sigs.k8s.io/cluster-api-provider-vsphere", "internal/webhooks/vspheremachinetemplate.go", `!reflect.DeepEqual(newTyped.Spec.Template.Spec, oldTyped.Spec.Template.Spec)`},
		{"sigs.k8s.io/cluster-api-provider-openstack", "pkg/webhooks/openstackmachine_webhook.go", `delete(oldOpenStackMachineSpec, "identityRef")`},
		{"sigs.k8s.io/cluster-api-provider-openstack", "config/crd/bases/infrastructure.cluster.x-k8s.io_openstackmachines.yaml", `message: region is immutable`},
		{"sigs.k8s.io/cluster-api-provider-openstack", "pkg/webhooks/openstackmachinetemplate_webhook.go", `!reflect.DeepEqual(newObj.Spec.Template.Spec, oldObj.Spec.Template.Spec)`},
		{"sigs.k8s.io/cluster-api-provider-azure", "internal/webhooks/azuremachinetemplate_webhook.go", `!reflect.DeepEqual(t.Spec.Template.Spec, old.Spec.Template.Spec)`},
		{"sigs.k8s.io/cluster-api-provider-aws/v2", "webhooks/awsmachinetemplate_webhook.go", `"AWSMachineTemplate.Spec is immutable"`},
		{"sigs.k8s.io/cluster-api-provider-ibmcloud", "internal/webhooks/ibmpowervsmachine.go", `return validateIBMPowerVSMachine(newObjValue)`},
	} {
		dir, err := build.ModuleDir(t.Context(), c.module)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, c.file))
		if err != nil || !strings.Contains(string(text), c.has) {
			t.Errorf("%s/%s does not have %q: %v", c.module, c.file, c.has, err)
		}
	}
	dir, err := build.ModuleDir(t.Context(), "sigs.k8s.io/cluster-api-provider-azure")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "internal", "webhooks", "azuremachine_webhook.go"))
	if err != nil {
		t.Fatal(err)
	}
	azure, _ := platforms.For("Azure")
	_, update, _ := strings.Cut(string(text), ") ValidateUpdate(")
	for name := range jsonNames(reflect.TypeOf(azure.Spec.NewInfraSpec()).Elem()) {
		if free, held := slices.Contains(azure.Editable.Machine, name), strings.Contains(strings.ToLower(update), `"`+strings.ToLower(name)+`"`); free == held && name != "subnetName" {
			t.Errorf("spec.%s of an AzureMachine: said to be free: %t, and named by the webhook: %t", name, free, held)
		}
	}
}

func jsonNames(t reflect.Type) map[string]bool {
	out := map[string]bool{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			out[name] = true
		}
	}
	return out
}
