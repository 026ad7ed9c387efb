// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	"sigs.k8s.io/cluster-api-provider-openstack/pkg/utils/optional"

	"github.com/poundlock/poundlock/conversion"
)

// These are keys of a port's binding profile, and the value of the key capabilities for hardware offload.
const (
	capabilities = "capabilities"
	trusted      = "trusted"
	offload      = "[switchdev]"
)

func (n *nic) profile() *map[string]string {
	if n.network() != nil {
		return &n.network().Profile
	}
	return &n.port().Profile
}

func profileTo(p *pass, m *nic, c *port) {
	var out openstackv1.BindingProfile
	on, off := true, false
	for _, key := range slices.Sorted(maps.Keys(*m.profile())) {
		path, value := "profile["+key+"]", (*m.profile())[key]
		switch {
		case key == capabilities && strings.Trim(value, `[]"' `) == "switchdev":
			out.OVSHWOffload = &on
		case key == trusted && value == "true":
			out.TrustedVF = &on
		case key == trusted && value == "false":
			out.TrustedVF = &off
		case key == capabilities:
			p.Unsupported(path, value, "Cluster API accepts only one value of capabilities: set capabilities to "+offload)
		case key == trusted:
			p.Unsupported(path, value, `supported values: "false", "true"`)
		default:
			p.Unsupported(path, value,
				"Cluster API accepts only the keys capabilities and trusted in a port's profile: remove this key, or leave Machine API authoritative")
		}
	}
	if out != (openstackv1.BindingProfile{}) {
		c.Profile = &out
	}
}

func profileFrom(p *pass, c *port, m *nic) {
	if c.Profile == nil {
		return
	}
	out := map[string]string{}
	if yes(c.Profile.OVSHWOffload) { // false is left out, because the provider treats it as absent
		out[capabilities] = offload
	}
	if c.Profile.TrustedVF != nil {
		out[trusted] = fmt.Sprint(*c.Profile.TrustedVF)
	}
	if len(out) > 0 {
		*m.profile() = out
	}
}

func (n *nic) security() **bool {
	if n.network() != nil {
		return &n.network().PortSecurity
	}
	return &n.port().PortSecurity
}

func securityTo(_ *pass, m *nic, c *port) { c.DisablePortSecurity = not(*m.security()) }

func securityFrom(_ *pass, c *port, m *nic) { *m.security() = not(c.DisablePortSecurity) }

func not(b *bool) *bool {
	if b == nil {
		return nil
	}
	opposite := !*b
	return &opposite
}

func ownGroupsTo(p *pass, m *nic, c *port) {
	o := m.port()
	if o == nil || o.SecurityGroups == nil || len(*o.SecurityGroups) == 0 {
		return
	}
	if o.PortSecurity != nil && !*o.PortSecurity {
		p.Invalid("securityGroups", nil, "a port without port security cannot have security groups: remove the groups, or enable port security")
	}
	for i, id := range *o.SecurityGroups {
		if !isID(id) {
			p.Invalid(fmt.Sprintf("securityGroups[%d]", i), id, "must be a UUID, because Cluster API accepts no other form of id")
		}
		c.SecurityGroups = append(c.SecurityGroups, openstackv1.SecurityGroupParam{ID: &id})
	}
}

func ownGroupsFrom(p *pass, c *port, m *nic) {
	o := m.port()
	if o == nil || len(c.SecurityGroups) == 0 {
		return
	}
	ids := make([]string, 0, len(c.SecurityGroups))
	for i, g := range c.SecurityGroups {
		at := p.At(fmt.Sprintf("securityGroups[%d]", i))
		if g.ID == nil {
			at.Unsupported("", nil, "in Machine API a port names its own security groups only by id: set the id")
			continue
		}
		ids = append(ids, identifyBack(at, g.ID, !g.Filter.IsZero()))
	}
	o.SecurityGroups = &ids
}

// word returns the row of an optional text of an interface. where returns pointers to the text in both APIs. The Machine API's pointer is nil if the entry
// cannot have this text.
func word(paths []string, there string, where func(*nic, *port) (*string, *optional.String)) conversion.Row[nic, port] {
	return face.Iso(paths, at(there), "",
		func(_ *pass, m *nic, c *port) {
			if from, to := where(m, c); from != nil {
				*to = orAbsent(*from)
			}
		},
		func(p *pass, c *port, m *nic) {
			to, from := where(m, c)
			if to == nil || *from == nil {
				return
			}
			if **from == "" {
				p.Unsupported(there, "", "Machine API does not distinguish empty text from an absent value: leave this field out")
			}
			*to = **from
		})
}

// flag returns the row of an optional boolean of a port. where returns pointers to the boolean in both APIs.
func flag(paths []string, there string, where func(*portOpts, *port) (m, c **bool)) conversion.Row[nic, port] {
	return face.Iso(paths, at(there), "",
		func(_ *pass, m *nic, c *port) {
			if o := m.port(); o != nil {
				from, to := where(o, c)
				*to = *from
			}
		},
		func(_ *pass, c *port, m *nic) {
			if o := m.port(); o != nil {
				to, from := where(o, c)
				*to = *from
			}
		})
}

func vnicType(m *nic, c *port) (*string, *optional.String) {
	if n := m.network(); n != nil {
		return &n.VNICType, &c.VNICType
	}
	return &m.port().VNICType, &c.VNICType
}

func nameSuffix(m *nic, c *port) (*string, *optional.String) {
	if o := m.port(); o != nil {
		return &o.NameSuffix, &c.NameSuffix
	}
	return nil, &c.NameSuffix
}

func description(m *nic, c *port) (*string, *optional.String) {
	if o := m.port(); o != nil {
		return &o.Description, &c.Description
	}
	return nil, &c.Description
}

func macAddress(m *nic, c *port) (*string, *optional.String) {
	if o := m.port(); o != nil {
		return &o.MACAddress, &c.MACAddress
	}
	return nil, &c.MACAddress
}

func adminStateUp(m *portOpts, c *port) (**bool, **bool) { return &m.AdminStateUp, &c.AdminStateUp }

func trunk(m *portOpts, c *port) (**bool, **bool) { return &m.Trunk, &c.Trunk }

// orAbsent returns a pointer to a text. It returns nil for empty text.
func orAbsent(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
