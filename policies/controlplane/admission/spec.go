// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
	"github.com/poundlock/poundlock/internal/spelling"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// readable refuses a providerSpec that cannot be read, and warns about unknown fields: "If it is invalid, the cluster will degrade as the new Machines created
// by the ControlPlaneMachineSet will fail to launch".
func readable(p *proposal) policies.Verdict {
	row, spec, path := p.platform(), p.providerSpec(), platform.ProviderSpecPath()
	if v := controlplane.TemplateOf(p.set).Spec.ProviderSpec.Value; v != nil && jsonnumbers.Endless(v.Raw) {
		return policies.Deny(field.Invalid(path, row.Kind,
			fmt.Sprintf("the providerSpec has a number with more than %d digits or with an exponent below -999, which no platform accepts", jsonnumbers.MaxDigits)))
	}
	if len(p.Unresolved) > 0 {
		return policies.Verdict{} // the forecast reports it: the template may appear later
	}
	if spec == nil {
		return policies.Deny(field.Required(path, "control plane Machines are created from this providerSpec: copy it from a running Machine"))
	}
	if kind, _ := spec["kind"].(string); row.Spec == nil || kind != "" && kind != row.Kind {
		return policies.Verdict{} // another rule reports it
	}
	typed := row.Spec()
	if err := json.Unmarshal(controlplane.TemplateOf(p.set).Spec.ProviderSpec.Value.Raw, typed); err != nil {
		return policies.Deny(platform.Unreadable(path, row, err))
	}
	if below, found := jsonnumbers.FindVast(controlplane.TemplateOf(p.set).Spec.ProviderSpec.Value.Raw, typed); found {
		return policies.Deny(field.Invalid(path.Child(below), row.Kind, jsonnumbers.TooVast))
	}
	return policies.Warn(unknown(path, spec, reflect.TypeOf(typed))...)
}

// unknown returns a sentence for each field of a value that the type t does not have, with the known field that may be meant. The sentences are in the order of
// the fields' paths.
func unknown(path *field.Path, value any, t reflect.Type) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil // the type reads its JSON itself
	}
	var out []string
	switch v := value.(type) {
	case []any:
		if t.Kind() == reflect.Slice {
			for i, item := range v {
				out = append(out, unknown(path.Index(i), item, t.Elem())...)
			}
		}
	case map[string]any:
		if t.Kind() == reflect.Struct {
			return unknownMembers(path, v, platform.Members(t))
		}
	}
	return out
}

func unknownMembers(path *field.Path, value map[string]any, known map[string]reflect.Type) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(value)) {
		t, ok := known[name]
		if ok {
			out = append(out, unknown(path.Child(name), value[name], t)...)
			continue
		}
		sentence := fmt.Sprintf("%s: Machine API has no such field and ignores it", path.Child(name))
		if meant := spelling.Nearest(name, slices.Collect(maps.Keys(known))); meant != "" {
			sentence += "; did you mean " + meant + "?"
		}
		out = append(out, sentence)
	}
	return out
}

// ofOneMachine refuses members of the template that only one Machine can have. Every Machine is created from the same template, and two Machines cannot share
// one instance or one address.
func ofOneMachine(p *proposal) policies.Verdict {
	var v policies.Verdict
	if id := controlplane.TemplateOf(p.set).Spec.ProviderID; id != nil && *id != "" {
		v.Denials = append(v.Denials, field.Forbidden(platform.TemplatePath().Child("spec", "providerID"),
			"a providerID names one instance, but each Machine needs its own: leave this field out"))
	}
	for _, o := range platform.Uniques() {
		o.Each(p.providerSpec(), func(_ map[string]any, _, path string) {
			v.Denials = append(v.Denials, field.Forbidden(platform.ProviderSpecPath().Child(path), o.Remedy+p.pools(path)))
		})
	}
	return v
}

// pools returns, as the end of a sentence, where vSphere's Machines can take their addresses from instead of a fixed list: a pool. It returns "" if only DHCP
// can give them, as for new Machines of Cluster API. A failure domain of the Infrastructure brings its own network, but the pool is in the template and so is
// equal in all failure domains.
func (p *proposal) pools(path string) string {
	device, static := strings.CutSuffix(path, ".ipAddrs")
	if !static || p.authority == authority.ClusterAPI {
		return ""
	}
	const pool = ", or take them from a pool (addressesFromPools)"
	networks, at := sets.New[string](), device+".networkName"
	for _, d := range p.plan().Domains {
		own := values.At(p.providerSpec(), values.Path(at)) // for a failure domain that leaves the network to the template
		for _, s := range d.Sets {
			if s.Path == at {
				own = s.Value
			}
		}
		networks.Insert(values.Text(own))
	}
	if networks.Len() < 2 {
		return pool
	}
	return pool + " whose addresses fit the network of each failure domain: the failure domains have different networks (topology.networks in the Infrastructure)"
}

// workerUserData is the installer's Secret with the boot configuration of workers.
const workerUserData = "worker-user-data"

// ignites warns if a Machine would not become a Node of the control plane because of its boot configuration: only that configuration makes a host such a Node.
func ignites(p *proposal) policies.Verdict {
	spec := p.providerSpec()
	if spec == nil || p.platform().Spec == nil {
		return policies.Verdict{}
	}
	path := platform.ProviderSpecPath().Child("userDataSecret", "name")
	switch name, _ := values.At(spec, values.Path("userDataSecret.name")).(string); name {
	case "":
		return policies.Warn(fmt.Sprintf("%s: without this Secret a Machine starts, but never becomes a Node", path))
	case workerUserData:
		return policies.Warn(fmt.Sprintf("%s: with the Secret %s a Machine becomes a worker, not a Node of the control plane", path, workerUserData))
	}
	return policies.Verdict{}
}
