// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs

import (
	"fmt"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/utils/ptr"
)

func nothing(*pass, *providerSpec, *infraSpec)     {}
func nothingBack(*pass, *infraSpec, *providerSpec) {}

// text returns the string behind a pointer, "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// reference converts a providerSpec's reference into Cluster API's. The reference has three members, and its type says which one counts. The parameter by
// lists the allowed types. If a member of another allowed type is set, that is an error, because no controller reads the member and it would not round-trip.
// Members of types that are not allowed are left to other rows, which report errors about them. The result is false if the type is not allowed, or if the
// type's member is missing.
func reference(p *pass, path string, m machinev1.PowerVSResource, by ...machinev1.PowerVSResourceType) (ResourceReference, bool) {
	var out ResourceReference
	at, members := p.At(path), map[machinev1.PowerVSResourceType]member{
		machinev1.PowerVSResourceTypeID:    {"id", m.ID, &out.ID},
		machinev1.PowerVSResourceTypeName:  {"name", m.Name, &out.Name},
		machinev1.PowerVSResourceTypeRegEx: {"regex", m.RegEx, &out.RegEx},
	}
	ok := false
	for _, t := range by {
		switch f := members[t]; {
		case t != m.Type && text(f.value) != "":
			at.Invalid(f.path, *f.value, fmt.Sprintf(
				"only one of id, name and regex may be given, and the type is %q: remove this field, or change the type", m.Type))
		case t == m.Type && text(f.value) == "":
			at.Required(f.path, fmt.Sprintf("the type is %s, so this field is required: set it", t))
		case t == m.Type:
			*f.to, ok = f.value, true
		}
	}
	checkType(at, m, by)
	return out, ok
}

// member is one of the three members of a reference: its path, its value in the providerSpec, and a pointer to where the result is written.
type member struct {
	path  string
	value *string
	to    **string
}

func checkType(p *pass, m machinev1.PowerVSResource, by []machinev1.PowerVSResourceType) {
	for _, t := range by {
		if t == m.Type {
			return
		}
	}
	switch {
	case m.Type == "":
		p.Required("type", fmt.Sprintf(`set the type, which says how the resource is found, as in {"type":"ID","id":"…"}. The type is one of %s`, list(by)))
	case m.Type == machinev1.PowerVSResourceTypeRegEx && text(m.RegEx) != "":
		// Another row refuses the regular expression.
	default:
		p.Unsupported("type", string(m.Type), "supported values: "+list(by))
	}
}

func list[T ~string](words []T) string {
	var out []string
	for _, w := range words {
		out = append(out, string(w))
	}
	return strings.Join(out, ", ")
}

// referenceBack converts a reference of Cluster API into a providerSpec's. ok is false if none of the reference's members is set.
func referenceBack(p *pass, path string, c ResourceReference) (out machinev1.PowerVSResource, ok bool) {
	at, have := p.At(path), 0
	for _, f := range []struct {
		path  string
		value *string
		t     machinev1.PowerVSResourceType
		to    **string
	}{
		{"id", c.ID, machinev1.PowerVSResourceTypeID, &out.ID},
		{"name", c.Name, machinev1.PowerVSResourceTypeName, &out.Name},
		{"regex", c.RegEx, machinev1.PowerVSResourceTypeRegEx, &out.RegEx},
	} {
		switch {
		case f.value == nil:
		case *f.value == "":
			at.Invalid(f.path, "", "must not be empty: remove this field, or set a value")
		case have > 0:
			at.Invalid(f.path, *f.value, "only one of id, name and regex may be given: remove the others")
		default:
			out.Type, *f.to, have = f.t, f.value, have+1
		}
	}
	return out, have > 0
}

func networkTo(p *pass, m *providerSpec, c *infraSpec) {
	c.Network, _ = reference(p, "network", m.Network, machinev1.PowerVSResourceTypeID, machinev1.PowerVSResourceTypeName, machinev1.PowerVSResourceTypeRegEx)
}

func networkFrom(p *pass, c *infraSpec, m *providerSpec) {
	out, ok := referenceBack(p, "network", c.Network)
	if id, known := p.Env.InfraClusterString("status", "network", "id"); !ok && known && id != "" {
		out, ok = machinev1.PowerVSResource{Type: machinev1.PowerVSResourceTypeID, ID: &id}, true
	}
	if !ok {
		p.Required("network",
			"the machine names no network, and the IBMPowerVSCluster's status does not name the cluster's network: give id, name or regex of the network")
	}
	m.Network = out
}

func imageTo(p *pass, m *providerSpec, c *infraSpec) {
	if ref, ok := reference(p, "image", m.Image, machinev1.PowerVSResourceTypeID, machinev1.PowerVSResourceTypeName); ok {
		c.Image = &ref
	}
}

func imageFrom(p *pass, c *infraSpec, m *providerSpec) {
	switch {
	case c.Image != nil && c.ImageRef != nil:
		p.Invalid("imageRef", c.ImageRef.Name, "a machine has either image or imageRef, not both: remove one of the two")
	case c.ImageRef != nil && c.ImageRef.Name == "":
		p.Required("imageRef.name", "name the IBMPowerVSImage")
	case c.ImageRef != nil:
		m.Image = machinev1.PowerVSResource{Type: machinev1.PowerVSResourceTypeName, Name: &c.ImageRef.Name}
	case c.Image == nil:
		p.Required("image", "the machine needs an image: give image or imageRef")
	default:
		imageBack(p, *c.Image, m)
	}
}

// imageBack converts a reference to an image. It ignores the field regex, because the row image.regex in fields.go refuses the regular expression. If only
// regex is set, imageBack does not also require an id or a name, so that the user gets one error and not two.
func imageBack(p *pass, c ResourceReference, m *providerSpec) {
	found := c.RegEx != nil
	c.RegEx = nil
	out, ok := referenceBack(p, "image", c)
	if !ok && !found {
		p.Required("image", "the image needs an id or a name: give one of the two")
	}
	m.Image = out
}

func keyTo(p *pass, m *providerSpec, c *infraSpec) {
	if c.SSHKey = m.KeyPairName; c.SSHKey == "" {
		p.Required("keyPairName", noKey)
	}
}

func keyFrom(p *pass, c *infraSpec, m *providerSpec) {
	if m.KeyPairName = c.SSHKey; m.KeyPairName == "" {
		p.Required("sshKey", noKey)
	}
}

const noKey = "Machine API creates no machine without an SSH key of the workspace: give the key's name"

func userDataTo(p *pass, m *providerSpec, _ *infraSpec) {
	p.UserData(ptr.Deref(m.UserDataSecret, machinev1.PowerVSSecretReference{}).Name)
}

func userDataFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if secret := p.UserDataBack(); secret != "" {
		m.UserDataSecret = &machinev1.PowerVSSecretReference{Name: secret}
	}
}

func credentialsTo(p *pass, m *providerSpec, _ *infraSpec) {
	if m.CredentialsSecret != nil {
		p.OwnCredentials(m.CredentialsSecret.Name)
	}
}

func credentialsFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if name := p.Env.Credentials(); name != "" {
		m.CredentialsSecret = &machinev1.PowerVSSecretReference{Name: name}
	}
}
