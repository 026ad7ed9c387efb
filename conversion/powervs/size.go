// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// systemTypes returns the system types that Cluster API's CRD accepts. The Machine API accepts any system type.
func systemTypes() []string { return []string{"s922", "e980", "s1022", "e1050", "e1080", "s1122"} }

const (
	// defaultSystem and defaultProcessor are the defaults of both APIs' webhooks.
	defaultSystem    = "s922"
	defaultProcessor = machinev1.PowerVSProcessorTypeShared

	// The webhooks of the two APIs have different defaults for memory and processors.
	memoryOfMachineAPI, memoryOfClusterAPI = 32, 2
	processorsOfClusterAPI                 = "0.25"
	// These are the minima of Cluster API's webhook. The Machine API's webhook has other minima, and only warns about smaller values.
	leastMemory, leastProcessors = 2, 0.25
)

// limit has the maxima of the Machine API's webhook for one system type. A system type that the function limits does not list has no maximum.
type limit struct {
	memory     int32
	processors float64
}

func limits() map[string]limit {
	return map[string]limit{"s922": {942, 15}, "e980": {15307, 143}}
}

func systemTo(p *pass, m *providerSpec, c *infraSpec) {
	c.SystemType = system(m.SystemType)
	checkSystem(p, c.SystemType)
}

func systemFrom(p *pass, c *infraSpec, m *providerSpec) {
	m.SystemType = system(c.SystemType)
	checkSystem(p, m.SystemType)
}

func system(text string) string {
	if text == "" {
		return defaultSystem
	}
	return text
}

func checkSystem(p *pass, name string) {
	if !slices.Contains(systemTypes(), name) {
		p.Unsupported("systemType", name, "Cluster API accepts only the system types "+list(systemTypes())+": set one of these types, or leave Machine "+
			"API authoritative")
	}
}

func processorTypeTo(p *pass, m *providerSpec, c *infraSpec) {
	c.ProcessorType = string(processorType(p, m.ProcessorType))
}

func processorTypeFrom(p *pass, c *infraSpec, m *providerSpec) {
	m.ProcessorType = processorType(p, machinev1.PowerVSProcessorType(c.ProcessorType))
}

func processorType(p *pass, kind machinev1.PowerVSProcessorType) machinev1.PowerVSProcessorType {
	known := []machinev1.PowerVSProcessorType{machinev1.PowerVSProcessorTypeShared, machinev1.PowerVSProcessorTypeCapped, machinev1.PowerVSProcessorTypeDedicated}
	switch {
	case kind == "":
		return defaultProcessor
	case !slices.Contains(known, kind):
		p.Invalid("processorType", string(kind), "supported values: "+list(known))
	}
	return kind
}

func processorsTo(p *pass, m *providerSpec, c *infraSpec) {
	c.Processors = m.Processors
	if isUnset(m.Processors) {
		c.Processors = intstr.FromString("0.5")
		if m.ProcessorType == machinev1.PowerVSProcessorTypeDedicated {
			c.Processors = intstr.FromInt32(1)
		}
	}
	checkProcessors(p, system(m.SystemType), c.Processors)
}

func processorsFrom(p *pass, c *infraSpec, m *providerSpec) {
	m.Processors = c.Processors
	if isUnset(c.Processors) {
		m.Processors = intstr.FromString(processorsOfClusterAPI)
	}
	checkProcessors(p, system(c.SystemType), m.Processors)
}

// isUnset reports whether a number of processors counts as absent in the webhooks of both APIs.
func isUnset(n intstr.IntOrString) bool { return n.IntVal == 0 && n.StrVal == "" }

func checkProcessors(p *pass, system string, value intstr.IntOrString) {
	n, err := float64(value.IntVal), error(nil)
	if value.Type == intstr.String {
		n, err = strconv.ParseFloat(value.StrVal, 64)
	}
	switch most, known := limits()[system]; {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
		p.Invalid("processors", value.String(), `must be a number, or a number in quotes, such as "0.5"`)
	case n < leastProcessors:
		p.Unsupported("processors", value.String(), fmt.Sprintf("Cluster API accepts only %v processors or more: give at least this number", leastProcessors))
	case known && n > most.processors:
		p.Unsupported("processors", value.String(), fmt.Sprintf(
			"Machine API accepts at most %v processors on %s: give at most this number", most.processors, system))
	}
}

func memoryTo(p *pass, m *providerSpec, c *infraSpec) {
	if c.MemoryGiB = m.MemoryGiB; c.MemoryGiB == 0 {
		c.MemoryGiB = memoryOfMachineAPI
	}
	checkMemory(p, system(m.SystemType), c.MemoryGiB)
}

func memoryFrom(p *pass, c *infraSpec, m *providerSpec) {
	if m.MemoryGiB = c.MemoryGiB; m.MemoryGiB == 0 {
		m.MemoryGiB = memoryOfClusterAPI
	}
	checkMemory(p, system(c.SystemType), m.MemoryGiB)
}

func checkMemory(p *pass, system string, gib int32) {
	switch most, known := limits()[system]; {
	case gib < leastMemory:
		p.Unsupported("memoryGiB", gib, fmt.Sprintf("Cluster API accepts only %d GiB of memory or more: give at least this number", leastMemory))
	case known && gib > most.memory:
		p.Unsupported("memoryGiB", gib, fmt.Sprintf("Machine API accepts at most %d GiB of memory on %s: give at most this number", most.memory, system))
	}
}
