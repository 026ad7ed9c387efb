// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package privatetypes

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/manifests/privatetypes"
)

func newSidecar(p *cli.Plugin) *cobra.Command {
	var image string
	var file string
	cmd := &cobra.Command{
		Use:   "sidecar -f FILE",
		Short: "Add the proxy to the containers of a Deployment, and print the result",
		Long: `Add the proxy to the containers of a Deployment, and print the result:
the Deployment, and the ConfigMap with the kubeconfig that leads to the proxy.

Containers get KUBECONFIG. cluster-autoscaler and machine-approver do not read KUBECONFIG, so they get a flag. Init containers stay unchanged.
sidecar needs no cluster.`,
		Example: `  kubectl -n NAMESPACE get deployment cluster-api -o yaml | kubectl poundlock private-types sidecar -f - --image … | kubectl apply -f -`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if file == "" {
				return cli.Usagef("the Deployment is missing: give --filename FILE, or --filename - for standard input")
			}
			return sidecar(p, file, image)
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "Read the Deployment from this file, or - for standard input")
	cmd.Flags().StringVar(&image, "image", "poundlock:unset", "Run the proxy from this image")
	return cmd
}

func sidecar(p *cli.Plugin, file, image string) error {
	texts, err := manifestsAt(p, file)
	if err != nil {
		return err
	}
	for name, text := range texts {
		objects, err := privatetypes.Parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, o := range objects {
			if o.GroupVersionKind() != appsv1.SchemeGroupVersion.WithKind("Deployment") {
				return cli.Usagef("%s: %s %s is not a Deployment of apps/v1", name, o.GetKind(), o.GetName())
			}
			unstructured.RemoveNestedField(o.Object, "status")
			o.SetManagedFields(nil)
			d := &appsv1.Deployment{}
			text, err := o.MarshalJSON()
			if err == nil {
				var lost []error // the fields that this build does not know, and would lose
				lost, err = json.UnmarshalStrict(text, d)
				err = errors.Join(append(lost, err)...)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			config, err := privatetypes.Sidecar(d, image)
			if err != nil {
				return err
			}
			for _, out := range []any{config, d} {
				text, err := yaml.Marshal(out)
				if err != nil {
					return err
				}
				fmt.Fprintf(p.Out, "---\n%s", text)
			}
		}
	}
	return nil
}
