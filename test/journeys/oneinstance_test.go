// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"
)

// manifestOf returns the object as a person copies it: with another name, without what the server and controllers keep, and with the given members of spec and
// metadata.
func manifestOf(t *testing.T, o object, name string, spec, metadata map[string]any) string {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal([]byte(must(t, o.args("get", "-o", "json")...).out), &content); err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	was := content["metadata"].(map[string]any)
	now := map[string]any{"name": name, "namespace": o.namespace, "labels": was["labels"], "ownerReferences": was["ownerReferences"]}
	for key, value := range metadata {
		now[key] = value
	}
	content["metadata"] = now
	for key, value := range spec {
		content["spec"].(map[string]any)[key] = value
	}
	out, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A provider acts on each of its machines that a Machine owns, and on the instance that the machine names. So neither can be given to another Machine,
// whichever API is authoritative. An object that is nobody's mirror may be deleted by its owner. Through all of that there is one instance. story compares that
// with the cloud's ledger.
func TestAnInstanceHasOneMachine(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	const name, stray = "one-instance", "one-instance-copy"
	if a := kubectl(t, loneManifest(t, name), "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	m := mapiMachine(name)
	eventually(t, "it is mirrored", func() string { return field(t, awsMachine(name), ".metadata.ownerReferences[0].kind") }, "Machine")
	eventually(t, "its mirror has the ID", func() string {
		id := field(t, m, ".spec.providerID")
		return fmt.Sprint(id != "" && id == field(t, awsMachine(name), ".spec.providerID") && id == field(t, capiMachine(name), ".spec.providerID"))
	}, "true")

	itsOwn := map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": stray}
	nobodys := map[string]any{"ownerReferences": nil}
	refused := func(rule, stdin string, args ...string) {
		t.Helper()
		if a := kubectl(t, stdin, args...); a.ok || !strings.Contains(a.err, "["+rule+"]") {
			t.Errorf("kubectl %s: want a refusal by %s, got %v: %s", strings.Join(args, " "), rule, a.ok, a.err)
		}
	}
	for _, authoritative := range []string{"MachineAPI", "ClusterAPI"} {
		if authoritative == "ClusterAPI" {
			request(t, m, authoritative)
			authorityIs(t, m, authoritative)
			settled(t, m)
		}
		// A user tries to get a second instance, or this instance twice.
		refused("authority/infra-owner", manifestOf(t, awsMachine(name), stray, map[string]any{"providerID": "", "instanceID": nil}, nil), "create", "-f", "-")
		refused("authority/infra-owner", manifestOf(t, awsMachine(name), stray, nil, nil), "create", "-f", "-")
		refused("authority/provider-id", manifestOf(t, awsMachine(name), stray, nil, nobodys), "create", "-f", "-")
		refused("authority/provider-id", manifestOf(t, capiMachine(name), stray, map[string]any{"infrastructureRef": itsOwn}, nobodys), "create", "-f", "-")
		refused("authority/provider-id", manifestOf(t, m, stray, nil, nobodys), "create", "-f", "-")
		refused("authority/infra-owner", manifestOf(t, capiMachine(name), stray, map[string]any{"providerID": nil}, nobodys), "create", "-f", "-")

		// A user tries the same in several steps.
		bare := manifestOf(t, awsMachine(name), stray, map[string]any{"providerID": nil, "instanceID": nil}, map[string]any{
			"ownerReferences": nil, "annotations": map[string]any{"cluster.x-k8s.io/paused": "", "poundlock.openshift.io/mirror-of": "Machine/" + name}})
		if a := kubectl(t, bare, "create", "-f", "-"); !a.ok {
			t.Fatal(a.err)
		}
		owners := must(t, awsMachine(name).args("get", "-o", "jsonpath={.metadata.ownerReferences}")...).out
		refused("authority/infra-owner", "", append(awsMachine(stray).args("patch"), "--type=merge", "-p", `{"metadata":{"ownerReferences":`+owners+`}}`)...)
		id := field(t, m, ".spec.providerID")
		for _, id := range []string{id, "aws:///elsewhere" + id[strings.LastIndex(id, "/"):]} {
			refused("authority/provider-id", "", append(awsMachine(stray).args("patch"), "--type=merge", "-p", `{"spec":{"providerID":"`+id+`"}}`)...)
		}
		must(t, awsMachine(stray).args("delete")...)
	}
	must(t, capiMachine(name).args("delete", "--wait=false")...)
	for _, o := range []object{m, capiMachine(name), awsMachine(name)} {
		eventually(t, o.resource+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
	if left := instances(name); len(left) != 0 {
		t.Errorf("instances are left: %v", left)
	}
}
