// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/simulation"
)

// CloudProcess is the name of the simulated cloud's process and of its log. The processes of the controllers that call the cloud are named after the
// simulation's sides.
const CloudProcess = "cloud"

// Cloud is the simulated cloud, in a process of its own. Every story ends with Audit, which also reports a cloud that could not be read.
type Cloud struct {
	// Panel has all the cloud's methods.
	Panel *machinetest.Client

	mu     sync.Mutex
	unread []error
}

// URL returns the address at which a person can look at the cloud.
func (c *Cloud) URL() string { return c.Panel.URL() }

// Instances returns every instance that ever existed, also those that were terminated, in the order of their launch.
func (c *Cloud) Instances() []machinetest.Instance { return read(c, c.Panel.Instances) }

// InstancesOf returns every instance that was ever made for a Machine.
func (c *Cloud) InstancesOf(machine string) []machinetest.Instance {
	return slices.DeleteFunc(c.Instances(), func(i machinetest.Instance) bool { return i.Machine.Name != machine })
}

// Ledger returns the calls that the cloud has kept, oldest first.
func (c *Cloud) Ledger() []machinetest.Call { return read(c, c.Panel.Ledger) }

// Audit returns an error that lists everything that should not have happened, nil if there is nothing.
func (c *Cloud) Audit() error {
	ctx, cancel := soon()
	defer cancel()
	err := c.Panel.Audit(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(append(c.unread, err)...)
}

// Inject makes some calls of the cloud fail.
func (c *Cloud) Inject(faults ...machinetest.Fault) error {
	ctx, cancel := soon()
	defer cancel()
	return c.Panel.Inject(ctx, faults...)
}

// Heal removes all faults.
func (c *Cloud) Heal() error {
	ctx, cancel := soon()
	defer cancel()
	return c.Panel.Heal(ctx)
}

// Act changes an instance without a controller, as a person at the cloud's console would.
func (c *Cloud) Act(id string, act machinetest.Act) error {
	ctx, cancel := soon()
	defer cancel()
	return c.Panel.Act(ctx, id, act)
}

// Configure changes the cloud's settings.
func (c *Cloud) Configure(change func(*machinetest.Settings)) error {
	ctx, cancel := soon()
	defer cancel()
	settings, err := c.Panel.Settings(ctx)
	if err != nil {
		return err
	}
	change(&settings)
	return c.Panel.Configure(ctx, settings)
}

func read[V any](c *Cloud, get func(context.Context) (V, error)) V {
	ctx, cancel := soon()
	defer cancel()
	v, err := get(ctx)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unread = append(c.unread, err)
	}
	return v
}

// soon returns a context with a timeout that is longer than anything on loopback takes.
func soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Second)
}

// startSimulation starts the cloud, and the controllers that call it.
func (s *Stage) startSimulation(ctx context.Context) error {
	ctrl.SetLogger(logr.Discard()) // otherwise libraries that have no logger print a complaint to the terminal
	if err := s.buildSimulation(ctx); err != nil {
		return err
	}
	ports, err := embedded.FreePorts(1)
	if err != nil {
		return err
	}
	s.cloudAddress = local(ports[0])
	s.Cloud = &Cloud{Panel: machinetest.Dial(s.cloudAddress)}
	if err := s.StartCloud(ctx); err != nil {
		return err
	}
	return s.thaw()
}

func (s *Stage) simulationBinary() string { return filepath.Join(s.Plane.Dir(), "bin", "simulation") }

func (s *Stage) buildSimulation(ctx context.Context) error {
	return build.Own(ctx, ourSimulation, s.simulationBinary(), RaceDetector)
}

// attach starts one process of the simulation.
func (s *Stage) attach(name string, args ...string) error {
	return s.Plane.AttachWith([]string{embedded.Collecting}, name, s.simulationBinary(), append([]string{
		name, "--platform=" + s.kit.Platform.Name, "--kubeconfig=" + s.Plane.KubeconfigPath(), fmt.Sprintf("--parent=%d", os.Getpid()),
	}, args...)...)
}

// StopCloud kills the cloud, as a crash would. Calls fail until StartCloud.
func (s *Stage) StopCloud() error { return s.Plane.StopPart(CloudProcess) }

// StartCloud starts the cloud, at first and after StopCloud. It has the same address, instances and ledger as before. StartCloud returns when the cloud
// answers.
func (s *Stage) StartCloud(ctx context.Context) error {
	args := []string{"--address=" + s.cloudAddress, "--boot-time=" + s.options.BootTime.String(), "--file=" + filepath.Join(s.Plane.Dir(), "cloud.json")}
	if err := s.attach(CloudProcess, args...); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := s.Cloud.Panel.Settings(ctx)
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("starting the simulated cloud: %w; the end of its log, %s:\n%s", err, s.Plane.Log(CloudProcess), end(s.Plane.Log(CloudProcess)))
	}
	return nil
}

// Thaw starts the controllers that call the cloud again after Freeze: the Machine API's, and those of Cluster API's infrastructure.
func (s *Stage) Thaw() {
	if err := s.thaw(); err != nil {
		s.broke(err)
	}
}

func (s *Stage) thaw() error {
	for _, side := range simulation.Sides() {
		if err := s.StartSide(side); err != nil {
			return err
		}
	}
	return nil
}

// Freeze stops the controllers that call the cloud. Then nobody acknowledges a pause of the Machine API's objects or of infrastructure. Cluster API's core
// manager goes on, because every write needs its webhooks.
func (s *Stage) Freeze() {
	for _, side := range simulation.Sides() {
		if err := s.StopSide(side); err != nil {
			s.broke(err)
		}
	}
}

// StopSide kills one side's controllers, as a crash would.
func (s *Stage) StopSide(side simulation.Side) error {
	return errors.Join(s.Plane.StopPart(string(side)), s.stopReal(side))
}

// Gate restarts the Machine API's controllers with the feature gate MachineAPIMigration on, as it is at first, or off.
func (s *Stage) Gate(on bool) error {
	s.ungated = !on
	return errors.Join(s.StopSide(simulation.MachineAPI), s.StartSide(simulation.MachineAPI))
}

// StartSide starts a side's controllers again after StopSide.
func (s *Stage) StartSide(side simulation.Side) error {
	args := []string{"--cloud=" + s.cloudAddress}
	if s.options.RealMachineAPI && side == simulation.MachineAPI {
		args = append(args, "--machines-only")
	}
	if s.ungated && side == simulation.MachineAPI {
		args = append(args, "--ungated")
	}
	return errors.Join(s.attach(string(side), args...), s.startReal(side))
}
