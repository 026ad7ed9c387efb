// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package capimanager

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
)

// Name is the name of the manager's process and of its log.
const Name = "cluster-api"

// Options are the options of a manager. All but Out are needed.
type Options struct {
	// Namespace is where Cluster API's objects are, and the manager's service account. It need not exist yet.
	Namespace string
	// Out gets the build's progress, in lines. It may be nil.
	Out io.Writer
}

// Manager is an installed core manager. It ends with its control plane.
type Manager struct {
	plane   *embedded.Plane
	options Options
	binary  string
	admin   client.Client
	// port is the port of the webhooks, health the address of /readyz.
	port   int
	health string
}

// Start builds, installs and starts the manager, and returns when its webhooks answer. The control plane must run kube-controller-manager, because that fills
// the manager's role. It needs no CRD of Cluster API: Start installs them, with their conversion webhook. ctx bounds only the start.
func Start(ctx context.Context, plane *embedded.Plane, o Options) (*Manager, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	m := &Manager{plane: plane, options: o}
	if err := m.install(ctx); err != nil {
		return nil, fmt.Errorf("installing Cluster API's core manager: %w", err)
	}
	return m, m.Run(ctx)
}

// Run starts the manager again after Kill, at the same address, and returns when its webhooks answer.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.plane.AttachWith([]string{embedded.Collecting}, Name, m.binary, m.args()...); err != nil {
		return err
	}
	if err := m.ready(ctx); err != nil {
		return fmt.Errorf("starting Cluster API's core manager: %w; its log is %s", err, m.plane.Log(Name))
	}
	return nil
}

// Kill ends the manager as a crash would. Its webhooks fail closed, so until Run nobody can write an object that they look at.
func (m *Manager) Kill() error { return m.plane.StopPart(Name) }

// User is the identity under which the manager acts.
func (m *Manager) User() string {
	return "system:serviceaccount:" + m.options.Namespace + ":capi-manager"
}

func (m *Manager) install(ctx context.Context) error {
	var err error
	if m.binary, err = build.ClusterAPI(ctx, m.options.Out); err != nil {
		return err
	}
	if m.admin, err = client.New(m.quietAdmin(), client.Options{}); err != nil {
		return err
	}
	ports, err := embedded.FreePorts(2)
	if err != nil {
		return err
	}
	m.port, m.health = ports[0], fmt.Sprintf("127.0.0.1:%d", ports[1])
	if err := m.plane.Serving(m.path("serving")); err != nil {
		return err
	}
	if err := m.identify(); err != nil {
		return err
	}
	return m.Install(ctx)
}

func (m *Manager) identify() error {
	identity, err := m.plane.As(m.User())
	if err != nil {
		return err
	}
	return m.plane.Kubeconfig(identity, m.path("kubeconfig"))
}

const fieldManager = "poundlock-coremanager"

// Install applies the manager's CRDs, roles and webhook configurations, and so recreates those that somebody has deleted since Start.
func (m *Manager) Install(ctx context.Context) error {
	all, err := m.manifests(ctx)
	if err != nil {
		return err
	}
	if err := m.plane.InstallCRDs(ctx, all.crds...); err != nil {
		return err
	}
	for _, o := range all.rest {
		if o.GetKind() == "ServiceAccount" {
			continue // the manager has a certificate and needs no ServiceAccount, and the namespace may not exist
		}
		if err := m.admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

func (m *Manager) args() []string {
	return []string{
		"--kubeconfig=" + m.path("kubeconfig"),
		"--namespace=" + m.options.Namespace,
		fmt.Sprintf("--webhook-port=%d", m.port),
		"--webhook-cert-dir=" + m.path("serving"),
		"--health-addr=" + m.health,
		"--diagnostics-address=127.0.0.1:0",
		"--insecure-diagnostics",
		// Nothing here uses MachinePools, only Machines, their sets and their health checks.
		"--feature-gates=MachinePool=false",
		// No object is stored in an older version. And the migration would begin again at each start, because the webhook's address is then another.
		"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
	}
}

func (m *Manager) path(name string) string { return filepath.Join(m.plane.Dir(), Name, name) }

func (m *Manager) url(path *string) string {
	return fmt.Sprintf("https://127.0.0.1:%d%s", m.port, *path)
}

func (m *Manager) ca() []byte { return m.plane.Admin().CAData }

func (m *Manager) quietAdmin() *rest.Config {
	config := m.plane.Admin()
	config.WarningHandler = rest.NoWarnings{}
	return config
}
