// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix

import (
	"regexp"

	machinev1 "github.com/openshift/api/machine/v1"
)

// text is the string behind a pointer, empty for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// wellFormed is a UUID as Cluster API's CRD accepts it.
var wellFormed = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)

// identify turns a union of one API into that of the other: both have the same words. It refuses the same on both sides, so that what converts round-trips.
func identify(p *pass, t string, uuid, name *string) (ResourceIdentifier, bool) {
	switch {
	case t != "uuid" && t != "name":
		p.Invalid("type", t, `must be "uuid" or "name"`)
	case t == "uuid" && name != nil:
		p.Invalid("name", *name, `the type is "uuid": leave the name out`)
	case t == "name" && uuid != nil:
		p.Invalid("uuid", *uuid, `the type is "name": leave the UUID out`)
	case t == "uuid" && !wellFormed.MatchString(text(uuid)):
		p.Invalid("uuid", text(uuid), "must be a UUID of 36 characters")
	case t == "name" && text(name) == "":
		p.Required("name", `the type is "name": give the name`)
	default:
		return ResourceIdentifier{Type: t, UUID: uuid, Name: name}, true
	}
	return ResourceIdentifier{}, false
}

// notEmpty is nil for empty text, which means absent in a providerSpec.
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

// same reports whether two identifiers are equal, as Cluster API's controller compares them.
func same(a, b ResourceIdentifier) bool {
	return a.Type == b.Type && text(a.UUID) == text(b.UUID) && text(a.Name) == text(b.Name)
}

// String returns the form for people.
func (r ResourceIdentifier) String() string { return r.Type + " " + text(r.UUID) + text(r.Name) }

func imageTo(p *pass, m *providerSpec, c *infraSpec) { c.Image = identifierTo(p, "image", m.Image) }

func imageFrom(p *pass, c *infraSpec, m *providerSpec) {
	switch {
	case c.Image != nil && c.ImageLookup != nil:
		p.Invalid("image", c.Image.String(), "give image or imageLookup, not both")
	case c.Image != nil:
		m.Image = identifierFrom(p, "image", *c.Image)
	case c.ImageLookup == nil: // else its own rows refuse it
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
