// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ViewerRole names the role of the manifests that has the rights to read what the plugin reads.
const ViewerRole = "ClusterRole poundlock-viewer has the rights that this command needs"

// ofTheCluster are the cluster-scoped resources that ClusterRole poundlock-viewer lets a user read. A RoleBinding in the two namespaces does not grant these
// rights.
var ofTheCluster = []string{
	"clusteroperators", "featuregates", "infrastructures", "mutatingwebhookconfigurations", "namespaces", "nodes", "validatingwebhookconfigurations",
}

// Allowed adds to an API server's refusal to read: which role has the rights, and where to bind the role. Any other error is returned as it is.
func Allowed(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	where := "bind the role in the namespaces of both APIs"
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && slices.Contains(ofTheCluster, status.Status().Details.Kind) {
		where = "bind the role cluster-wide"
	}
	return withRole{err, ViewerRole + "; " + where}
}

// AllowedToView adds to an API server's refusal to read: the right that is missing, and the role that has it. Command providers reads ConfigMaps and
// Deployments, which Kubernetes' own role view may read. It also reads OpenShift's objects about the cluster, which view may read only by aggregation. Any
// other error is returned as it is.
func AllowedToView(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	const everything = "Bind ClusterRole view cluster-wide: Poundlock's manifests aggregate poundlock-viewer to view, " +
		"so view then has all rights that this command needs"
	right, ofCluster := rightIn(err)
	switch {
	case right == "":
		return withRole{err, everything}
	case ofCluster:
		return withRole{err, "the right to " + right + " is in ClusterRole poundlock-viewer (manifests/base/access/users.yaml). " + everything}
	}
	return withRole{err, "the right to " + right + " is in ClusterRole view. " + everything}
}

// refusedRight finds the verb, resource, group and namespace in the message of an API server's refusal.
var refusedRight = regexp.MustCompile(`cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?`)

// rightIn returns the right that a refusal names, as VERB RESOURCE in namespace N; "" if the refusal names none. ofCluster reports that the resource has no
// namespace.
func rightIn(err error) (right string, ofCluster bool) {
	found := refusedRight.FindStringSubmatch(err.Error())
	if found == nil {
		return "", false
	}
	verb, resource, namespace := found[1], schema.GroupResource{Group: found[3], Resource: found[2]}.String(), found[4]
	if namespace == "" {
		return verb + " " + resource + " of the whole cluster", true
	}
	return verb + " " + resource + " in namespace " + namespace, false
}

// AllowedToMigrate adds to an API server's refusal to write: which role has the right, and where to bind the role. A refusal by admission is returned as it is,
// and so is any other error.
func AllowedToMigrate(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	if right, _ := rightIn(err); right == "" {
		return err
	}
	return withRole{err, "ClusterRole poundlock-migrator has the rights that this command needs; bind the role in the namespaces of both APIs"}
}

// AllowedToAdministrators adds to a refusal the role that cleanup needs. That role replaces the one that Allowed has added. Any other error is returned as it
// is.
func AllowedToAdministrators(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	const role = "ClusterRole poundlock-administrator has the rights that this command needs; bind the role cluster-wide"
	var other withRole
	if errors.As(err, &other) {
		err = errors.New(strings.Replace(err.Error(), other.Error(), other.refusal.Error(), 1))
	}
	return fmt.Errorf("%w: %s", err, role)
}

// Place returns an object's namespace and name as messages have them. A cluster-scoped object has only a name.
func Place(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// withRole is a refusal, with the sentence about the role that has the right.
type withRole struct {
	refusal error
	role    string
}

func (r withRole) Error() string { return r.refusal.Error() + ": " + r.role }

func (r withRole) Unwrap() error { return r.refusal }
