// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	awswebhooks "sigs.k8s.io/cluster-api-provider-aws/v2/webhooks"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"
	gcpwebhooks "sigs.k8s.io/cluster-api-provider-gcp/webhooks"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/policies/authority"
)

// A message that asks for a patch of the infrastructure cluster object asks for one that the provider's webhook accepts. The message replaces the object if the
// webhook accepts the field only at its creation. AWS's and GCP's webhooks can be called here.
func TestWebhooksLetThePatchesOfMessagesPass(t *testing.T) {
	update := map[string]func(old, patched []byte) error{
		"aws": func(old, patched []byte) error {
			var o, n awsv1.AWSCluster
			if err := json.Unmarshal(old, &o); err != nil {
				return err
			}
			if err := json.Unmarshal(patched, &n); err != nil {
				return err
			}
			_, err := (&awswebhooks.AWSCluster{}).ValidateUpdate(t.Context(), &o, &n)
			return err
		},
		"gcp": func(old, patched []byte) error {
			var o, n gcpv1.GCPCluster
			if err := json.Unmarshal(old, &o); err != nil {
				return err
			}
			if err := json.Unmarshal(patched, &n); err != nil {
				return err
			}
			o.Spec.Network.Mtu, n.Spec.Network.Mtu = 1460, 1460 // the CRD's default
			_, err := (&gcpwebhooks.GCPCluster{}).ValidateUpdate(t.Context(), &o, &n)
			return err
		},
	}
	command := regexp.MustCompile(`: kubectl patch [a-z]+cluster\.\S+ \S+ -n \S+ --type=merge -p '([^']*)'`)
	patches := 0
	eachCluster(t, func(t *testing.T, folder string, c corpus, v variants) {
		webhook, callable := update[filepath.Base(folder)]
		if !callable {
			return
		}
		for text, v := range v.Refused {
			c, o := v.Apply(t, c, read(t, filepath.Join(folder, v.Of)))
			_, errs := core.ToClusterAPI(o.GetKind(), o, c.Env(t))
			for _, e := range errs {
				found := command.FindStringSubmatch(e.Detail)
				if found == nil {
					continue
				}
				patches++
				old := rawOf(t, c.InfraCluster)
				var patched map[string]any
				merge(t, c.InfraCluster, json.RawMessage(found[1]), &patched)
				if err := webhook(old, rawOf(t, patched)); err != nil && !strings.Contains(err.Error(), "Warning") {
					t.Errorf("%s: %s: %v", text, found[1], err)
				}
			}
		}
	})
	if patches < 2 {
		t.Errorf("%d patches: that is no test", patches)
	}
}

// TestAReplacementIsAllowedAndLeavesNoPermission: Poundlock refuses the deletion of an infrastructure cluster that mirrors need until it is allowed, and the
// new object is protected again.
func TestAReplacementIsAllowedAndLeavesNoPermission(t *testing.T) {
	allow := " --overwrite " + authority.AllowDeletionAnnotation + "=" + authority.AllowsDeletion
	for text, c := range map[string]struct {
		metadata map[string]any
		want     []string
		not      string
		gone     []string // annotations that the new object does not have
	}{
		"OpenShift's": {
			metadata: map[string]any{"annotations": map[string]any{"cluster.x-k8s.io/managed-by": "cluster-capi-operator-infracluster-controller"}},
			want:     []string{allow + " && kubectl get ", " | kubectl replace --force -f -"}, not: "finalizers", gone: []string{authority.AllowDeletionAnnotation},
		},
		"the provider's": {
			metadata: map[string]any{"finalizers": []any{"azurecluster.infrastructure.cluster.x-k8s.io"}},
			want:     []string{allow + " cluster.x-k8s.io/paused= && kubectl get ", `'{"metadata":{"finalizers":null}}' && kubectl replace --force --cascade=orphan -f infracluster.json`},
			gone:     []string{authority.AllowDeletionAnnotation, "cluster.x-k8s.io/paused"},
		},
		"the provider's, which somebody has paused": {
			metadata: map[string]any{"finalizers": []any{"azurecluster.infrastructure.cluster.x-k8s.io"}, "annotations": map[string]any{"cluster.x-k8s.io/paused": ""}},
			want:     []string{allow + " && kubectl get "}, gone: []string{authority.AllowDeletionAnnotation},
		},
	} {
		t.Run(text, func(t *testing.T) {
			azure, _ := platforms.For("Azure")
			env := conversion.Env{Platform: azure, ClusterName: "x", ClusterAPINamespace: "c", InfraCluster: map[string]any{"metadata": c.metadata}}
			got := conversion.NewPass(&env, &conversion.Core{}, "").Replacement(`{"spec":{"azureEnvironment":"AzurePublicCloud"}}`)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in %s", want, got)
				}
			}
			if c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("%q in %s", c.not, got)
			}
			patch := regexp.MustCompile(`--local -f - --type=merge -p '([^']*)'`).FindStringSubmatch(got)
			if patch == nil {
				t.Fatal(got)
			}
			var patched map[string]any
			merge(t, map[string]any{"metadata": map[string]any{"annotations": map[string]any{authority.AllowDeletionAnnotation: "true", "cluster.x-k8s.io/paused": "", "kept": ""}}}, json.RawMessage(patch[1]), &patched)
			annotations, _, _ := unstructured.NestedStringMap(patched, "metadata", "annotations")
			want := map[string]string{authority.AllowDeletionAnnotation: "true", "cluster.x-k8s.io/paused": "", "kept": ""}
			for _, name := range c.gone {
				delete(want, name)
			}
			if diff := cmp.Diff(want, annotations); diff != "" {
				t.Errorf("annotations of the new object (-want +got):\n%s", diff)
			}
			if cloud, _, _ := unstructured.NestedString(patched, "spec", "azureEnvironment"); cloud != "AzurePublicCloud" {
				t.Error(patched)
			}
		})
	}
}

// TestWhatOnlyTheInfraClusterGives: a tag or label that Cluster API gives to each machine of the cluster, and Machine API does not, blocks the move until it is
// written into the machine or removed from the cluster, as the message says. On the way back the mirror writes it.
func TestWhatOnlyTheInfraClusterGives(t *testing.T) {
	tag := map[string]any{"parentID": "openshift", "key": "extra", "value": "x"}
	other := map[string]any{"parentID": "openshift", "key": "other", "value": "y"}
	for _, c := range []struct {
		platform, list string
		given          any
		field          string
		named          string // the providerSpec's merge patch that names it
		silent         bool
		stays          bool // the mirror cannot write it
	}{
		{platform: "AWS", list: "additionalTags", given: map[string]any{"extra": "x"}, field: "tags[extra]", named: `{"tags":[{"name":"extra","value":"z"}]}`},
		{platform: "AWS", list: "additionalTags", given: map[string]any{"Name": "x"}, field: "tags[Name]", stays: true},
		{platform: "AWS", list: "additionalTags", given: map[string]any{"kubernetes.io/cluster/lock-7x2k9": "owned"}, silent: true},
		{platform: "Azure", list: "additionalTags", given: map[string]any{"extra": "x"}, field: "tags[extra]", named: `{"tags":{"extra":"z"}}`},
		{platform: "GCP", list: "additionalLabels", given: map[string]any{"extra": "x"}, field: "labels[extra]", named: `{"labels":{"extra":"z"}}`},
		{platform: "GCP", list: "additionalLabels", given: map[string]any{"capg-role": "node"}, silent: true},
		{platform: "GCP", list: "resourceManagerTags", given: []any{tag}, field: "resourceManagerTags[extra]", named: `{"resourceManagerTags":[{"parentID":"openshift","key":"extra","value":"z"}]}`, stays: true},
		{platform: "GCP", list: "resourceManagerTags", given: []any{tag, other}, field: "resourceManagerTags[other]",
			named: `{"resourceManagerTags":[{"parentID":"openshift","key":"extra","value":"z"},{"parentID":"openshift","key":"other","value":"z"}]}`, stays: true},
	} {
		t.Run(c.platform+" "+c.field, func(t *testing.T) {
			kit := kitOf(t, c.platform)
			plain := kit
			kit.InfraCluster = runtime.DeepCopyJSON(kit.InfraCluster)
			kit.InfraCluster[c.list] = c.given
			_, errs := core.ToClusterAPI("MachineSet", machineAPIObject("MachineSet", kit), kit.Env())
			detail := ""
			for _, e := range errs {
				if strings.HasSuffix(e.Field, "providerSpec.value."+c.field) {
					detail = e.Detail
				}
			}
			if c.silent {
				if len(errs) > 0 {
					t.Error(errs)
				}
				return
			}
			if detail == "" {
				t.Fatalf("%s is not refused: %v", c.field, errs)
			}
			if named := strings.Contains(detail, "set the same entry in this object, or"); named != (c.named != "") {
				t.Error(detail)
			}
			patch := regexp.MustCompile(`: kubectl patch [a-z]+cluster\.\S+ \S+ -n \S+ --type=merge -p '([^']*)'`).FindStringSubmatch(detail)
			if patch == nil {
				t.Fatal(detail)
			}
			before := kit.Env()
			after := before
			merge(t, before.InfraCluster, json.RawMessage(patch[1]), &after.InfraCluster)
			_, errs = core.ToClusterAPI("MachineSet", machineAPIObject("MachineSet", kit), after)
			for _, e := range errs {
				if strings.HasSuffix(e.Field, "providerSpec.value."+c.field) {
					t.Errorf("after the command: %s: %s", e.Field, e.Detail)
				}
			}
			if c.named != "" {
				named := kit
				named.ProviderSpec = map[string]any{}
				if err := json.Unmarshal(conversiontest.Patched(t, rawOf(t, kit.ProviderSpec), c.named), &named.ProviderSpec); err != nil {
					t.Fatal(err)
				}
				if _, errs := core.ToClusterAPI("MachineSet", machineAPIObject("MachineSet", named), kit.Env()); len(errs) > 0 {
					t.Errorf("named in the providerSpec: %v", errs)
				}
			}
			// On the way back the template lacks it as well.
			twin, errs := core.ToClusterAPI("MachineSet", machineAPIObject("MachineSet", plain), plain.Env())
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			back, errs := core.ToMachineAPI("MachineSet", twin, kit.Env())
			if refused := slices.ContainsFunc(errs, func(e *field.Error) bool { return strings.Contains(e.Detail, "Cluster API copies this entry from") }); refused != c.stays {
				t.Errorf("going back: %v", errs)
			}
			if !c.stays { // it is written there, and so converts again
				if _, errs := core.ToClusterAPI("MachineSet", back, kit.Env()); len(errs) > 0 {
					t.Errorf("going there once more: %v", errs)
				}
			}
			// If the mirror wrote it, a control plane Machine would differ from its ControlPlaneMachineSet, and be replaced.
			masters := plain
			masters.ProviderSpec = ofMaster(plain)
			master := machineAPIObject("MachineSet", masters)
			for _, label := range []string{"role", "type"} {
				if err := unstructured.SetNestedField(master.Object, "master", "spec", "template", "metadata", "labels", "machine.openshift.io/cluster-api-machine-"+label); err != nil {
					t.Fatal(err)
				}
			}
			if twin, errs = core.ToClusterAPI("MachineSet", master, plain.Env()); len(errs) == 0 {
				if _, errs = core.ToMachineAPI("MachineSet", twin, kit.Env()); !slices.ContainsFunc(errs, func(e *field.Error) bool { return strings.Contains(e.Detail, "Cluster API copies this entry from") }) {
					t.Errorf("a control plane, going back: %v", errs)
				}
			} else {
				t.Error(errs)
			}
			// On Google Cloud only new instances get a label.
			if _, errs = core.ToClusterAPI("Machine", machineAPIObject("Machine", kit), kit.Env()); (len(errs) == 0) != (c.platform == "GCP") {
				t.Errorf("an instance that runs: %v", errs)
			}
		})
	}
}

// ofMaster is the providerSpec of a control plane Machine.
func ofMaster(kit conversiontest.Kit) map[string]any {
	out := runtime.DeepCopyJSON(kit.ProviderSpec)
	maps.Copy(out, runtime.DeepCopyJSON(kit.Master))
	if kit.Platform.Name == "AWS" {
		out["loadBalancers"] = []any{map[string]any{"name": "lock-7x2k9-int", "type": "network"}, map[string]any{"name": "lock-7x2k9-ext", "type": "network"}}
	}
	return out
}

func kitOf(t *testing.T, platform string) conversiontest.Kit {
	t.Helper()
	for _, kit := range platformstest.Kits() {
		if kit.Platform.Name == platform {
			return kit
		}
	}
	t.Fatalf("no kit of %s", platform)
	return conversiontest.Kit{}
}
