// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"regexp"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	vspherev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"
)

type (
	mapiDisk = machinev1beta1.VSphereDisk
	capiDisk = vspherev1.VSphereDisk
)

func disksTo(p *pass, m *providerSpec, c *infraSpec) {
	names := diskNames{}
	for i := range m.DataDisks {
		at, to := p.At(diskAt(i)), capiDisk{}
		names.add(at, m.DataDisks[i].Name)
		Disks.ToClusterAPI(at, &m.DataDisks[i], &to)
		c.DataDisks = append(c.DataDisks, to)
	}
	countDisks(p, len(m.DataDisks))
}

func disksFrom(p *pass, c *infraSpec, m *providerSpec) {
	names := diskNames{}
	for i := range c.DataDisks {
		at, to := p.At(diskAt(i)), mapiDisk{}
		names.add(at, c.DataDisks[i].Name)
		Disks.ToMachineAPI(at, &c.DataDisks[i], &to)
		m.DataDisks = append(m.DataDisks, to)
	}
	countDisks(p, len(c.DataDisks))
}

func diskAt(i int) string { return fmt.Sprintf("dataDisks[%d]", i) }

// These are limits of both APIs.
const (
	maxDisks    = 29
	maxDiskSize = 16384
	maxDiskName = 80
)

func countDisks(p *pass, n int) {
	if n > maxDisks {
		p.Invalid("dataDisks", n, fmt.Sprintf("a machine can have at most %d data disks: remove some", maxDisks))
	}
}

// diskNames has the names of the data disks that a conversion has seen. Its method add reports an error for a name that occurs twice.
type diskNames map[string]bool

func (d diskNames) add(p *pass, name string) {
	if name != "" && d[name] {
		p.Invalid("name", name, "another data disk has the same name: give each data disk a name of its own")
	}
	d[name] = true
}

var diskName = regexp.MustCompile(`^[a-zA-Z0-9]([-_a-zA-Z0-9]*[a-zA-Z0-9])?$`)

func diskNameTo(p *pass, m *mapiDisk, c *capiDisk) { c.Name = checkDiskName(p, m.Name) }

func diskNameFrom(p *pass, c *capiDisk, m *mapiDisk) { m.Name = checkDiskName(p, c.Name) }

func checkDiskName(p *pass, name string) string {
	switch {
	case name == "":
		p.Required("name", "a data disk needs a name: set name")
	case len(name) > maxDiskName || !diskName.MatchString(name):
		p.Invalid("name", name, "must have 1 to 80 characters: letters, digits, hyphens and underscores. The first and the last must be a letter or digit")
	}
	return name
}

func diskSizeTo(p *pass, m *mapiDisk, c *capiDisk) { c.SizeGiB = checkDiskSize(p, m.SizeGiB) }

func diskSizeFrom(p *pass, c *capiDisk, m *mapiDisk) { m.SizeGiB = checkDiskSize(p, c.SizeGiB) }

func checkDiskSize(p *pass, size int32) int32 {
	if size < 1 || size > maxDiskSize {
		p.Invalid("sizeGiB", size, fmt.Sprintf("must be 1 to %d", maxDiskSize))
	}
	return size
}
