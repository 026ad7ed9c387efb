// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ViewerRole names the role of the manifests that has the rights to read what the plugin reads.
const ViewerRole = "ClusterRole poundlock-viewer has the rights that this takes"

// ofTheCluster are the resources of no namespace that it lets read: a binding in the two namespaces does not have them.
var ofTheCluster = []string{
	"clusteroperators", "featuregates", "infrastructures", "mutatingwebhookconfigurations", "namespaces", "nodes", "validatingwebhookconfigurations",
}

// Allowed adds to an API server's refusal to read which role has the rights, and where to bind it. Another error stays as it is.
func Allowed(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	where := "bind it in both namespaces"
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && slices.Contains(ofTheCluster, status.Status().Details.Kind) {
		where = "bind it cluster-wide"
	}
	return withRole{err, ViewerRole + "; " + where}
}

// AllowedToView adds to a refusal the role that providers takes: the ConfigMaps of the providers are no part of the viewer's role, which is aggregated to this
// one. Another error stays as it is.
func AllowedToView(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	return withRole{err, "ClusterRole view, to which poundlock-viewer is aggregated, has the rights that this takes; bind it cluster-wide"}
}

// AllowedToAdministrators adds to a refusal the role that cleanup takes, in the place of the role of Allowed. Another error stays as it is.
func AllowedToAdministrators(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	const role = "ClusterRole poundlock-administrator has the rights that this takes; bind it cluster-wide"
	var other withRole
	if errors.As(err, &other) {
		err = errors.New(strings.Replace(err.Error(), other.Error(), other.refusal.Error(), 1))
	}
	return fmt.Errorf("%w: %s", err, role)
}

// Place is an object's namespace and name as messages have them. An object of the cluster has a name alone.
func Place(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// withRole is a refusal, and who is not refused.
type withRole struct {
	refusal error
	role    string
}

func (r withRole) Error() string { return r.refusal.Error() + ": " + r.role }

func (r withRole) Unwrap() error { return r.refusal }
