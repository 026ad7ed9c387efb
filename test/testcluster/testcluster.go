// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/capimanager"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/simulation"
)

// Options are the options of a stage. The zero value is one for a test.
type Options struct {
	// Dir is the folder of the stage. It is kept, so that a second start goes on where the first one stopped; "" is a temporary folder.
	Dir string
	// Port is the API server's port; 0 is the last one used in Dir, or a free one.
	Port int
	// Platform is the cluster's platform, by the Infrastructure's name for it in upper or lower case; "" is AWS.
	Platform string
	// Out receives the progress, in lines. It may be nil.
	Out io.Writer
	// BootTime is how long a simulated instance takes to boot; 500 ms if 0.
	BootTime time.Duration
	// Bare leaves Poundlock out: the cluster is as it was before Poundlock.
	Bare bool
	// WithoutManager installs Poundlock and does not start it. StartManager starts it later.
	WithoutManager bool
	// WithoutClusterAPI leaves out Cluster API's and the provider's CRDs and objects, its manager, the simulation and the fleet. Such a cluster has Poundlock
	// first. InstallClusterAPI and UninstallClusterAPI change that later.
	WithoutClusterAPI bool
	// Install installs Cluster API and the platform's provider with `poundlock install`, from bundles that are made at the start. It includes Pods. The installer
	// and Cluster API's core manager run as their Deployments say. Nothing else runs: there is no fleet, and no process behind the Deployments and webhooks of the
	// infrastructure provider.
	Install bool
	// Pods runs the real controllers of Deployments, ReplicaSets and EndpointSlices, a stand-in kubelet that runs the pods of Cluster API's namespace as
	// processes, an API server that reaches Services, and the service CA. Programs has paths of Poundlock's binary, by the image for which the kubelet runs it.
	Pods     bool
	Programs map[string]string
	// RealMachineAPI runs OpenShift's own controllers of MachineSets and MachineHealthChecks, with their webhooks. They are built the first time, which takes
	// minutes.
	RealMachineAPI bool
	// ControlPlane is the number of Machines of a complete control plane, 3 or 5, with etcd. Poundlock then manages it. 0 leaves the control plane as the fleet
	// has it.
	ControlPlane int
	// Neighbours runs stand-ins for OpenShift's other components, which write to the Machine API's objects all the time.
	Neighbours bool
}

// Stage is everything that runs. Its fields are set once.
type Stage struct {
	Plane *embedded.Plane
	Cloud *Cloud
	// ClusterAPI is the real core manager of Cluster API.
	ClusterAPI *capimanager.Manager
	Pairs      authority.Pairs
	// Admin may do everything, and reads past any cache.
	Admin client.Client
	// Broken is closed when something ended although nobody stopped it. Cause then returns what.
	Broken chan struct{}

	options Options
	// kit is the platform's kit.
	kit conversiontest.Kit
	// played reports whether an earlier start made the fleet. People may have changed it since.
	played bool
	// endStandIn stops the stand-in for rollouts and the service CA; nil if there is none.
	endStandIn context.CancelFunc
	manager    managerPorts
	// members is how many members etcd is to have; 0 before the control plane is raised.
	members int
	// managesControlPlane: the manager runs with --control-plane.
	managesControlPlane bool
	breaks              sync.Once
	cause               error
	// outlives: if the manager ends by itself, its exit is sent to ends, and does not break the stage.
	outlives atomic.Bool
	ends     chan *embedded.ExitError
	// ungated: the Machine API's controllers run with the feature gate off.
	ungated bool
	real    realMachineAPI
	pods    pods
	// cloudAddress is the address of the simulated cloud, which stays the same while the stage exists.
	cloudAddress string
}

// The namespaces of the only pair.
const (
	machineAPI = "openshift-machine-api"
	clusterAPI = "openshift-cluster-api"
)

// task is a step of the start, with one line of progress.
type task struct {
	message string
	do      func(context.Context) error
}

// Set starts everything and returns when the fleet runs and is mirrored. ctx bounds only the start. If the start fails, nothing that it started is left.
func Set(ctx context.Context, o Options) (*Stage, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.BootTime == 0 {
		o.BootTime = 500 * time.Millisecond
	}
	if o.Platform == "" {
		o.Platform = "AWS"
	}
	o.Pods = o.Pods || o.Install
	kit, err := platformstest.Named(o.Platform)
	if err != nil {
		return nil, err
	}
	s := &Stage{
		options: o, kit: kit, Pairs: authority.Pairs{{MachineAPI: machineAPI, ClusterAPI: clusterAPI}},
		Broken: make(chan struct{}), ends: make(chan *embedded.ExitError, 1),
	}
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(err, s.Strike())
	}
	return s, nil
}

func (s *Stage) run(ctx context.Context) error {
	if err := s.raise(ctx); err != nil {
		return err
	}
	ctx, cancel := s.whileWhole(ctx)
	defer cancel()
	for _, step := range s.steps() {
		began := time.Now()
		fmt.Fprintf(s.options.Out, "%s\n", step.message)
		if err := step.do(ctx); err != nil {
			return s.because(err)
		}
		if took := time.Since(began); took > 2*time.Second {
			fmt.Fprintf(s.options.Out, "  took %.0f s\n", took.Seconds())
		}
	}
	return nil
}

func (s *Stage) steps() []task {
	own := []task{
		{"building Poundlock", s.buildManager},
		{"installing Poundlock: roles, policies and webhook configurations", s.install},
		{"starting Poundlock", func(ctx context.Context) error { return s.StartManager(ctx) }},
	}
	switch {
	case s.options.Bare:
		own = nil
	case s.options.WithoutManager:
		own = own[:2]
	}
	if s.options.Install {
		return append([]task{{"setting up a cluster without Cluster API on " + s.kit.Platform.Name, s.furnish}}, s.installerSteps()...)
	}
	var last []task
	if s.options.ControlPlane > 0 {
		last = []task{{"raising the control plane, with an operator of etcd that is simulated, and starting Poundlock anew to manage it", s.raiseControlPlane}}
	}
	if s.options.Neighbours {
		last = append(last, task{"starting the neighbours, which write to the Machine API's objects as OpenShift's components do", s.startNeighbours})
	}
	if s.options.WithoutClusterAPI {
		return slices.Concat([]task{{"setting up a cluster without Cluster API on " + s.kit.Platform.Name, s.furnish}}, own)
	}
	furnish := []task{{"setting up the cluster " + cluster + " on " + s.kit.Platform.Name, s.furnish}}
	if s.options.Pods {
		furnish = append(furnish, task{"starting a stand-in kubelet", s.startPods})
	}
	return slices.Concat(furnish, []task{
		{"starting Cluster API's core manager, the real one, with its webhooks", s.startClusterAPI},
	}, own, []task{
		{"starting the simulated cloud, and the controllers of both APIs that call it", s.startSimulation},
		{"creating the fleet: MachineSets worker-a and worker-b, and the Machine " + s.Alone(), s.createFleet},
		{"waiting for the Machines to run and to be mirrored", s.waitForFleet},
	}, last)
}

// raise starts the control plane, and from then on watches everything that runs.
func (s *Stage) raise(ctx context.Context) error {
	crds, err := embedded.CRDs(ctx, s.kit.Platform.Name)
	if err != nil {
		return err
	}
	if s.options.WithoutClusterAPI || s.options.Install {
		crds = slices.DeleteFunc(crds, ofClusterAPI)
	}
	o := embedded.Options{Dir: s.options.Dir, Out: s.options.Out, Port: s.options.Port, CRDs: crds, ControllerManager: true}
	if s.options.Pods {
		if err := s.lay(&o); err != nil {
			return err
		}
	}
	// These programs are needed next, and one processor is idle while the control plane is linked. A later build of one of them waits for this one, and reports
	// its error.
	go func() {
		if !s.options.WithoutClusterAPI {
			_, _ = build.ClusterAPI(ctx, io.Discard)
		}
		for _, program := range []string{ourManager, ourSimulation} {
			_ = build.Link(ctx, program, RaceDetector)
		}
	}()
	s.Plane, err = embedded.Start(ctx, o)
	if err != nil {
		return err
	}
	go s.watch()
	s.Admin, err = client.New(s.admin(), client.Options{Scheme: simulation.Scheme()})
	return err
}

func (s *Stage) admin() *rest.Config {
	config := s.Plane.Admin()
	config.WarningHandler = rest.NoWarnings{}
	return config
}

func (s *Stage) watch() {
	for exit := range s.Plane.Exited() {
		var part *embedded.ExitError
		if !errors.As(exit, &part) {
			s.broke(exit)
			return
		}
		switch {
		case s.options.Pods && s.pods.kubelet.Runs(part.Part): // a pod, which the kubelet restarts
		case part.Part == Poundlock && s.outlives.Load():
			select {
			case s.ends <- part:
			default: // the caller has not read the last exit
			}
		default:
			s.broke(exit)
			return
		}
	}
}

// Outlive makes the stage survive when the manager ends by itself, as the manager does in order to be restarted. The channel delivers how the manager ended,
// and the caller restarts it. Without Outlive such an end breaks the stage, so that a test fails at once.
func (s *Stage) Outlive() <-chan *embedded.ExitError {
	s.outlives.Store(true)
	return s.ends
}

func (s *Stage) broke(err error) {
	s.breaks.Do(func() {
		s.cause = err
		close(s.Broken)
	})
}

// Cause returns what ended; nil while Broken is open.
func (s *Stage) Cause() error {
	select {
	case <-s.Broken:
		return s.cause
	default:
		return nil
	}
}

// because returns the exit of a part, if one has ended, in the place of an error that followed from that.
func (s *Stage) because(err error) error {
	if cause := s.Cause(); cause != nil {
		return cause
	}
	return err
}

// whileWhole returns a context that ends as soon as something breaks.
func (s *Stage) whileWhole(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.Broken:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Strike ends everything. Only Dir is left, if one was named.
func (s *Stage) Strike() error {
	defer s.pods.end()
	if s.Plane == nil {
		return nil
	}
	if s.endStandIn != nil {
		s.endStandIn()
	}
	return s.Plane.Stop()
}
