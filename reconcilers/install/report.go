// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"reflect"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/config/clusteroperator/v1helpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/internal/operatorconditions"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/internal/versioned"
)

// report writes to the ClusterOperator everything that differs from what it has.
func (r *reconciler) report(ctx context.Context, p *done) error {
	now := r.Now()
	r.remember(p, now)
	o := p.operator
	if o == nil {
		o = &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: installation.OperatorName}}
		if err := r.client.Create(ctx, o); served.Missing(err) {
			return nil // this is no OpenShift cluster, and only OpenShift's version operator reads these conditions
		} else if apierrors.IsAlreadyExists(err) {
			return nil // the ClusterOperator exists, but could not be read
		} else if err != nil {
			return fmt.Errorf("creating ClusterOperator %s: %w", installation.OperatorName, err)
		}
	}
	conditions := p.Conditions(r.memory, v1helpers.IsStatusConditionTrue(o.Status.Conditions, configv1.OperatorDegraded), now)
	if c := v1helpers.FindStatusCondition(conditions, configv1.OperatorDegraded); c != nil {
		r.meters.showDegraded(c.Status == configv1.ConditionTrue)
	}
	status := map[string]any{}
	if merged, changed := operatorconditions.Merge(o.Status.Conditions, conditions, now); changed {
		status["conditions"] = merged
	}
	if versions := p.Versions(o.Status.Versions); !reflect.DeepEqual(versions, o.Status.Versions) {
		status["versions"] = versions
	}
	if related := installation.Related(p.all); !reflect.DeepEqual(related, o.Status.RelatedObjects) && (len(p.all) > 0 || o.Status.RelatedObjects == nil) {
		status["relatedObjects"] = related
	}
	if len(status) == 0 {
		return nil
	}
	if err := versioned.PatchStatus(ctx, r.client, o, map[string]any{"status": status}, client.FieldOwner(installation.Manager)); err != nil {
		return fmt.Errorf("writing the status of ClusterOperator %s: %w", installation.OperatorName, err)
	}
	return nil
}

// remember counts failed passes. The inventories store the time of the first failure, so that the count continues after a restart.
func (r *reconciler) remember(p *done, now time.Time) {
	r.memory = r.memory.Remember(p.Pass, now)
	if r.memory.Failures == 0 {
		return
	}
	for _, rec := range p.records {
		if since := rec.progress.FailingSince; !since.IsZero() && since.Before(r.memory.First) {
			r.memory.First = since
		}
	}
}
