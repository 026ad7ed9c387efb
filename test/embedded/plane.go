// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/build/filelock"
)

// Options are the options of a control plane. The zero value is one for a test: in a folder of its own that Stop removes, on free ports.
type Options struct {
	// Dir is the data folder. It is kept, so that a second start finds the same objects, authorities and kubeconfig. Empty means a temporary folder.
	Dir string
	// Out receives the progress of the build and the start, in lines. It may be nil.
	Out io.Writer
	// ControllerManager also runs kube-controller-manager: garbage collector, namespaces, service accounts, root CA.
	ControllerManager bool
	// Port is the API server's port; 0 means the one used last time in Dir, or a free one.
	Port int
	// CRDs are installed before the controller manager starts, which otherwise takes up to 30 s to see them.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// APIServerArgs and ControllerManagerArgs are added to the command lines. If a flag that takes one value is given twice, the later one applies.
	APIServerArgs, ControllerManagerArgs []string
}

// Plane is a running control plane. Its methods may be called from several goroutines.
type Plane struct {
	options Options
	dir     string
	bin     string
	lock    *filelock.Lock
	keys    *keyring
	ports   ports
	spawner *spawner
	exited  chan error

	mu      sync.Mutex
	running map[string]*process
	last    map[string]*ExitError // the exits of parts that ended by themselves and were not started again
	started bool
	stopped bool
}

// Start builds what is missing, starts the control plane and returns when its API server is ready (about 3 s once everything is built). ctx bounds only the
// start. The control plane lives until Stop, or until this process ends in whatever way.
func Start(ctx context.Context, o Options) (*Plane, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	bin, err := build.Plane(ctx, o.Out)
	if err != nil {
		return nil, err
	}
	p, err := open(o, bin)
	if err != nil {
		return nil, explain("starting a control plane", err, o.Dir)
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(explain("starting the control plane", err, p.dir), p.Stop())
	}
	return p, nil
}

// open locks the data folder, and prepares its keys and ports.
func open(o Options, bin string) (*Plane, error) {
	dir, err := folder(o.Dir)
	if err != nil {
		return nil, err
	}
	lock, err := filelock.Try(filepath.Join(dir, lockName))
	var held *filelock.HeldError
	if errors.As(err, &held) {
		return nil, fmt.Errorf("a control plane is already running, pid %d, folder %s: stop that one, or use another folder", held.PID, dir)
	}
	if err != nil {
		return nil, err
	}
	p := &Plane{options: o, dir: dir, bin: bin, lock: lock, spawner: newSpawner(), exited: make(chan error, 64), running: map[string]*process{},
		last: map[string]*ExitError{}}
	if err := p.furnish(); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func (p *Plane) furnish() error {
	var err error
	if p.keys, err = openKeyring(p.path("pki")); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(p.path("logs")), os.MkdirAll(p.path("logs"), 0o755)); err != nil {
		return err
	}
	p.ports, err = choosePorts(p.path("ports.json"), p.options.Port)
	return err
}

// Collecting makes the parts collect garbage less often than Go's default. Otherwise a fifth of what the API server computes is garbage collection. It takes up
// to 1 GB of memory for that. Attached programs get it, too (AttachWith), unless somebody measures their memory.
const Collecting = "GOGC=500"

// start runs the parts. If another program took one of the free ports meanwhile, it tries other ports.
func (p *Plane) start(ctx context.Context) error {
	began := time.Now()
	err := p.attempt(ctx)
	var exit *ExitError
	for tries := 0; tries < 3 && p.options.Port == 0 && errors.As(err, &exit) && exit.portTaken; tries++ {
		p.halt(0)
		if p.ports, err = freshPorts(); err == nil {
			err = errors.Join(p.ports.write(p.path("ports.json")), os.RemoveAll(p.path("logs")), os.MkdirAll(p.path("logs"), 0o755), p.attempt(ctx))
		}
	}
	if err == nil {
		p.reportExits()
		fmt.Fprintf(p.options.Out, "the control plane is ready after %.1f s: https://127.0.0.1:%d, folder %s\n", time.Since(began).Seconds(), p.ports.API, p.dir)
	}
	return err
}

// reportExits has the exits of parts reported from now on.
func (p *Plane) reportExits() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = true
}

func (p *Plane) attempt(ctx context.Context) error {
	if err := p.writeKubeconfigs(); err != nil {
		return err
	}
	// Both start at once, because the API server waits for etcd by itself.
	if err := errors.Join(p.run(build.Etcd), p.run(build.APIServer)); err != nil {
		return err
	}
	if err := p.ready(ctx, build.APIServer); err != nil {
		return err
	}
	if err := p.InstallCRDs(ctx, p.options.CRDs...); err != nil || !p.options.ControllerManager {
		return err
	}
	return p.StartPart(ctx, build.ControllerManager)
}

func (p *Plane) writeKubeconfigs() error {
	return errors.Join(
		p.Kubeconfig(p.config(p.keys.manager), p.path("controller-manager.kubeconfig")),
		p.Kubeconfig(p.Admin(), p.KubeconfigPath()),
	)
}

func (p *Plane) path(name string) string { return filepath.Join(p.dir, name) }

// Dir returns the data folder. Its logs are in Dir/logs/PART.log.
func (p *Plane) Dir() string { return p.dir }

// KubeconfigPath returns the path of Admin's kubeconfig.
func (p *Plane) KubeconfigPath() string { return p.path("kubeconfig") }

// Kubectl returns the path of a kubectl of the control plane's version.
func (p *Plane) Kubectl() string { return filepath.Join(p.bin, build.Kubectl) }

// Log returns the path of a part's log.
func (p *Plane) Log(part string) string { return filepath.Join(p.dir, "logs", part+".log") }

// Exited delivers an *ExitError for each part that ends although nobody stopped it. Stop closes it.
func (p *Plane) Exited() <-chan error { return p.exited }

// PID returns the process id of a part, 0 if the part does not run.
func (p *Plane) PID(part string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if child := p.running[part]; child != nil {
		return child.cmd.Process.Pid
	}
	return 0
}

// StartPart starts a part and waits until it is ready: a part that was stopped or died, or the controller manager if Options left it out.
func (p *Plane) StartPart(ctx context.Context, part string) error {
	if err := p.run(part); err != nil {
		return err
	}
	return p.ready(ctx, part)
}

// StopPart kills one part (SIGKILL), and no other. Exited does not report that.
func (p *Plane) StopPart(part string) error { return p.EndPart(part, 0) }

// EndPart stops one part by SIGTERM, and kills it if it has not ended within patience. It returns when the part has ended.
func (p *Plane) EndPart(part string, patience time.Duration) error {
	p.mu.Lock()
	child := p.running[part]
	delete(p.running, part)
	p.mu.Unlock()
	if child == nil {
		return fmt.Errorf("stopping %s: it does not run", part)
	}
	child.stop(patience)
	return nil
}

// died reports that a part ended by itself, and forgets its process, so that StartPart can start the part again.
func (p *Plane) died(exit *ExitError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, exit.Part)
	p.last[exit.Part] = exit
	if p.stopped || !p.started {
		return // Start reports it, or nobody waits for it
	}
	select {
	case p.exited <- exit:
	default: // nobody has read the last 64 exits
	}
}

// Stop ends every child, releases the folder and removes it if it is temporary. A second call does nothing.
func (p *Plane) Stop() error {
	p.mu.Lock()
	if p.stopped {
		p.mu.Unlock()
		return nil
	}
	p.stopped = true
	p.mu.Unlock()

	patience := 10 * time.Second
	if p.temporary() {
		patience = 0 // what the parts would write at an orderly end is removed with the folder
	}
	p.halt(patience)
	p.spawner.close()
	close(p.exited)
	return errors.Join(p.discard(), p.lock.Release())
}

// halt stops each part before the parts that it needs.
func (p *Plane) halt(patience time.Duration) {
	if p.PID(build.Etcd) == 0 {
		patience = 0 // without etcd, nothing ends in order
	}
	for _, part := range append(p.attached(), build.ControllerManager, build.APIServer, build.Etcd) {
		p.mu.Lock()
		child := p.running[part]
		delete(p.running, part)
		p.mu.Unlock()
		if child != nil {
			child.stop(patience)
		}
	}
}

// attached returns the names of the programs that run beside the parts.
func (p *Plane) attached() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.running)) {
		if !slices.Contains(build.Parts(), name) {
			names = append(names, name)
		}
	}
	return names
}

// explain adds to an error of the operating system what a person can do about it.
func explain(doing string, err error, dir string) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%s: the disk of %s is full: free some space and start again: %w", doing, dir, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
