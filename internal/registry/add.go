// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Add registers a collector and returns it, or the one of the same name that is there already.
func Add[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
	err := r.Register(c)
	var again prometheus.AlreadyRegisteredError
	if errors.As(err, &again) {
		if existing, ok := again.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	return c, err
}
