// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix

import (
	"regexp"

	machinev1 "github.com/openshift/api/machine/v1"
)

// text returns the string behind a pointer, "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// wellFormed matches a UUID in the form that Cluster API's CRD accepts.
var wellFormed = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)

// identify returns an identifier in Cluster API's form. In both APIs its type (the parameter t) is "uuid" or "name". It reports an error and returns false if
// the type is invalid, if the member of this type is invalid, or if the member of the other type is set. Both directions refuse the same identifiers, so that
// an identifier that converts also round-trips.
func identify(p *pass, t string, uuid, name *string) (ResourceIdentifier, bool) {
	switch {
	case t != "uuid" && t != "name":
		p.Invalid("type", t, `must be "uuid" or "name"`)
	case t == "uuid" && name != nil:
		p.Invalid("name", *name, `the type is "uuid", so a name is not allowed: remove name`)
	case t == "name" && uuid != nil:
		p.Invalid("uuid", *uuid, `the type is "name", so a UUID is not allowed: remove uuid`)
	case t == "uuid" && !wellFormed.MatchString(text(uuid)):
		p.Invalid("uuid", text(uuid), "must be a UUID of 36 characters, with hyphens")
	case t == "name" && text(name) == "":
		p.Required("name", `the type is "name", so a name is required: set name`)
	default:
		return ResourceIdentifier{Type: t, UUID: uuid, Name: name}, true
	}
	return ResourceIdentifier{}, false
}

// notEmpty returns s, but nil for empty text, because empty text means absent in a providerSpec.
func notEmpty(s *string) *string {
	if text(s) == "" {
		return nil
	}
	return s
}

func identifierTo(p *pass, path string, m machinev1.NutanixResourceIdentifier) *ResourceIdentifier {
	out, ok := identify(p.At(path), string(m.Type), notEmpty(m.UUID), notEmpty(m.Name))
	if !ok {
		return nil
	}
	return &out
}

func identifierFrom(p *pass, path string, c ResourceIdentifier) machinev1.NutanixResourceIdentifier {
	out, _ := identify(p.At(path), c.Type, c.UUID, c.Name)
	return machinev1.NutanixResourceIdentifier{Type: machinev1.NutanixIdentifierType(out.Type), UUID: out.UUID, Name: out.Name}
}

// same reports whether two identifiers are equal. As in Cluster API's controller, a UUID and a name are never equal.
func same(a, b ResourceIdentifier) bool {
	return a.Type == b.Type && text(a.UUID) == text(b.UUID) && text(a.Name) == text(b.Name)
}

// String returns an identifier as text for messages: the type and the UUID or name.
func (r ResourceIdentifier) String() string { return r.Type + " " + text(r.UUID) + text(r.Name) }

func imageTo(p *pass, m *providerSpec, c *infraSpec) { c.Image = identifierTo(p, "image", m.Image) }

func imageFrom(p *pass, c *infraSpec, m *providerSpec) {
	switch {
	case c.Image != nil && c.ImageLookup != nil:
		p.Invalid("image", c.Image.String(), "a machine has either image or imageLookup, not both: remove imageLookup")
	case c.Image != nil:
		m.Image = identifierFrom(p, "image", *c.Image)
	case c.ImageLookup == nil: // other rows refuse an imageLookup
		p.Required("image", noLookup)
	}
}

func projectTo(p *pass, m *providerSpec, c *infraSpec) {
	if m.Project.Type != "" || text(m.Project.UUID) != "" || text(m.Project.Name) != "" {
		c.Project = identifierTo(p, "project", m.Project)
	}
}

func projectFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.Project != nil {
		m.Project = identifierFrom(p, "project", *c.Project)
	}
}
