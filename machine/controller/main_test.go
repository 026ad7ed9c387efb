// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/poundlock/poundlock/test/embedded"
)

var plane *embedded.Plane // set once, by TestMain

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	crds, err := embedded.CRDs(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	options := embedded.Options{CRDs: crds, ControllerManager: true, ControllerManagerArgs: []string{
		"--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller,root-ca-certificate-publisher-controller,disruption-controller",
	}}
	os.Exit(embedded.Main(m, options, func(p *embedded.Plane) error {
		plane = p
		return nil
	}))
}
