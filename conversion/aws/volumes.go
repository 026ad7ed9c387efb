// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
)

type (
	device = machinev1beta1.BlockDeviceMappingSpec
	volume = awsv1.Volume
)

func volumesTo(p *pass, m *providerSpec, c *infraSpec) {
	for i := range m.BlockDevices {
		at, from, to := p.At(fmt.Sprintf("blockDevices[%d]", i)), &m.BlockDevices[i], volume{}
		Volumes.ToClusterAPI(at, from, &to)
		switch {
		case text(from.DeviceName) != "":
			c.NonRootVolumes = append(c.NonRootVolumes, to)
		case c.RootVolume != nil:
			at.Invalid("deviceName", nil, "only the root device has no name, but this is a second device without a name: name this device, such as /dev/sdb")
		default:
			c.RootVolume = &to
		}
	}
}

func volumesFrom(p *pass, c *infraSpec, m *providerSpec) {
	if root := c.RootVolume; root != nil {
		at, to := p.At("rootVolume"), device{}
		if root.DeviceName != "" {
			at.Unsupported("deviceName", root.DeviceName,
				"in Machine API only the root device has no name, so the root device cannot have one: remove deviceName")
		}
		Volumes.ToMachineAPI(at, root, &to)
		m.BlockDevices = append(m.BlockDevices, to)
	}
	for i := range c.NonRootVolumes {
		at, to := p.At(fmt.Sprintf("nonRootVolumes[%d]", i)), device{}
		if c.NonRootVolumes[i].DeviceName == "" {
			at.Required("deviceName", "in Machine API a device without a name is the root device, so this other device needs a name: set deviceName")
		}
		Volumes.ToMachineAPI(at, &c.NonRootVolumes[i], &to)
		m.BlockDevices = append(m.BlockDevices, to)
	}
}

func ebs(m *device) *machinev1beta1.EBSBlockDeviceSpec {
	if m.EBS == nil {
		m.EBS = &machinev1beta1.EBSBlockDeviceSpec{}
	}
	return m.EBS
}

func deletionTo(p *pass, m *device, _ *volume) {
	if m.EBS != nil && m.EBS.DeprecatedDeleteOnTermination != nil && !*m.EBS.DeprecatedDeleteOnTermination {
		p.Unsupported("ebs.deleteOnTermination", false,
			"Cluster API deletes every volume with its instance: set deleteOnTermination to true, or leave Machine API authoritative")
	}
}

func deletionFrom(*pass, *volume, *device) {}

func keyTo(p *pass, m *device, c *volume) {
	if m.EBS == nil {
		return
	}
	id, arn := text(m.EBS.KMSKey.ID), text(m.EBS.KMSKey.ARN)
	switch {
	case id != "" && arn != "":
		p.Invalid("ebs.kmsKey", nil, "a key is given by its id or its ARN, not by both: remove one of the two")
	case strings.HasPrefix(id, "arn:"):
		p.Invalid("ebs.kmsKey.id", id, "this is an ARN, not an id: set kmsKey.arn instead")
	case arn != "" && !strings.HasPrefix(arn, "arn:"):
		p.Invalid("ebs.kmsKey.arn", arn, `must begin with "arn:". If this is an id, set kmsKey.id instead`)
	}
	c.EncryptionKey = id + arn
}

func keyFrom(_ *pass, c *volume, m *device) {
	switch {
	case strings.HasPrefix(c.EncryptionKey, "arn:"):
		ebs(m).KMSKey.ARN = &c.EncryptionKey
	case c.EncryptionKey != "":
		ebs(m).KMSKey.ID = &c.EncryptionKey
	}
}

// iopsTo copies the IOPS. 0 means the same as absent in Cluster API. The installer writes 0 for volumes without IOPS.
func iopsTo(_ *pass, m *device, c *volume) {
	if m.EBS != nil && m.EBS.Iops != nil {
		c.IOPS = *m.EBS.Iops
	}
}

func iopsFrom(_ *pass, c *volume, m *device) {
	if c.IOPS != 0 {
		ebs(m).Iops = &c.IOPS
	}
}

// throughputTo copies the throughput, except 0: installers of an early 4.21 write 0, which Machine API treats as absent and AWS refuses.
func throughputTo(_ *pass, m *device, c *volume) {
	if m.EBS != nil && m.EBS.ThroughputMib != nil && *m.EBS.ThroughputMib != 0 {
		value := int64(*m.EBS.ThroughputMib)
		c.Throughput = &value
	}
}

func throughputFrom(p *pass, c *volume, m *device) {
	switch {
	case c.Throughput == nil:
	case *c.Throughput == 0:
		p.Unsupported("throughput", 0, "Machine API reads the throughput 0 as absent, and AWS refuses 0: leave this field out")
	case int64(int32(*c.Throughput)) != *c.Throughput:
		p.Unsupported("throughput", *c.Throughput, "this number is larger than the other API's field can store: set a smaller number")
	default:
		value := int32(*c.Throughput)
		ebs(m).ThroughputMib = &value
	}
}

// leastSize is Cluster API's minimum size of a volume, in GiB.
const leastSize = 8

func sizeTo(p *pass, m *device, c *volume) {
	switch {
	case m.NoDevice != nil || text(m.VirtualName) != "": // the entry describes no volume, and another row refuses it
	case m.EBS == nil || m.EBS.VolumeSize == nil:
		p.Required("ebs.volumeSize", "Cluster API does not take the size of a volume from the image: give the size, in GiB")
	case *m.EBS.VolumeSize < leastSize:
		p.Unsupported("ebs.volumeSize", *m.EBS.VolumeSize, fmt.Sprintf(
			"Cluster API accepts volumes of at least %d GiB: set a size that is large enough, or leave Machine API authoritative", leastSize))
	default:
		c.Size = *m.EBS.VolumeSize
	}
}

func sizeFrom(p *pass, c *volume, m *device) {
	if c.Size < leastSize {
		p.Invalid("size", c.Size, fmt.Sprintf("must be at least %d", leastSize))
		return
	}
	ebs(m).VolumeSize = &c.Size
}
