// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/internal/unread"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/test/stories"
)

// rolledOut are the paths for which a Machine with one providerSpec is replaced under a template with another.
func rolledOut(platform string, template, machine map[string]any, in ...change) []string {
	v := world()
	platformed(configv1.PlatformType(platform), map[string]any{}, nil)(v)
	for _, c := range in {
		c(v)
	}
	v.Set.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.ProviderSpec = of(template)
	v.Machines = v.Machines[:1]
	v.Machines[0].Spec.ProviderSpec = of(machine)
	p := controlplane.Make(*v)
	var out []string
	for _, d := range p.Indexes[0].Machines[0].In(controlplane.Rollout) {
		out = append(out, d.String())
	}
	return out
}

func TestZeroValues(t *testing.T) {
	for platform, same := range map[string][]string{
		"AWS": {`{"marketType":""}`, `{"keyName":""}`, `{"deviceIndex":0}`, `{"publicIp":null}`, `{"placement":{"tenancy":"","host":null}}`, `{"subnet":{"filters":[]}}`, `{"metadataServiceOptions":{}}`,
			`{"iamInstanceProfile":{"id":"p","arn":""}}`, `{"blockDevices":[{"ebs":{"volumeSize":120,"kmsKey":{"id":""}},"virtualName":""}]}`,
			`{"ami":{"id":"ami-1","arn":""}}`, `{"cpuOptions":{}}`, `{"blockDevices":[{"ebs":{"volumeSize":120,"iops":0}}]}`,
			`{"blockDevices":[{"ebs":{"volumeSize":120,"deleteOnTermination":true}}]}`},
		"Azure": {`{"acceleratedNetworking":false}`, `{"natRule":""}`, `{"natRule":null}`, `{"image":{"sku":""}}`, `{"osDisk":{"diskSettings":{},"cachingType":""}}`, `{"osDisk":{"cachingType":"None"}}`, `{"diagnostics":{}}`, `{"securityProfile":{}}`,
			`{"dataDisks":[{"nameSuffix":"a","lun":0,"cachingType":"None"}]}`, `{"dataDisks":[{"nameSuffix":"a","managedDisk":{"storageAccountType":"Premium_LRS"}}]}`,
			`{"image":{"sku":"s","type":"MarketplaceNoPlan"}}`},
		"GCP":       {`{"preemptible":false}`, `{"canIPForward":false}`, `{"disks":[{"boot":true,"labels":{},"encryptionKey":null}]}`, `{"restartPolicy":""}`, `{"disks":[{"boot":true,"type":"pd-standard"}]}`, `{"shieldedInstanceConfig":{"secureBoot":""}}`},
		"OpenStack": {`{"trunk":false}`, `{"networks":[{"uuid":"n","subnets":[],"filter":{"name":""}}]}`, `{"ports":[{"networkID":"n","securityGroups":[]}]}`},
		"VSphere":   {`{"numCPUs":0}`, `{"cloneMode":"fullClone"}`, `{"network":{"devices":null}}`, `{"workspace":{"server":"s","folder":""}}`},
		"Nutanix":   {`{"bootType":""}`, `{"project":{"type":""}}`, `{"memorySize":"0"}`, `{"gpus":[]}`},
		"PowerVS":   {`{"memoryGiB":0}`, `{"processors":0}`, `{"processors":""}`, `{"serviceInstance":{"id":""}}`, `{"systemType":"s922","processorType":"Shared","memoryGiB":32,"processors":"0.5"}`},
	} {
		for _, zero := range same {
			t.Run(platform+" "+zero, func(t *testing.T) {
				with, without := map[string]any{}, map[string]any{}
				into(t, json.RawMessage(zero), &with)
				into(t, json.RawMessage(zero), &without)
				for _, name := range slices.Collect(maps.Keys(without)) {
					if without[name] = meant(without[name]); without[name] == nil {
						delete(without, name)
					}
				}
				for _, pair := range [][2]map[string]any{{with, without}, {without, with}} {
					if got := rolledOut(platform, pair[0], pair[1]); got != nil {
						t.Errorf("%v under a template of %v is replaced for %v", pair[1], pair[0], got)
					}
				}
			})
		}
	}
}

func TestADifferenceFromADefault(t *testing.T) {
	for name, c := range map[string]struct{ platform, template, machine, want string }{
		"to another value":                 {"PowerVS", `{"memoryGiB":48}`, `{}`, "memoryGiB 32 (default) → 48"},
		"back to it":                       {"PowerVS", `{}`, `{"systemType":"e980"}`, "systemType e980 → s922 (default)"},
		"in a list":                        {"GCP", `{"disks":[{"boot":true,"type":"pd-ssd"}]}`, `{"disks":[{"boot":true}]}`, "disks[0].type pd-standard (default) → pd-ssd"},
		"whose default is zero":            {"AWS", `{"blockDevices":[{"ebs":{"volumeSize":9,"iops":3000}}]}`, `{"blockDevices":[{"ebs":{"volumeSize":9}}]}`, "blockDevices[0].ebs.iops none → 3000"},
		"which follows from another field": {"PowerVS", `{"processors":"0.50","processorType":"Dedicated"}`, `{"processorType":"Dedicated"}`, "processors 1 (default) → 0.5"},
		"that a Machine says itself":       {"PowerVS", `{"processors":"0.75"}`, `{"processors":"0.5"}`, "processors 0.5 (default) → 0.75"},
		"where there is no such":           {"PowerVS", `{"keyPairName":"a"}`, `{}`, "keyPairName none → a"},
	} {
		t.Run(name, func(t *testing.T) {
			var template, machine map[string]any
			into(t, json.RawMessage(c.template), &template)
			into(t, json.RawMessage(c.machine), &machine)
			if got := rolledOut(c.platform, template, machine); len(got) != 1 || got[0] != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// meant leaves out, for the table above, what says nothing there.
func meant(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			if v[name] = meant(v[name]); v[name] == nil || slices.Contains([]string{"deleteOnTermination"}, name) {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = meant(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	default:
		if slices.Contains([]any{"", false, 0.0, "0", nil, "None", "fullClone", "UserProvided", "Premium_LRS", "MarketplaceNoPlan", "pd-standard", "s922",
			"Shared", "0.5", 32.0}, v) {
			return nil
		}
	}
	return v
}

// TestAnItemWhoseMembersAreZero: an item keeps its position in its list, and means the same as an empty one.
func TestAnItemWhoseMembersAreZero(t *testing.T) {
	for platform, c := range map[string]struct{ list, member string }{
		"AWS": {"blockDevices", "virtualName"}, "OpenStack": {"ports", "nameSuffix"}, "Azure": {"dataDisks", "cachingType"},
	} {
		zero := map[string]any{c.list: []any{map[string]any{c.member: ""}}}
		empty := map[string]any{c.list: []any{map[string]any{}}}
		for _, pair := range [][2]map[string]any{{zero, empty}, {empty, zero}} {
			if out := rolledOut(platform, pair[0], pair[1]); len(out) != 0 {
				t.Errorf("%s: %v", platform, out)
			}
		}
		if len(rolledOut(platform, zero, map[string]any{})) == 0 {
			t.Errorf("%s: an item counts as none", platform)
		}
	}
}

func TestWhatAZeroMeans(t *testing.T) {
	for platform, other := range map[string][]string{
		"AWS":       {`{"spotMarketOptions":{}}`, `{"publicIp":false}`, `{"blockDevices":[{"ebs":{"encrypted":false}}]}`},
		"Azure":     {`{"spotVMOptions":{}}`, `{"natRule":0}`, `{"securityProfile":{"encryptionAtHost":false}}`},
		"GCP":       {`{"preemptible":true}`, `{"labels":{"a":""}}`},
		"OpenStack": {`{"configDrive":false}`, `{"rootVolume":{}}`},
	} {
		for _, zero := range other {
			t.Run(platform+" "+zero, func(t *testing.T) {
				with, without := map[string]any{}, map[string]any{}
				into(t, json.RawMessage(zero), &with)
				if strings.HasPrefix(zero, `{"blockDevices`) {
					without["blockDevices"] = []any{map[string]any{"ebs": map[string]any{}}}
				}
				for _, pair := range [][2]map[string]any{{with, without}, {without, with}} {
					if len(rolledOut(platform, pair[0], pair[1])) == 0 {
						t.Errorf("%v and %v are taken for the same", pair[0], pair[1])
					}
				}
			})
		}
	}
}

// Machine API gives the machine's security groups to each interface that has none of its own; a mirror may list them otherwise.
func TestSecurityGroupsOfOpenStack(t *testing.T) {
	const a, b = `{"uuid":"a"}`, `{"uuid":"b"}`
	of := func(machines, networks, ports string) string {
		return fmt.Sprintf(`{"securityGroups":[%s],"networks":[%s],"ports":[%s]}`, machines, networks, ports)
	}
	for sentence, c := range map[string]struct {
		template, machine string
		replaced          bool
	}{
		"the only port's own are the machine's":               {of(a, ``, `{}`), of(``, ``, `{"securityGroups":["a"]}`), false},
		"a port's own, beside a network without security":     {of(a, `{"portSecurity":false}`, `{}`), of(``, `{"portSecurity":false}`, `{"securityGroups":["a"]}`), false},
		"a port's own, as the machine's are":                  {of(a, `{}`, `{"securityGroups":["a"]}`), of(a, `{}`, `{}`), false},
		"in another order":                                    {of(a+","+b, ``, `{},{"portSecurity":false}`), of(``, ``, `{"securityGroups":["b","a"]},{"portSecurity":false}`), false},
		"the machine's, that no interface has":                {of(a, `{"portSecurity":false}`, ``), of(``, `{"portSecurity":false}`, ``), false},
		"a network lacks them":                                {of(a, `{}`, `{}`), of(``, `{}`, `{"securityGroups":["a"]}`), true},
		"a port has others than the machine's":                {of(a, ``, `{},{}`), of(a, ``, `{"securityGroups":["b"]},{}`), true},
		"no interface is listed, and Machine API knows which": {of(a, ``, ``), of(``, ``, ``), true},
		"a port has lost its security":                        {of(a, ``, `{}`), of(a, ``, `{"portSecurity":false}`), true},
		"a list of what is no interface":                      {of(a, ``, `"x"`), of(a, ``, `"x"`), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			template, machine := map[string]any{}, map[string]any{}
			into(t, json.RawMessage(c.template), &template)
			into(t, json.RawMessage(c.machine), &machine)
			for _, pair := range [][2]map[string]any{{template, machine}, {machine, template}} {
				if got := rolledOut("OpenStack", pair[0], pair[1]); (len(got) > 0) != c.replaced {
					t.Errorf("%v under a template of %v is replaced for %v", pair[1], pair[0], got)
				}
			}
		})
	}
}

// What Machine API goes by makes a Machine outdated, whatever stands beside it that does not count.
func TestWhatCounts(t *testing.T) {
	aws := func(v *controlplane.View) {
		v.Infrastructure.Status.PlatformStatus.AWS = &configv1.AWSPlatformStatus{Region: "r"}
	}
	azure := func(v *controlplane.View) {
		v.Infrastructure.Status.PlatformStatus.Azure = &configv1.AzurePlatformStatus{ResourceGroupName: "C-rg"}
	}
	gcp := func(v *controlplane.View) {
		v.Infrastructure.Status.PlatformStatus.GCP = &configv1.GCPPlatformStatus{ProjectID: "p", Region: "r"}
	}
	none := func(*controlplane.View) {}
	for sentence, c := range map[string]struct {
		platform          string
		in                change
		template, machine string
		replaced          bool
	}{
		"the cluster's region":                        {"AWS", aws, `{"placement":{"region":"r"}}`, `{}`, false},
		"another region":                              {"AWS", aws, `{"placement":{"region":"s"}}`, `{}`, true},
		"a throughput":                                {"AWS", none, `{"blockDevices":[{"ebs":{"throughputMib":125}}]}`, `{"blockDevices":[{"ebs":{"throughputMib":0}}]}`, true},
		"the root device stands last":                 {"AWS", none, `{"blockDevices":[{"deviceName":"a"},{"ebs":{"volumeSize":9}}]}`, `{"blockDevices":[{"ebs":{"volumeSize":9}},{"deviceName":"a"}]}`, false},
		"the device has another name":                 {"AWS", none, `{"blockDevices":[{"deviceName":"a"}]}`, `{"blockDevices":[{"deviceName":"b"}]}`, true},
		"other credentials":                           {"AWS", none, `{"credentialsSecret":{"name":"mine"}}`, `{"credentialsSecret":{"name":"aws-cloud-credentials"}}`, true},
		"the cluster's resource group in other case":  {"Azure", azure, `{"resourceGroup":"c-RG","networkResourceGroup":"C-rg"}`, `{}`, false},
		"another resource group":                      {"Azure", azure, `{"resourceGroup":"d-rg"}`, `{}`, true},
		"a location as people write it":               {"Azure", none, `{"location":"West Europe"}`, `{"location":"westeurope"}`, false},
		"a size as Machine API's webhook fills it in": {"Azure", none, `{"vmSize":"Standard_D4s_V3"}`, `{"vmSize":"Standard_D4s_v3"}`, false},
		"another size":                                {"Azure", none, `{"vmSize":"Standard_D4s_v3"}`, `{"vmSize":"Standard_D4s_v5"}`, true},
		"another location":                            {"Azure", none, `{"location":"North Europe"}`, `{"location":"westeurope"}`, true},
		"the cluster's project":                       {"GCP", gcp, `{"projectID":"p","networkInterfaces":[{"network":"n","projectID":"p"}]}`, `{"networkInterfaces":[{"network":"n"}]}`, false},
		"another project's network":                   {"GCP", gcp, `{"networkInterfaces":[{"network":"n","projectID":"q"}]}`, `{"networkInterfaces":[{"network":"n"}]}`, true},
		"the image of a boot disk that is not first":  {"GCP", none, `{"disks":[{"sizeGb":9},{"boot":true,"image":"new"}]}`, `{"disks":[{"boot":true,"image":"old"},{"sizeGb":9}]}`, false},
		"a spot machine that is never restarted":      {"GCP", none, `{"preemptible":true,"restartPolicy":"Never"}`, `{"preemptible":true}`, false},
		"a machine that is never restarted":           {"GCP", none, `{"restartPolicy":"Never"}`, `{}`, true},
		"a filter beside an id":                       {"OpenStack", none, `{"networks":[{"uuid":"n","filter":{"name":"x"},"subnets":[{"filter":{"id":"s","cidr":"c"}}]}]}`, `{"networks":[{"filter":{"id":"n"},"subnets":[{"uuid":"s"}]}]}`, false},
		"another id beside a filter":                  {"OpenStack", none, `{"networks":[{"uuid":"n","filter":{"name":"x"}}]}`, `{"networks":[{"uuid":"m","filter":{"name":"x"}}]}`, true},
		"another filter":                              {"OpenStack", none, `{"networks":[{"filter":{"name":"x"}}]}`, `{"networks":[{"filter":{"name":"y"}}]}`, true},
		"a project under its former name":             {"OpenStack", none, `{"networks":[{"filter":{"tenantId":"t"}}]}`, `{"networks":[{"filter":{"projectId":"t"}}]}`, false},
		"a group's name in its filter":                {"OpenStack", none, `{"securityGroups":[{"name":"g"}]}`, `{"securityGroups":[{"filter":{"name":"g"}}]}`, false},
		"an image beside a root volume's source":      {"OpenStack", none, `{"image":"i","rootVolume":{"diskSize":9,"sourceUUID":"s"}}`, `{"image":"s","rootVolume":{"diskSize":9}}`, false},
		"another source":                              {"OpenStack", none, `{"image":"i","rootVolume":{"diskSize":9,"sourceUUID":"s"}}`, `{"image":"i","rootVolume":{"diskSize":9}}`, true},
		"a server group's name beside its id":         {"OpenStack", none, `{"serverGroupID":"g","serverGroupName":"n"}`, `{"serverGroupID":"g"}`, false},
		"subnets that alone tell their network":       {"OpenStack", none, `{"networks":[{"subnets":[{"uuid":"a"},{"uuid":"b"}]}]}`, `{"networks":[{"subnets":[{"uuid":"a"}]},{"subnets":[{"uuid":"b"}]}]}`, false},
		"subnets of a network are of one interface":   {"OpenStack", none, `{"networks":[{"uuid":"n","subnets":[{"uuid":"a"},{"uuid":"b"}]}]}`, `{"networks":[{"uuid":"n","subnets":[{"uuid":"a"}]},{"uuid":"n","subnets":[{"uuid":"b"}]}]}`, true},
		"the cluster's own subnet, with its network":  {"OpenStack", none, `{"networks":[{"subnets":[{"filter":{"tags":"openshiftClusterID=x"}}]}]}`, `{"networks":[{"uuid":"n","subnets":[{"filter":{"tags":"openshiftClusterID=x"}}]}]}`, false},
		"another subnet, with its network":            {"OpenStack", none, `{"networks":[{"subnets":[{"filter":{"tags":"x"}}]}]}`, `{"networks":[{"uuid":"n","subnets":[{"filter":{"tags":"x"}}]}]}`, true},
		"tags of a subnet are its port's":             {"OpenStack", none, `{"networks":[{"uuid":"n","portTags":["x"],"subnets":[{"uuid":"a","portTags":["y"]}]}]}`, `{"networks":[{"uuid":"n","portTags":["x","y"],"subnets":[{"uuid":"a"}]}]}`, false},
		"a port's security":                           {"OpenStack", none, `{"networks":[{"uuid":"n","portSecurity":false}]}`, `{"networks":[{"uuid":"n"}]}`, true},
		"a capability as Neutron's documents have it": {"OpenStack", none, `{"ports":[{"networkID":"n","profile":{"capabilities":"[\"switchdev\"]"}}]}`, `{"ports":[{"networkID":"n","profile":{"capabilities":"[switchdev]"}}]}`, false},
		"half a processor in other words":             {"PowerVS", none, `{"processors":"0.50"}`, `{"processors":"0.5"}`, false},
		"half a processor without a zero":             {"PowerVS", none, `{"processors":".5"}`, `{}`, false},
		"half a processor as a number":                {"PowerVS", none, `{"processors":0.5}`, `{"processors":"0.5"}`, false},
		"processors as a number and as a word":        {"PowerVS", none, `{"processors":2}`, `{"processors":"2.0"}`, false},
		"more processors":                             {"PowerVS", none, `{"processors":"0.75"}`, `{"processors":"0.5"}`, true},
		"a whole one of its own, in other words":      {"PowerVS", none, `{"processorType":"Dedicated","processors":"1.0"}`, `{"processorType":"Dedicated"}`, false},
		"processors that are no number":               {"PowerVS", none, `{"processors":"NaN"}`, `{"processors":"0.5"}`, true},
		"load balancers in another order":             {"PowerVS", none, `{"loadBalancers":[{"name":"a","type":"Application"},{"name":"b","type":"Application"}]}`, `{"loadBalancers":[{"name":"b","type":"Application"},{"name":"a","type":"Application"}]}`, false},
		"memory in bytes":                             {"Nutanix", none, `{"memorySize":"16Gi","dataDisks":[{"diskSize":"1Gi"}]}`, `{"memorySize":17179869184,"dataDisks":[{"diskSize":"1048576Ki"}]}`, false},
		"a disk in powers of ten":                     {"Nutanix", none, `{"systemDiskSize":"128G"}`, `{"systemDiskSize":"128e9"}`, false},
		"a disk of powers of ten or of two":           {"Nutanix", none, `{"systemDiskSize":"128G"}`, `{"systemDiskSize":"128Gi"}`, true},
		"a price in thousandths":                      {"Azure", none, `{"spotVMOptions":{"maxPrice":"0.05"}}`, `{"spotVMOptions":{"maxPrice":"5e-2"}}`, false},
		"no limit of a price":                         {"Azure", none, `{"spotVMOptions":{"maxPrice":-1}}`, `{"spotVMOptions":{"maxPrice":"-1"}}`, false},
		"scopes in another order":                     {"GCP", none, `{"serviceAccounts":[{"email":"e","scopes":["a","b"]}]}`, `{"serviceAccounts":[{"email":"e","scopes":["b","a"]}]}`, false},
		"lists of what is no object":                  {"OpenStack", none, `{"networks":["x",{"subnets":["y"]}],"securityGroups":["z"]}`, `{"networks":["x",{"subnets":["y"]}],"securityGroups":["z"]}`, false},
	} {
		t.Run(c.platform+", "+sentence, func(t *testing.T) {
			template, machine := map[string]any{}, map[string]any{}
			into(t, json.RawMessage(c.template), &template)
			into(t, json.RawMessage(c.machine), &machine)
			for _, pair := range [][2]map[string]any{{template, machine}, {machine, template}} {
				if got := rolledOut(c.platform, pair[0], pair[1], c.in); (len(got) > 0) != c.replaced {
					t.Errorf("%v under a template of %v is replaced for %v", pair[1], pair[0], got)
				}
			}
		})
	}
}

// The readers of a providerSpec go by the cluster's platform.
func TestAKindReplacesNothing(t *testing.T) {
	for _, row := range platform.All() {
		for _, head := range []map[string]any{{}, {"kind": row.Kind}, {"kind": row.Kind, "apiVersion": "machine.openshift.io/v1beta1"}, {"Kind": row.Kind, "APIVersion": "v1"}} {
			if got := rolledOut(string(row.Name), map[string]any{"kind": row.Kind, "apiVersion": "a.b/v1alpha1"}, head); got != nil {
				t.Errorf("%s: %v is replaced for %v", row.Name, head, got)
			}
		}
	}
}

// zeroed calls use with the value with one zero value put into it or taken from it, for each member that its type has, at every level.
// means is true where the member is an empty object behind a pointer, or false or 0 behind one: it says something then.
func zeroed(v any, t reflect.Type, use func(path string, zero any, means bool)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			zeroed(v[i], t.Elem(), func(path string, zero any, means bool) { use(fmt.Sprintf("[%d]%s", i, path), zero, means) })
		}
	case map[string]any:
		if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "metadata" {
				continue
			}
			if at, there := v[name]; there && at != nil {
				zeroed(at, f.Type, func(path string, zero any, means bool) { use("."+name+path, zero, means) })
				continue
			}
			zero, means := zeroOf(f.Type)
			v[name] = zero
			use("."+name, zero, means)
			delete(v, name)
		}
	}
}

func zeroOf(t reflect.Type) (zero any, means bool) {
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "", false
	case reflect.Bool:
		return false, pointer
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return nil, false
		}
		return map[string]any{}, pointer
	case reflect.Slice:
		return []any{}, false
	case reflect.Map:
		return map[string]any{}, false
	case reflect.Int, reflect.Int32, reflect.Int64:
		return 0, pointer
	default:
		return nil, false
	}
}

// What the type of a providerSpec cannot tell from nothing makes no Machine outdated, on any platform and at any level.
func TestZeroValuesOfEveryType(t *testing.T) {
	// nothing: what the type could tell, and no platform does (see meaning.go).
	nothing := []string{"AWS cpuOptions", "AWS iamInstanceProfile", "GCP encryptionKey", "AWS ebs.iops", "AWS ebs.throughputMib", "AWS deleteOnTermination", "Azure securityProfile", "OpenStack storage.volume"}
	index := regexp.MustCompile(`\[\d+\]`)
	seed := conversiontest.Seed(t)
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			bases := []map[string]any{kit.ProviderSpec}
			made := map[string]any{}
			into(t, kit.AnyProviderSpec(r), &made)
			bases = append(bases, made)
			checked := 0
			for _, base := range bases {
				base, other := copied(t, base), copied(t, base)
				zeroed(base, reflect.TypeOf(kit.Platform.Spec.NewProviderSpec()), func(path string, zero any, means bool) {
					if slices.ContainsFunc(nothing, func(n string) bool {
						platform, member, _ := strings.Cut(n, " ")
						return platform == kit.Platform.Name && strings.HasSuffix(path, "."+member)
					}) || path == ".credentialsSecret" || slices.Contains(unread.Members(kit.Platform.Name), strings.TrimPrefix(index.ReplaceAllString(path, "[]"), ".")) {
						means = false
					}
					checked++
					if got := rolledOut(kit.Platform.Name, base, other); (len(got) > 0) != means {
						t.Errorf("%s: %v against nothing: differences %v, want some: %v", path, zero, got, means)
					}
					if got := rolledOut(kit.Platform.Name, other, base); (len(got) > 0) != means {
						t.Errorf("nothing against %s: %v: differences %v, want some: %v", path, zero, got, means)
					}
				})
			}
			t.Logf("%d zero values", checked)
		})
	}
}

func copied(t testing.TB, v map[string]any) map[string]any {
	t.Helper()
	out := map[string]any{}
	into(t, v, &out)
	return out
}

// A Machine that was mirrored, and whose authority has come back, is what its set would make: whatever has the same meaning after a round trip is equal.
func TestAMirroredMachineIsNotOutdated(t *testing.T) {
	seed := conversiontest.Seed(t)
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			same := func(what string, template, machine map[string]any) {
				if got := rolledOutIn(t, kit, template, machine); got != nil {
					t.Errorf("%s, a Machine that was mirrored is replaced for %v", what, got)
				}
			}
			done := 0
			for i := range stories.Times(8, 40) {
				base := map[string]any{}
				into(t, kit.AnyProviderSpec(r), &base)
				back, ok := thereAndBack(t, kit, base)
				if !ok {
					continue
				}
				done++
				same("as it was made up", elsewhereSaid(kit.Platform.Name, base, back), back)
				if i >= stories.Times(1, 3) {
					continue
				}
				zeroed(back, reflect.TypeOf(kit.Platform.Spec.NewProviderSpec()), func(path string, zero any, _ bool) {
					if mirrored, ok := thereAndBack(t, kit, back); ok { // else the move is refused, by this member's name
						same(fmt.Sprintf("with %s: %v in the template", path, zero), back, mirrored)
					}
				})
			}
			t.Logf("%d went there and back", done)
		})
	}
}

// elsewhereSaid is a template with the values that only the infrastructure cluster has, as the conversion writes them. A set uses the Infrastructure's.
func elsewhereSaid(platform string, template, back map[string]any) map[string]any {
	for _, name := range map[string][]string{"Azure": {"location", "securityGroup", "managedIdentity"}, "OpenStack": {"tags"}}[platform] {
		if template[name] = back[name]; back[name] == nil {
			delete(template, name)
		}
	}
	return template
}

// rolledOutIn is rolledOut in the kit's cluster.
func rolledOutIn(t *testing.T, kit conversiontest.Kit, template, machine map[string]any) []string {
	t.Helper()
	return rolledOut(kit.Platform.Name, template, machine, func(v *controlplane.View) { into(t, kit.Infrastructure, v.Infrastructure) })
}

func thereAndBack(t *testing.T, kit conversiontest.Kit, spec map[string]any) (map[string]any, bool) {
	t.Helper()
	env, core := kit.Env(), &conversion.Core{}
	there := conversion.NewPass(&env, core, "")
	infra := conversiontest.ToClusterAPI(there, []byte(raw(t, spec)))
	if len(there.Errors()) > 0 {
		return nil, false
	}
	back := conversion.NewPass(&env, core, "")
	typed := conversiontest.ToMachineAPI(back, []byte(raw(t, infra)))
	if len(back.Errors()) > 0 {
		return nil, false
	}
	out, err := conversion.Encode(typed)
	if err != nil {
		t.Fatal(err)
	}
	return copied(t, out), true
}

// OpenShift's Machine Config Operator writes boot images into the set's template after an upgrade.
func TestABootImageReplacesNothing(t *testing.T) {
	disks := func(boot, data string) map[string]any {
		return map[string]any{"disks": []any{map[string]any{"boot": true, "image": boot}, map[string]any{"image": data}}}
	}
	for text, c := range map[string]struct {
		platform          string
		template, machine map[string]any
		replaced          bool
	}{
		"AWS":                                  {"AWS", map[string]any{"ami": map[string]any{"id": "new"}}, map[string]any{"ami": map[string]any{"id": "old"}}, false},
		"AWS, and a larger instance":           {"AWS", map[string]any{"ami": map[string]any{"id": "new"}, "instanceType": "m6i.2xlarge"}, map[string]any{"ami": map[string]any{"id": "old"}}, true},
		"Azure":                                {"Azure", map[string]any{"image": map[string]any{"resourceID": "new"}}, map[string]any{"image": map[string]any{"resourceID": "old"}}, false},
		"GCP":                                  {"GCP", disks("new", "d"), disks("old", "d"), false},
		"GCP, the image of another disk":       {"GCP", disks("b", "new"), disks("b", "old"), true},
		"PowerVS, whose image it leaves":       {"PowerVS", map[string]any{"image": map[string]any{"name": "new"}}, map[string]any{"image": map[string]any{"name": "old"}}, true},
		"Nutanix, whose image it leaves":       {"Nutanix", map[string]any{"image": map[string]any{"name": "new"}}, map[string]any{"image": map[string]any{"name": "old"}}, true},
		"OpenStack, whose image it leaves":     {"OpenStack", map[string]any{"image": "new"}, map[string]any{"image": "old"}, true},
		"vSphere, whose template it leaves":    {"VSphere", map[string]any{"template": "new"}, map[string]any{"template": "old"}, true},
		"AWS, a field whose name begins alike": {"AWS", map[string]any{"amiable": "new"}, map[string]any{"amiable": "old"}, true},
	} {
		t.Run(text, func(t *testing.T) {
			if got := rolledOut(c.platform, c.template, c.machine); (len(got) > 0) != c.replaced {
				t.Errorf("it is replaced for %v", got)
			}
		})
	}
}
