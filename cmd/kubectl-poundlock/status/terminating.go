// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// namespaces is the resource of Kubernetes' Namespaces.
var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// terminating returns the sentence about the pairs' namespaces that are being deleted, as far as the user may read them; "" for none.
func (o *options) terminating(ctx context.Context, pairs authority.Pairs) string {
	client, err := o.Client(nil)
	if err != nil {
		return ""
	}
	var names []string
	for _, pair := range pairs {
		for _, name := range []string{pair.MachineAPI, pair.ClusterAPI} {
			if n, err := client.Resource(namespaces).Get(ctx, name, metav1.GetOptions{}); err == nil && n.GetDeletionTimestamp() != nil {
				names = append(names, name)
			}
		}
	}
	return terminationOf(names)
}

// terminationOf returns the sentence about namespaces that are being deleted; "" for none.
func terminationOf(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("The namespace %s is Terminating, and all its objects are being deleted. To see the consequences: %s", names[0], explained)
	}
	return fmt.Sprintf("The namespaces %s are Terminating, and all their objects are being deleted. To see the consequences: %s",
		strings.Join(names, ", "), explained)
}

const explained = "kubectl poundlock explain " + authority.ReasonSurroundings
