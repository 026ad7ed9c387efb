// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

// Priority gives the pods the priority class system-cluster-critical.
func Priority(d *Draft) {
	for _, p := range d.pods() {
		delete(p.spec, "priority")
		d.set(p.Document, p.spec, "priorityClassName", "priorityClassName", "system-cluster-critical")
	}
}

var leastRequests = []struct{ name, least string }{{"cpu", "10m"}, {"memory", "50Mi"}}

// Requests raises the requests of each container to at least 10m of CPU and 50Mi of memory. It never lowers a request.
func Requests(d *Draft) {
	for _, c := range d.containers() {
		for _, row := range leastRequests {
			requests := ensure(c.object, "resources", "requests")
			field := c.field("resources.requests." + row.name)
			value, has := requests[row.name]
			if s, ok := asText(value); ok && strings.Contains(s, "${") {
				d.note(c.Document, "%s has a variable, and is not changed", field)
				continue
			}
			if !has || value == nil {
				d.set(c.Document, requests, field, row.name, row.least)
				continue
			}
			now, err := jsonnumbers.ParseQuantity(fmt.Sprint(value))
			if err != nil {
				d.refuse(c.Document, "%s is %v, which is not a quantity: use a quantity such as %s", field, value, row.least)
				continue
			}
			if now.Cmp(resource.MustParse(row.least)) < 0 {
				d.set(c.Document, requests, field, row.name, row.least)
			}
		}
	}
}

// NoLimits removes the limits of containers and pods.
func NoLimits(d *Draft) {
	for _, c := range d.containers() {
		d.unset(c.Document, at(c.object, "resources"), c.field("resources."), "limits")
	}
	for _, p := range d.pods() {
		d.unset(p.Document, at(p.spec, "resources"), "spec.resources.", "limits")
	}
}

// TerminationMessages makes the last log lines of a container its termination message.
func TerminationMessages(d *Draft) {
	for _, c := range d.containers() {
		d.set(c.Document, c.object, c.field("terminationMessagePolicy"), "terminationMessagePolicy", "FallbackToLogsOnError")
	}
}

// PullPolicy sets the pull policy IfNotPresent for all images.
func PullPolicy(d *Draft) {
	for _, c := range d.containers() {
		d.set(c.Document, c.object, c.field("imagePullPolicy"), "imagePullPolicy", "IfNotPresent")
	}
}

// ManagementWorkload annotates the pods for workload partitioning.
func ManagementWorkload(d *Draft) {
	const key = "target.workload.openshift.io/management"
	for _, p := range d.pods() {
		d.set(p.Document, ensure(p.template, "metadata", "annotations"), "the pods' annotation "+key, key, `{"effect": "PreferredDuringScheduling"}`)
	}
}

const (
	requiredSCC  = "openshift.io/required-scc"
	restrictedV2 = "restricted-v2"
)

// RequiredSCC pins the pods to the SCC restricted-v2. It removes their user and group IDs, because that SCC assigns IDs from the namespace's range and refuses
// others. A workload that names another SCC keeps it.
func RequiredSCC(d *Draft) {
	for _, p := range d.pods() {
		annotations := ensure(p.template, "metadata", "annotations")
		if scc := text(annotations, requiredSCC); scc != "" && scc != restrictedV2 {
			d.note(p.Document, "keeps its own SCC, %s", scc)
			continue
		}
		d.set(p.Document, annotations, "the pods' annotation "+requiredSCC, requiredSCC, restrictedV2)
		d.restrict(p.Document, at(p.spec, "securityContext"), "securityContext.")
		for _, c := range p.containers() {
			d.restrict(p.Document, at(c.object, "securityContext"), c.field("securityContext."))
		}
		for _, why := range p.privileges() {
			d.note(p.Document, "%s, which the SCC %s refuses: remove this setting, or set the annotation %s to an SCC that allows "+
				"it", why, restrictedV2, requiredSCC)
		}
	}
}

// restrict removes the user and group IDs of a security context. restricted-v2 allows only IDs of the namespace's range, which only the cluster knows.
func (d *Draft) restrict(doc Document, context map[string]any, path string) {
	for _, key := range []string{"runAsUser", "fsGroup"} {
		d.unset(doc, context, path, key)
	}
}

// privileges returns what a pod asks for and restricted-v2 does not allow, as texts.
func (p pod) privileges() []string {
	var out []string
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if p.spec[key] == true {
			out = append(out, key+" is true")
		}
	}
	for _, volume := range objects(p.spec, "volumes") {
		if volume["hostPath"] != nil {
			out = append(out, "volume "+text(volume, "name")+" is a hostPath")
		}
	}
	for _, c := range p.containers() {
		context := at(c.object, "securityContext")
		if context["privileged"] == true {
			out = append(out, c.field("securityContext.privileged")+" is true")
		}
		for _, capability := range texts(at(context, "capabilities"), "add") {
			if capability != "NET_BIND_SERVICE" {
				out = append(out, c.field("securityContext.capabilities.add")+" has "+capability)
			}
		}
	}
	return out
}

const gatesFlag = "--feature-gates"

// usualGates are feature gates that are set if a manager already has them. They are needed because OpenShift's nodes start with Ignition.
var usualGates = map[string]bool{"BootstrapFormatIgnition": true, "KubeadmBootstrapFormatIgnition": true}

// FeatureGates sets feature gates in the commands and arguments of the managers. It adds the gates of Options.FeatureGates if they are missing. The gates for
// Ignition (usualGates) are only changed.
func FeatureGates(d *Draft) {
	all := d.containers()
	known := slices.ContainsFunc(all, func(c container) bool { return len(c.gates()) > 0 })
	for _, c := range all {
		places := c.gates()
		if !known && c.name() == managerContainer && len(d.FeatureGates) > 0 {
			args, _ := c.object["args"].([]any)
			c.object["args"] = append(args, gatesFlag+"=")
			places, known = []gatesPlace{{"args", len(args)}}, true
		}
		for i, place := range places {
			d.setGates(c, place, i == len(places)-1)
		}
	}
	if !known && len(d.FeatureGates) > 0 {
		d.problems = append(d.problems, fmt.Errorf("--feature-gates: no container has the argument %s, and no container is named %s. Remove the flag, "+
			"or add the argument to a container", gatesFlag, managerContainer))
	}
}

// gatesPlace is the position of a list of feature gates: an item of command or args.
type gatesPlace struct {
	field string
	index int
}

// gates returns the positions of the lists of feature gates in a container. If the flag occurs twice, both lists count; if both have the same gate, the last
// one does.
func (c container) gates() []gatesPlace {
	var out []gatesPlace
	for _, field := range []string{"command", "args"} {
		words, _ := c.object[field].([]any)
		for i, word := range words {
			s, _ := asText(word)
			if strings.HasPrefix(s, gatesFlag+"=") {
				out = append(out, gatesPlace{field, i})
			} else if s == gatesFlag && i+1 < len(words) {
				out = append(out, gatesPlace{field, i + 1})
			}
		}
	}
	return out
}

// setGates sets feature gates in one list. If the list is the container's last, it also adds the missing ones.
func (d *Draft) setGates(c container, place gatesPlace, last bool) {
	args, _ := c.object[place.field].([]any)
	i := place.index
	before, _ := asText(args[i])
	flag, list := "", before
	if rest, found := strings.CutPrefix(before, gatesFlag+"="); found {
		flag, list = gatesFlag+"=", rest
	}
	gates := splitGates(list)
	for _, name := range slices.Sorted(maps.Keys(usualGates)) {
		if _, asked := d.FeatureGates[name]; !asked {
			gates = setGate(gates, name, usualGates[name], false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.FeatureGates)) {
		gates = setGate(gates, name, d.FeatureGates[name], last)
	}
	if after := flag + strings.Join(gates, ","); after != before {
		args[i] = retype(args[i], after)
		if _, plain := args[i].(Plain); plain && !strings.Contains(after, "${") {
			args[i] = after
		}
		d.changed(c.Document, "%s: %s", c.field(place.field), difference(splitGates(list), gates))
	}
}

// splitGates splits a list of feature gates at its commas, except for commas inside a variable.
func splitGates(list string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(list) {
		switch list[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				out, from = append(out, list[from:i]), i+1
			}
		}
	}
	if from < len(list) {
		out = append(out, list[from:])
	}
	return out
}

func setGate(gates []string, name string, value, add bool) []string {
	gate := name + "=" + strconv.FormatBool(value)
	for i := range gates {
		if strings.HasPrefix(gates[i], name+"=") {
			gates[i] = gate
			return gates
		}
	}
	if add {
		return append(gates, gate)
	}
	return gates
}

func difference(before, after []string) string {
	var out []string
	for _, gate := range after {
		if !slices.Contains(before, gate) {
			out = append(out, gate)
		}
	}
	return strings.Join(out, ",")
}
