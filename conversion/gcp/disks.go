// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp

import (
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

type disk = machinev1beta1.GCPDisk

// volume is the place of a disk in a GCPMachineSpec. The root disk has its fields in the spec itself, and each other disk is an item of a list.
type volume struct {
	root *infraSpec // nil for an additional disk
	more *gcpv1.AttachedDiskSpec
}

// onDisks returns a row that converts each disk by itself. The function to receives a Pass at the disk in the providerSpec. The function from receives a Pass
// at the disk in additionalDisks or, for the root disk, at the GCPMachine's spec.
func onDisks(machineAPI, clusterAPI []string, note string, to func(*pass, *disk, volume), from func(*pass, volume, *disk)) conversion.Row[providerSpec,
	infraSpec] {
	return of.Iso(machineAPI, clusterAPI, note,
		func(p *pass, m *providerSpec, c *infraSpec) { eachDisk(p, m, c, to) },
		func(p *pass, c *infraSpec, m *providerSpec) { eachVolume(p, c, m, from) })
}

// rootDisk returns the index of the first disk that has boot: true. It returns -1 if there is none.
func rootDisk(m *providerSpec) int {
	for i, d := range m.Disks {
		if d != nil && d.Boot {
			return i
		}
	}
	return -1
}

func eachDisk(p *pass, m *providerSpec, c *infraSpec, f func(*pass, *disk, volume)) {
	root, next := rootDisk(m), 0
	if root < 0 {
		return // bootTo reports that the root disk is unknown
	}
	for i, d := range m.Disks {
		at := p.At(fmt.Sprintf("disks[%d]", i))
		switch {
		case d == nil:
		case i == root:
			f(at, d, volume{root: c})
		default:
			if next == len(c.AdditionalDisks) {
				c.AdditionalDisks = append(c.AdditionalDisks, gcpv1.AttachedDiskSpec{})
			}
			f(at, d, volume{more: &c.AdditionalDisks[next]})
			next++
		}
	}
}

func eachVolume(p *pass, c *infraSpec, m *providerSpec, f func(*pass, volume, *disk)) {
	for len(m.Disks) <= len(c.AdditionalDisks) {
		m.Disks = append(m.Disks, &disk{})
	}
	f(p, volume{root: c}, m.Disks[0])
	for i := range c.AdditionalDisks {
		f(p.At(fmt.Sprintf("additionalDisks[%d]", i)), volume{more: &c.AdditionalDisks[i]}, m.Disks[i+1])
	}
}

func bootTo(p *pass, m *providerSpec, _ *infraSpec) {
	root := rootDisk(m)
	if root < 0 {
		p.Required("disks", "one of the disks must be the boot disk: set boot: true on this disk")
	}
	for i, d := range m.Disks {
		switch at := p.At(fmt.Sprintf("disks[%d]", i)); {
		case d == nil:
			at.Invalid("", nil, isNull)
		case d.Boot && i != root:
			at.Invalid("boot", true, "an instance boots from only one disk, and an earlier disk in the list has boot: true: set boot of this disk to false")
		}
	}
}

func bootFrom(p *pass, c *infraSpec, m *providerSpec) {
	eachVolume(p, c, m, func(_ *pass, v volume, d *disk) { d.Boot = v.root != nil })
}

func deletionTo(p *pass, d *disk, _ volume) {
	if !d.AutoDelete {
		p.Unsupported("autoDelete", false, "must be true, because Cluster API deletes every disk with its instance")
	}
}

func deletionFrom(_ *pass, _ volume, d *disk) { d.AutoDelete = true }

const (
	leastGB, mostGB = 16, 65536 // the limits of Machine API's webhook

	leastSize = "must not be negative"
	ownSize   = "the two APIs would choose different sizes for a disk without a size: set the size, in GB"
)

func sizeTo(p *pass, d *disk, v volume) {
	checkSize(p, "sizeGb", d.SizeGB)
	switch {
	case v.root != nil:
		v.root.RootDeviceSize = d.SizeGB
	case d.SizeGB == 0:
		p.Required("sizeGb", ownSize)
	default:
		v.more.Size = &d.SizeGB
	}
}

func sizeFrom(p *pass, v volume, d *disk) {
	switch {
	case v.root != nil:
		d.SizeGB = v.root.RootDeviceSize
		checkSize(p, "rootDeviceSize", d.SizeGB)
	case v.more.Size == nil || *v.more.Size == 0:
		p.Required("size", ownSize)
	default:
		d.SizeGB = *v.more.Size
		checkSize(p, "size", d.SizeGB)
	}
}

// checkSize reports an error for a size (in GB) that Machine API's webhook would refuse. It accepts 0, because 0 means that the size is absent.
func checkSize(p *pass, path string, gb int64) {
	switch {
	case gb < 0:
		p.Invalid(path, gb, leastSize)
	case gb != 0 && gb < leastGB || gb > mostGB:
		p.Unsupported(path, gb, fmt.Sprintf("Machine API accepts only disks of %d to %d GB: set a size in this range", leastGB, mostGB))
	}
}

const noScratch = "Machine API creates only persistent disks, but Cluster API creates a scratch disk for this type: set another type"

func typeTo(p *pass, d *disk, v volume) {
	word := gcpv1.DiskType(d.Type)
	switch word {
	case "":
		word = gcpv1.PdStandardDiskType
	case gcpv1.LocalSsdDiskType:
		p.Unsupported("type", d.Type, noScratch)
	default:
		checkType(p, "type", d.Type)
	}
	*v.deviceType() = &word
}

func (v volume) deviceType() **gcpv1.DiskType {
	if v.root != nil {
		return &v.root.RootDeviceType
	}
	return &v.more.DeviceType
}

func typeFrom(p *pass, v volume, d *disk) {
	path, reason := "deviceType", "Cluster API creates no disk without a type: set the type "+string(gcpv1.PdStandardDiskType)+" or another one"
	if v.root != nil {
		path, reason = "rootDeviceType", "Machine API needs the type of each disk: set a type, such as "+string(gcpv1.PdStandardDiskType)+", which is "+
			"Cluster API's default"
	}
	switch word := *v.deviceType(); {
	case word == nil || *word == "":
		p.Required(path, reason)
	case *word == gcpv1.LocalSsdDiskType:
		p.Unsupported(path, string(*word), noScratch)
	default:
		checkType(p, path, string(*word))
		d.Type = string(*word)
	}
}

// checkType reports an error for a disk type that Machine API's webhook does not accept. A providerSpec may have such a type, if the webhook did not run or
// did not exist when the providerSpec was written. But the type could not come back from Cluster API.
func checkType(p *pass, path, word string) {
	if !slices.Contains(diskTypes, word) {
		p.Unsupported(path, word, "Machine API accepts only the disk types "+strings.Join(diskTypes, ", ")+": set one of these types")
	}
}

// diskTypes lists the disk types that Machine API's webhook accepts.
var diskTypes = []string{"pd-standard", "pd-ssd", "pd-balanced", "hyperdisk-balanced"}

func imageTo(p *pass, d *disk, v volume) {
	switch {
	case v.root == nil && d.Image != "":
		p.Unsupported("image", d.Image,
			"Cluster API creates every disk except the boot disk without an image: remove the image, or leave Machine API authoritative. If Machine API's "+
				"webhook has set the image, the image can be removed, because the webhook sets it only when the object is created")
	case v.root == nil:
	case d.Image == "":
		p.Required("image", "if the boot disk has no image, Cluster API chooses one itself: name the image")
	case strings.Contains(d.Image, "/"):
		v.root.Image = &d.Image
	default:
		path := "projects/" + project(p) + "/global/images/" + d.Image
		v.root.Image = &path
	}
}

func imageFrom(p *pass, v volume, d *disk) {
	if v.root == nil {
		return
	}
	switch d.Image = text(v.root.Image); {
	case d.Image == "" && v.root.ImageFamily == nil:
		p.Required("image", "Machine API chooses no image for the boot disk by itself: name the image")
	case d.Image != "" && !strings.Contains(d.Image, "/"):
		p.Invalid("image", d.Image, "must be the full name of an image, such as projects/PROJECT/global/images/NAME")
	}
}

func diskLabelsTo(p *pass, m *providerSpec, c *infraSpec) {
	has := instanceLabels(p, m.Labels)
	eachDisk(p, m, c, func(p *pass, d *disk, v volume) {
		for _, k := range sortedKeys(d.Labels) {
			switch value, same := has[k]; {
			case v.root == nil:
				p.Unsupported("labels["+k+"]", d.Labels[k],
					"Cluster API sets labels only on the boot disk, not on other disks: remove this label, or leave Machine API authoritative")
			case !same || value != d.Labels[k]:
				p.Unsupported("labels["+k+"]", d.Labels[k],
					"Cluster API gives the boot disk the labels of the instance and no others: set the same label in the field labels of the instance")
			}
		}
	})
}
