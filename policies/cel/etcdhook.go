// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// holdsForEtcd returns a CEL expression that is true for a request in which the etcd operator updates a Machine of the control plane, and adds or removes no
// preDrain hook except its own. That is the condition of the operator's row in authority.Grants.
func holdsForEtcd(o Options) string {
	label, roles := authority.ControlPlaneRole()
	return fmt.Sprintf(`request.operation == "UPDATE" && request.kind.kind == "Machine" && request.userInfo.username in %s && %s in %s && %s == %s`,
		quoteAll(o.Identities[policies.EtcdOperator]), fmt.Sprintf("string(%s[?%s].orValue(''))", object("variables.was.metadata", "labels"), quote(label)),
		quoteAll(roles),
		otherHooks("variables.oldSpec"), otherHooks("variables.newSpec"))
}

func otherHooks(spec string) string {
	return fmt.Sprintf(`%s.filter(h, h != dyn({"name": %s, "owner": %s}))`,
		list(object(spec, "lifecycleHooks"), "preDrain"), quote(authority.EtcdHookName), quote(authority.EtcdHookOwner))
}

// judgedSpec returns a CEL expression for the part of a spec that the locks compare. It is the whole spec. If holdsForEtcd is true, it is the spec without the
// list of preDrain hooks, because the etcd operator may write that list.
func judgedSpec(spec string) string {
	return fmt.Sprintf(`variables.holdsForEtcd ? dyn(%s.transformMap(k, v, k == "lifecycleHooks" ? dyn(%s.transformMap(l, h, l != "preDrain", h)) `+
		`: dyn(v))) : dyn(%s)`,
		spec, object(spec, "lifecycleHooks"), spec)
}
