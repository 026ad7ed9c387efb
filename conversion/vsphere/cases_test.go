// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/vsphere/vspheretest"
)

// plain is a providerSpec that converts; each case is a merge patch of it.
const plain = `{
	"kind": "VSphereMachineProviderSpec", "apiVersion": "machine.openshift.io/v1beta1",
	"template": "lock-rhcos", "snapshot": "", "numCPUs": 4, "memoryMiB": 16384, "diskGiB": 120,
	"userDataSecret": {"name": "worker-user-data"}, "network": {"devices": [{"networkName": "VM Network"}]},
	"workspace": {"server": "vcenter.example.com", "datacenter": "dc1", "datastore": "/dc1/datastore/ds1", "folder": "/dc1/vm/lock-7x2k9", "resourcePool": "/dc1/host/cluster1/Resources"}
}`

// device is a merge patch with more fields of the one network device.
func device(more string) string {
	return `{"network": {"devices": [{"networkName": "VM Network", ` + more + `}]}}`
}

func disks(each ...string) string { return `{"dataDisks": [` + strings.Join(each, ", ") + `]}` }

// vcenters makes the VSphereCluster's identity valid for other vCenters too.
func vcenters(others string) func(*conversion.Env) {
	return func(e *conversion.Env) {
		cluster := maps.Clone(e.InfraCluster)
		cluster["metadata"] = map[string]any{"annotations": map[string]any{"poundlock.openshift.io/vcenters": others}}
		e.InfraCluster = cluster
	}
}

func TestWhatAProviderSpecMayHave(t *testing.T) {
	cases := map[string]struct {
		patch    string
		template bool
		env      func(*conversion.Env)
		want     []string
	}{
		"nothing out of the way":    {patch: `{}`},
		"a null creationTimestamp":  {patch: `{"metadata": {"creationTimestamp": null}}`},
		"metadata of its own":       {patch: `{"metadata": {"name": "x"}}`, want: []string{"metadata: FieldValueNotSupported"}},
		"no template":               {patch: `{"template": ""}`, want: []string{"template: FieldValueRequired"}},
		"a template by its path":    {patch: `{"template": "/dc1/vm/lock/rhcos"}`},
		"a template by its UUID":    {patch: `{"template": "4237aaaa-bbbb-cccc-dddd-eeeeeeeeeeee"}`, want: []string{"template: FieldValueNotSupported"}},
		"a template nearly a UUID":  {patch: `{"template": "4237aaaa-bbbb-cccc-dddd-eeeeeeeeeeee-rhcos"}`},
		"a full clone, said":        {patch: `{"cloneMode": "fullClone"}`},
		"a linked clone, no size":   {patch: `{"cloneMode": "linkedClone", "snapshot": "one", "diskGiB": null}`},
		"a full clone, no size":     {patch: `{"diskGiB": null}`, want: []string{"diskGiB: FieldValueRequired"}},
		"a size below nothing":      {patch: `{"diskGiB": -1}`, want: []string{"diskGiB: FieldValueInvalid"}},
		"a clone of no known mode":  {patch: `{"cloneMode": "FullClone"}`, want: []string{"cloneMode: FieldValueNotSupported"}},
		"the template's processors": {patch: `{"numCPUs": null}`, want: []string{"numCPUs: FieldValueRequired"}},
		"one processor":             {patch: `{"numCPUs": 1}`, want: []string{"numCPUs: FieldValueNotSupported"}},
		"two processors":            {patch: `{"numCPUs": 2, "numCoresPerSocket": 2}`},
		"cores below nothing":       {patch: `{"numCoresPerSocket": -1}`, want: []string{"numCoresPerSocket: FieldValueInvalid"}},
		"the template's memory":     {patch: `{"memoryMiB": null}`, want: []string{"memoryMiB: FieldValueRequired"}},
		"memory below nothing":      {patch: `{"memoryMiB": -1}`, want: []string{"memoryMiB: FieldValueInvalid"}},
		"a tag":                     {patch: `{"tagIDs": ["urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL"]}`},
		"a tag by its name":         {patch: `{"tagIDs": ["lock-7x2k9"]}`, want: []string{"tagIDs[0]: FieldValueInvalid"}},
		"eleven tags": {patch: `{"tagIDs": [` + strings.TrimSuffix(strings.Repeat(`"urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL",`, 11), ",") + `]}`,
			want: []string{"tagIDs: FieldValueNotSupported"}},
		"the cluster's secret":       {patch: `{"credentialsSecret": {"name": "vsphere-cloud-credentials"}}`},
		"a secret without a name":    {patch: `{"credentialsSecret": {"name": ""}}`},
		"a secret that says nothing": {patch: `{"credentialsSecret": {}}`},
		"another secret":             {patch: `{"credentialsSecret": {"name": "mine"}}`, want: []string{"credentialsSecret.name: FieldValueNotSupported"}},
		"no user data":               {patch: `{"userDataSecret": null}`, want: []string{"userDataSecret.name: FieldValueRequired"}},

		"no workspace":                      {patch: `{"workspace": null}`, want: []string{"workspace.server: FieldValueRequired"}},
		"no server":                         {patch: `{"workspace": {"server": null}}`, want: []string{"workspace.server: FieldValueRequired"}},
		"another server":                    {patch: `{"workspace": {"server": "other.example.com"}}`, want: []string{"workspace.server: FieldValueNotSupported"}},
		"another, with one identity":        {patch: `{"workspace": {"server": "other.example.com"}}`, env: vcenters("third.example.com, other.example.com")},
		"a third, with an identity for two": {patch: `{"workspace": {"server": "third.example.com"}}`, env: vcenters("other.example.com"), want: []string{"workspace.server: FieldValueNotSupported"}},
		"a server, none known":              {patch: `{"workspace": {"server": "other.example.com"}}`, env: func(e *conversion.Env) { e.InfraCluster, e.Infrastructure = nil, nil }},
		"not the only vCenter":              {patch: `{"workspace": {"server": "other.example.com"}}`, env: func(e *conversion.Env) { e.InfraCluster = nil }, want: []string{"workspace.server: FieldValueNotSupported"}},
		"a server in other letters":         {patch: `{"workspace": {"server": "VCENTER.example.com"}}`, want: []string{"workspace.server: FieldValueNotSupported"}},
		"a server with its scheme":          {patch: `{"workspace": {"server": "https://vcenter.example.com/sdk"}}`, want: []string{"workspace.server: FieldValueInvalid"}},
		"a VSphereCluster with a scheme": {patch: `{}`, env: func(e *conversion.Env) {
			e.InfraCluster = runtime.DeepCopyJSON(e.InfraCluster)
			_ = unstructured.SetNestedField(e.InfraCluster, "https://vcenter.example.com", "spec", "server")
		}},
		"the only datacenter":       {patch: `{"workspace": {"datacenter": null, "folder": null}}`},
		"a folder of no datacenter": {patch: `{"workspace": {"datacenter": null}}`, want: []string{"workspace.folder: FieldValueNotSupported"}},
		"a folder by its name":      {patch: `{"workspace": {"folder": "lock"}}`, want: []string{"workspace.folder: FieldValueNotSupported"}},
		"a folder of another":       {patch: `{"workspace": {"folder": "/dc2/vm/lock"}}`, want: []string{"workspace.folder: FieldValueNotSupported"}},
		"no folder":                 {patch: `{"workspace": {"folder": null}}`},
		"a group, and no domains":   {patch: `{"workspace": {"vmGroup": "zone-a"}}`, want: []string{"workspace.vmGroup: FieldValueNotSupported"}},

		"no device":                     {patch: `{"network": {"devices": []}}`, want: []string{"network.devices: FieldValueRequired"}},
		"eleven devices":                {patch: `{"network": {"devices": [` + strings.TrimSuffix(strings.Repeat(`{"networkName": "x"},`, 11), ",") + `]}}`, want: []string{"network.devices: FieldValueInvalid"}},
		"a device on no network":        {patch: `{"network": {"devices": [{"networkName": "x"}, {}]}}`, want: []string{"network.devices[1].networkName: FieldValueRequired"}},
		"a network by its path":         {patch: `{"network": {"devices": [{"networkName": "/dc1/network/VM Network"}]}}`, want: []string{"network.devices[0].networkName: FieldValueNotSupported"}},
		"a network by its id":           {patch: `{"network": {"devices": [{"networkName": "dvportgroup-42"}]}}`, want: []string{"network.devices[0].networkName: FieldValueNotSupported"}},
		"a network nearly an id":        {patch: `{"network": {"devices": [{"networkName": "dvportgroup-42-prod"}]}}`},
		"a network that is a pattern":   {patch: `{"network": {"devices": [{"networkName": "prod [1]"}]}}`, want: []string{"network.devices[0].networkName: FieldValueNotSupported"}},
		"addresses":                     {patch: device(`"ipAddrs": ["10.0.0.9/16", "fd00::9/64"], "gateway": "10.0.0.1", "nameservers": ["10.0.0.2"]`)},
		"addresses in a template":       {template: true, patch: device(`"ipAddrs": ["10.0.0.9/16"]`), want: []string{"network.devices[0].ipAddrs: FieldValueNotSupported"}},
		"an address without its length": {patch: device(`"ipAddrs": ["10.0.0.9"]`), want: []string{"network.devices[0].ipAddrs[0]: FieldValueInvalid"}},
		"a gateway that is a name":      {patch: device(`"gateway": "router"`), want: []string{"network.devices[0].gateway: FieldValueInvalid"}},
		"a nameserver that is a name":   {patch: device(`"nameservers": ["10.0.0.2", "dns"]`), want: []string{"network.devices[0].nameservers[1]: FieldValueInvalid"}},
		"a pool, in a template":         {template: true, patch: device(`"addressesFromPools": [{"group": "ipam.example.com", "resource": "IPPool", "name": "one"}]`), want: []string{"network.devices[0].addressesFromPools: FieldValueNotSupported"}},
		"a pool":                        {patch: device(`"addressesFromPools": [{"group": "ipam.example.com", "resource": "IPPool", "name": "one"}]`)},
		"a pool of the installer's":     {patch: device(`"addressesFromPools": [{"group": "installer.openshift.io", "resource": "IPPool", "name": "default-0"}]`), want: []string{"network.devices[0].addressesFromPools[0]: FieldValueNotSupported"}},
		"a pool of no kind or name":     {patch: device(`"addressesFromPools": [{"group": "ipam.example.com"}]`), want: []string{"network.devices[0].addressesFromPools[0].name: FieldValueRequired", "network.devices[0].addressesFromPools[0].resource: FieldValueRequired"}},

		"two disks":               {patch: disks(`{"name": "etcd", "sizeGiB": 1, "provisioningMode": "Thin"}`, `{"name": "images_1", "sizeGiB": 16384}`)},
		"a disk of no size":       {patch: disks(`{"name": "etcd"}`), want: []string{"dataDisks[0].sizeGiB: FieldValueInvalid"}},
		"a disk too large":        {patch: disks(`{"name": "etcd", "sizeGiB": 16385}`), want: []string{"dataDisks[0].sizeGiB: FieldValueInvalid"}},
		"a disk of no name":       {patch: disks(`{"sizeGiB": 1}`), want: []string{"dataDisks[0].name: FieldValueRequired"}},
		"a disk of a bad name":    {patch: disks(`{"name": "etcd-", "sizeGiB": 1}`), want: []string{"dataDisks[0].name: FieldValueInvalid"}},
		"a disk of a long name":   {patch: disks(`{"name": "` + strings.Repeat("a", 81) + `", "sizeGiB": 1}`), want: []string{"dataDisks[0].name: FieldValueInvalid"}},
		"a disk given twice":      {patch: disks(`{"name": "etcd", "sizeGiB": 1}`, `{"name": "etcd", "sizeGiB": 1}`), want: []string{"dataDisks[1].name: FieldValueInvalid"}},
		"a disk of no known mode": {patch: disks(`{"name": "etcd", "sizeGiB": 1, "provisioningMode": "thin"}`), want: []string{"dataDisks[0].provisioningMode: FieldValueNotSupported"}},
		"thirty disks":            {patch: disks(manyDisks(30)...), want: []string{"dataDisks: FieldValueInvalid"}},
		"twenty-nine disks":       {patch: disks(manyDisks(29)...)},
		"another kind":            {patch: `{"kind": "AWSMachineProviderConfig"}`, want: []string{"kind: FieldValueInvalid"}},
		"its former group":        {patch: `{"apiVersion": "vsphereprovider.openshift.io/v1beta1"}`},
		"another version":         {patch: `{"apiVersion": "machine.openshift.io/v1alpha1"}`},
		"two misspelt fields":     {patch: `{"numCpus": 4, "workspace": {"resourcepool": "x"}}`, want: []string{"numCpus: FieldValueInvalid", "workspace.resourcepool: FieldValueInvalid"}},
		"a number that is a word": {patch: `{"numCPUs": "4"}`, want: []string{"numCPUs: FieldValueInvalid"}},
		"a number beyond 32 bits": {patch: `{"numCPUs": 4294967296}`, want: []string{"numCPUs: FieldValueInvalid"}},
		"everything wrong at once": {patch: `{"template": null, "numCPUs": 1, "tagIDs": ["x"], "workspace": {"server": "y", "folder": "z"}, "network": {"devices": [{"nic": 1}]}}`, want: []string{
			"network.devices[0].networkName: FieldValueRequired", "network.devices[0].nic: FieldValueNotSupported", "numCPUs: FieldValueNotSupported",
			"tagIDs[0]: FieldValueInvalid", "template: FieldValueRequired", "workspace.folder: FieldValueNotSupported", "workspace.server: FieldValueNotSupported",
		}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := vspheretest.Kit().Env()
			if c.env != nil {
				c.env(&env)
			}
			p := conversion.NewPass(&env, &conversion.Core{ProviderID: "vsphere://1", Template: c.template}, "")
			conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
			conversiontest.Advised(t, p.Errors())
		})
	}
}

func manyDisks(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`{"name": "d%d", "sizeGiB": 1}`, i))
	}
	return out
}

// plainInfra is the spec of a VSphereMachine that converts.
const plainInfra = `{
	"template": "lock-rhcos", "cloneMode": "fullClone", "server": "vcenter.example.com", "datacenter": "dc1", "datastore": "/dc1/datastore/ds1",
	"folder": "/dc1/vm/lock-7x2k9", "resourcePool": "/dc1/host/cluster1/Resources", "numCPUs": 4, "memoryMiB": 16384, "diskGiB": 120,
	"network": {"devices": [{"networkName": "VM Network", "dhcp4": true}]}, "customVMXKeys": {"stealclock.enable": "TRUE"}, "powerOffMode": "hard"
}`

func TestWhatAnInfraSpecMayHave(t *testing.T) {
	none := func(path string) []string { return []string{path + ": FieldValueNotSupported"} }
	cases := map[string]struct {
		patch    string
		template bool
		env      func(*conversion.Env)
		want     []string
	}{
		"nothing out of the way":       {patch: `{}`},
		"what the controllers fill in": {patch: `{"server": null, "numCPUs": null, "memoryMiB": null, "cloneMode": null, "diskGiB": null}`},
		"a full clone, no size":        {patch: `{"diskGiB": null}`, want: []string{"diskGiB: FieldValueRequired"}},
		"a clone of no known mode":     {patch: `{"cloneMode": "instantClone"}`, want: none("cloneMode")},
		"no server anywhere":           {patch: `{"server": null}`, env: func(e *conversion.Env) { e.InfraCluster, e.Infrastructure = nil, nil }, want: []string{"server: FieldValueRequired"}},
		"the only vCenter":             {patch: `{"server": null}`, env: func(e *conversion.Env) { e.InfraCluster = nil }},
		"another server":               {patch: `{"server": "other.example.com"}`, want: none("server")},
		"another, with one identity":   {patch: `{"server": "other.example.com"}`, env: vcenters("other.example.com")},
		"a thumbprint":                 {patch: `{"thumbprint": "AA:BB"}`, want: none("thumbprint")},
		"the cluster's thumbprint": {patch: `{"thumbprint": "AA:BB"}`, env: func(e *conversion.Env) {
			e.InfraCluster = map[string]any{"spec": map[string]any{"thumbprint": "AA:BB"}}
		}},
		"the webhook's datacenter":           {patch: `{"datacenter": "*", "folder": null}`},
		"a folder of any datacenter":         {patch: `{"datacenter": "*"}`, want: none("folder")},
		"a folder by its id":                 {patch: `{"folder": "group-v42"}`, want: none("folder")},
		"a storage policy":                   {patch: `{"storagePolicyName": "gold"}`, want: none("storagePolicyName")},
		"no VMX keys":                        {patch: `{"customVMXKeys": null}`, want: []string{"customVMXKeys[stealclock.enable]: FieldValueRequired"}},
		"VMX keys of its own":                {patch: `{"customVMXKeys": {"guestinfo.hostname": "a", "disk.enableUUID": "TRUE"}}`, want: []string{"customVMXKeys[disk.enableUUID]: FieldValueNotSupported", "customVMXKeys[guestinfo.hostname]: FieldValueNotSupported"}},
		"another value of Machine API's key": {patch: `{"customVMXKeys": {"stealclock.enable": "FALSE"}}`, want: none("customVMXKeys[stealclock.enable]")},
		"a device of PCI":                    {patch: `{"pciDevices": [{"deviceId": 1, "vendorId": 2}]}`, want: none("pciDevices")},
		"no devices of PCI":                  {patch: `{"pciDevices": []}`},
		"a hardware version":                 {patch: `{"hardwareVersion": "vmx-17"}`, want: none("hardwareVersion")},
		"Linux":                              {patch: `{"os": "Linux"}`},
		"Windows":                            {patch: `{"os": "Windows"}`, want: none("os")},
		"a soft power off":                   {patch: `{"powerOffMode": "trySoft", "guestSoftPowerOffTimeout": "5m"}`, want: []string{"guestSoftPowerOffTimeout: FieldValueNotSupported", "powerOffMode: FieldValueNotSupported"}},
		"the default name":                   {patch: `{"namingStrategy": {"template": "{{ .machine.name }}"}}`},
		"no naming at all":                   {patch: `{"namingStrategy": {}}`},
		"a name of its own":                  {patch: `{"namingStrategy": {"template": "vm-{{ .machine.name }}"}}`, want: none("namingStrategy.template")},
		"reservations":                       {patch: `{"resources": {"requests": {"memory": "1Gi"}}}`, want: none("resources")},
		"the sizes of the template's disks":  {patch: `{"additionalDisksGiB": [1]}`, want: none("additionalDisksGiB")},
		"its own instance":                   {patch: `{"providerID": "vsphere://1"}`},
		"another instance":                   {patch: `{"providerID": "vsphere://2"}`, want: none("providerID")},
		"an instance in a template":          {template: true, patch: `{"providerID": "vsphere://1"}`, want: none("providerID")},

		"no DHCP, no addresses":      {patch: device(`"dhcp4": false`), want: none("network.devices[0].dhcp4")},
		"DHCP for IPv6, unasked":     {patch: device(`"dhcp4": true, "dhcp6": true`), want: none("network.devices[0].dhcp6")},
		"DHCP for both families":     {patch: device(`"dhcp4": true, "dhcp6": true`), env: networks("10.0.0.0/16", "fd00::/48")},
		"DHCP for one of both":       {patch: device(`"dhcp4": true`), env: networks("10.0.0.0/16", "fd00::/48"), want: none("network.devices[0].dhcp6")},
		"DHCP for IPv6 alone":        {patch: device(`"dhcp6": true`), env: networks("fd00::/48")},
		"DHCP beside an address":     {patch: device(`"dhcp4": true, "ipAddrs": ["10.0.0.9/16"]`), want: none("network.devices[0].dhcp4")},
		"DHCP beside a pool":         {patch: device(`"dhcp6": true, "addressesFromPools": [{"kind": "IPPool", "name": "one"}]`), want: none("network.devices[0].dhcp6")},
		"a pool":                     {patch: device(`"addressesFromPools": [{"apiGroup": "ipam.example.com", "kind": "IPPool", "name": "one"}]`)},
		"no allocation":              {patch: device(`"dhcp4": true, "skipIPAllocation": true`), want: none("network.devices[0].skipIPAllocation")},
		"two gateways":               {patch: device(`"dhcp4": true, "gateway4": "10.0.0.1", "gateway6": "fd00::1"`), want: none("network.devices[0].gateway6")},
		"a gateway of IPv6":          {patch: device(`"dhcp4": true, "gateway6": "fd00::1"`)},
		"gateways, exchanged":        {patch: device(`"dhcp4": true, "gateway4": "fd00::1"`), want: []string{"network.devices[0].gateway4: FieldValueInvalid"}},
		"a hardware address":         {patch: device(`"dhcp4": true, "macAddr": "00:50:56:00:00:01"`), want: none("network.devices[0].macAddr")},
		"options of DHCP":            {patch: device(`"dhcp4": true, "dhcp4Overrides": {}`), want: none("network.devices[0].dhcp4Overrides")},
		"routes":                     {patch: `{"network": {"routes": [{"to": "a", "via": "b", "metric": 1}]}}`, want: none("network.routes")},
		"addresses in a template":    {template: true, patch: device(`"ipAddrs": ["10.0.0.9/16"]`), want: none("network.devices[0].ipAddrs")},
		"an unnamed network":         {patch: `{"network": {"devices": [{"networkName": "", "dhcp4": true}]}}`, want: []string{"network.devices[0].networkName: FieldValueRequired"}},
		"a disk with a dot":          {patch: disks(`{"name": "a.b", "sizeGiB": 1}`), want: []string{"dataDisks[0].name: FieldValueInvalid"}},
		"a field of a later version": {patch: `{"later": {"x": 1}}`, want: none("later")},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env, core := vspheretest.Kit().Env(), &conversion.Core{ProviderID: "vsphere://1", Template: c.template}
			if c.env != nil {
				c.env(&env)
			}
			p := conversion.NewPass(&env, core, "")
			conversiontest.ToMachineAPI(p, conversiontest.Patched(t, plainInfra, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
		})
	}
}

func networks(cidrs ...any) func(*conversion.Env) {
	return func(e *conversion.Env) {
		e.Infrastructure = map[string]any{"status": map[string]any{"platformStatus": map[string]any{"vsphere": map[string]any{"machineNetworks": cidrs}}}}
	}
}

// TestGarbageIsRefused: by errors, whatever it is and however long.
func TestGarbageIsRefused(t *testing.T) {
	many := func(field, each string) string {
		return `{"kind": "VSphereMachineProviderSpec", "apiVersion": "machine.openshift.io/v1beta1", ` +
			strings.Replace(field, "%", strings.TrimSuffix(strings.Repeat(each+",", 10000), ","), 1) + `}`
	}
	cases := map[string]string{
		"nothing":             ``,
		"null":                `null`,
		"a list":              `[]`,
		"half an object":      `{"kind": "VSphereMachineProviderSpec"`,
		"an empty object":     `{}`,
		"a field given twice": strings.Replace(plain, `"numCPUs": 4`, `"numCPUs": 4, "numCPUs": 8`, 1),
		"lists in each other": strings.Replace(plain, `"snapshot": ""`, `"snapshot": `+strings.Repeat("[", 20000)+strings.Repeat("]", 20000), 1),
		"many devices":        many(`"network": {"devices": [%]}`, `{}`),
		"many disks":          many(`"dataDisks": [%]`, `{"name": "x"}`),
		"many tags":           many(`"tagIDs": [%]`, `"x"`),
		"many unknown fields": many(`%`, `"unknown": null`),
	}
	for sentence, raw := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := vspheretest.Kit().Env()
			to, from := conversion.NewPass(&env, &conversion.Core{ProviderID: "vsphere://1"}, ""),
				conversion.NewPass(&env, &conversion.Core{ProviderID: "vsphere://1"}, "")
			if conversiontest.ToClusterAPI(to, []byte(raw)); len(to.Errors()) == 0 {
				t.Error("taken for a providerSpec")
			}
			if conversiontest.ToMachineAPI(from, []byte(raw)); len(from.Errors()) == 0 {
				t.Error("taken for a VSphereMachine's spec")
			}
		})
	}
}

// TestDefaultsThatDifferAreWritten: if the two APIs' controllers have different defaults, the conversion writes the value.
func TestDefaultsThatDifferAreWritten(t *testing.T) {
	cases := map[string]struct {
		convert     func(*conversion.Pass, []byte) any
		base, patch string
		want        string
	}{
		"Machine API's full clone": {conversiontest.ToClusterAPI, plain, `{}`, `"cloneMode":"fullClone"`},
		"Machine API's DHCP":       {conversiontest.ToClusterAPI, plain, `{}`, `"dhcp4":true`},
		"the only datacenter":      {conversiontest.ToClusterAPI, plain, `{"workspace": {"datacenter": null, "folder": null}}`, `"datacenter":"*"`},
		"the stolen time":          {conversiontest.ToClusterAPI, plain, `{}`, `"customVMXKeys":{"stealclock.enable":"TRUE"}`},
		"no DHCP with an address":  {conversiontest.ToClusterAPI, plain, device(`"ipAddrs": ["10.0.0.9/16"]`), `"devices":[{"ipAddrs":["10.0.0.9/16"],"networkName":"VM Network"}]`},
		"Cluster API's linked one": {conversiontest.ToMachineAPI, plainInfra, `{"cloneMode": null}`, `"cloneMode":"linkedClone"`},
		"Cluster API's processors": {conversiontest.ToMachineAPI, plainInfra, `{"numCPUs": null}`, `"numCPUs":2`},
		"Cluster API's memory":     {conversiontest.ToMachineAPI, plainInfra, `{"memoryMiB": null}`, `"memoryMiB":2048`},
		"the cluster's server":     {conversiontest.ToMachineAPI, plainInfra, `{"server": null}`, `"server":"vcenter.example.com"`},
		"the cluster's secret":     {conversiontest.ToMachineAPI, plainInfra, `{}`, `"credentialsSecret":{"name":"vsphere-cloud-credentials"}`},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := vspheretest.Kit().Env()
			p := conversion.NewPass(&env, &conversion.Core{ProviderID: "vsphere://1"}, "")
			encoded, err := conversion.Encode(c.convert(p, conversiontest.Patched(t, c.base, c.patch)))
			if err != nil || len(p.Errors()) > 0 {
				t.Fatal(err, p.Errors())
			}
			raw, _ := json.Marshal(encoded)
			if !strings.Contains(string(raw), c.want) {
				t.Errorf("%s is not in %s", c.want, raw)
			}
		})
	}
}

// TestNothingIsWrittenInVain: what the other side does not have is not written there either, empty structs included.
func TestNothingIsWrittenInVain(t *testing.T) {
	env := vspheretest.Kit().Env()
	p := conversion.NewPass(&env, &conversion.Core{}, "")
	got, err := conversion.Encode(conversiontest.ToClusterAPI(p, []byte(plain)))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(conversiontest.Patched(t, plainInfra, `{"powerOffMode": null}`), &want); err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(got)
	got = nil
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// The advice of the refusal of addresses in a template must not be refused next: a pool in a template is.
func TestARemedyForAddressesIsNotRefused(t *testing.T) {
	have := map[string]string{}
	for field, value := range map[string]string{"ipAddrs": `["10.0.0.9/16"]`, "addressesFromPools": `[{"group": "ipam.example.com", "resource": "IPPool", "name": "one"}]`} {
		kit := vspheretest.Kit()
		env := kit.Env()
		p := conversion.NewPass(&env, &conversion.Core{Template: true}, "")
		conversiontest.ToClusterAPI(p, conversiontest.Patched(t, []byte(plain), device(`"`+field+`": `+value)))
		have[field] = fmt.Sprint(p.Errors().ToAggregate())
	}
	if ips := have["ipAddrs"]; strings.Contains(ips, "use addressesFromPools") || !strings.Contains(ips, "DHCP") || !strings.Contains(ips, "leave Machine API authoritative for the MachineSet") {
		t.Errorf("addresses: %s", ips)
	}
	if pools := have["addressesFromPools"]; !strings.Contains(pools, "DHCP") || !strings.Contains(pools, "Machine API") {
		t.Errorf("pools: %s", pools)
	}
}
