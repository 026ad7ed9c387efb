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

// Options of a stage. The zero value is one for a test.
type Options struct {
	// Dir keeps everything, so that a second start goes on where the first one stopped; "" is a temporary folder.
	Dir string
	// Port is the API server's; 0 is the last one used in Dir, or a free one.
	Port int
	// Platform is what the cluster runs on, by the Infrastructure's name for it in whatever case; "" is AWS.
	Platform string
	// Out gets the progress, in lines. It may be nil.
	Out io.Writer
	// BootTime is how long a simulated instance takes to boot; 500 ms if 0.
	BootTime time.Duration
	// Bare leaves Poundlock out: a cluster as it was before.
	Bare bool
	// WithoutManager installs Poundlock and does not start it; StartManager does.
	WithoutManager bool
	// WithoutClusterAPI leaves out Cluster API's and the provider's CRDs and objects, its manager, the simulation and the fleet: a cluster that installs Poundlock
	// first. InstallClusterAPI and UninstallClusterAPI follow.
	WithoutClusterAPI bool
	// Install brings Cluster API and the platform's provider through `poundlock install`, from bundles that are made at the start, with Pods.
	// The installer and Cluster API's core manager run as their Deployments say. There is nothing else: no fleet, and no process behind the
	// infrastructure provider's Deployments and webhooks.
	Install bool
	// Pods has the real controllers of Deployments, ReplicaSets and EndpointSlices, a stand-in kubelet that runs the pods of Cluster API's
	// namespace as processes, an API server that reaches Services, and the service CA. Programs are paths of Poundlock's binary, by the image
	// that the kubelet runs it for.
	Pods     bool
	Programs map[string]string
	// RealMachineAPI has OpenShift's own controllers see to MachineSets and MachineHealthChecks, with their webhooks. They are built at the
	// first time, which takes minutes.
	RealMachineAPI bool
	// ControlPlane is how many Machines the control plane has, if it is to be a whole one, with etcd, and managed: 3 or 5. 0 leaves it at what the fleet has.
	ControlPlane int
	// Neighbours has stand-ins for OpenShift's other components write to the Machine API's objects, all the time.
	Neighbours bool
}

// Stage is everything that runs. Its fields are set once.
type Stage struct {
	Plane *embedded.Plane
	Cloud *Cloud
	// ClusterAPI is Cluster API's core manager, the real one.
	ClusterAPI *capimanager.Manager
	Pairs      authority.Pairs
	// Admin may do everything, and reads from the server.
	Admin client.Client
	// Broken is closed when something ended that nobody stopped; then Cause returns what.
	Broken chan struct{}

	options Options
	// kit is of the platform.
	kit conversiontest.Kit
	// played reports that the fleet was made by an earlier start, and may have been changed since.
	played bool
	// endStandIn stops what plays rollouts and the service CA; nil where nothing does.
	endStandIn context.CancelFunc
	manager    managerPorts
	// members is how many etcd is to have; 0 before the control plane is raised.
	members int
	// managesControlPlane: the manager runs with --control-plane.
	managesControlPlane bool
	breaks              sync.Once
	cause               error
	// outlives: how the manager ended goes to ends, and breaks nothing.
	outlives atomic.Bool
	ends     chan *embedded.ExitError
	// ungated: the Machine API's controllers run with the feature gate off.
	ungated bool
	real    realMachineAPI
	pods    pods
	// cloudAddress is the simulated cloud's, for as long as the stage stands.
	cloudAddress string
}

// The namespaces of the one pair.
const (
	machineAPI = "openshift-machine-api"
	clusterAPI = "openshift-cluster-api"
)

// task is one line of progress.
type task struct {
	message string
	do      func(context.Context) error
}

// Set starts everything and returns when the fleet runs and is mirrored. ctx bounds the start alone. What it started is
// gone when it fails.
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

// raise starts the control plane, and watches over all that runs from then on.
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
	// They are needed next. While the control plane is linked, a processor is idle. Who asks for one of them later waits for this, and has its error.
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
		case s.options.Pods && s.pods.kubelet.Runs(part.Part): // a pod, which the kubelet starts again
		case part.Part == Poundlock && s.outlives.Load():
			select {
			case s.ends <- part:
			default: // the caller has not read the last one
			}
		default:
			s.broke(exit)
			return
		}
	}
}

// Outlive keeps the stage up from now on when the manager ends by itself, as it does in order to be restarted. The channel delivers how it ended, and the
// caller restarts it. Without Outlive that breaks the stage, so that a test fails at once.
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

// Cause reports what ended; nil while Broken is open.
func (s *Stage) Cause() error {
	select {
	case <-s.Broken:
		return s.cause
	default:
		return nil
	}
}

// because prefers the death of a part to what followed from it.
func (s *Stage) because(err error) error {
	if cause := s.Cause(); cause != nil {
		return cause
	}
	return err
}

// whileWhole ends a wait as soon as something breaks.
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

// Strike ends everything; nothing is left but Dir, if one was named.
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
