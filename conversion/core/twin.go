// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/machineapi"
)

// Twin is the Cluster API side of one Machine API object. Core is the core object. Infra is the object to which the core object refers: the infrastructure
// machine or, for a MachineSet, the infrastructure machine template. Infra is nil for a kind without such a reference.
type Twin struct{ Core, Infra *unstructured.Unstructured }

// kind has the functions that convert one kind, such as MachineSet.
type kind struct {
	name         string
	toClusterAPI func(p *conversion.Pass, raw []byte) twin
	toMachineAPI func(p *conversion.Pass, raw, infra []byte) object
	// statusTo and statusFrom convert status; infra is nil for a kind whose infrastructure object has no status.
	statusTo   func(mapi *unstructured.Unstructured, env *conversion.Env) (core, infra map[string]any)
	statusFrom func(t Twin, env *conversion.Env) map[string]any
	// machineSpec is the path of a machine's spec in an object of this kind. The path is the same in the kind's infrastructure object.
	machineSpec []string
	// infra returns the kind of the infrastructure object on a platform. nil: this kind refers to no infrastructure object and has no fields that differ by
	// platform.
	infra func(conversion.Platform) conversion.Resource
}

func kinds() []kind {
	return []kind{
		{
			name: "Machine", toClusterAPI: machineToClusterAPI, toMachineAPI: machineToMachineAPI,
			statusTo: machineStatusTo, statusFrom: machineStatusFrom,
			machineSpec: []string{"spec"},
			infra:       func(p conversion.Platform) conversion.Resource { return p.InfraMachine },
		},
		{
			name: "MachineSet", toClusterAPI: setToClusterAPI, toMachineAPI: setToMachineAPI,
			statusTo: setStatusTo, statusFrom: setStatusFrom,
			machineSpec: []string{"spec", "template", "spec"},
			infra:       func(p conversion.Platform) conversion.Resource { return p.InfraMachineTemplate },
		},
		{
			name: "MachineHealthCheck", toClusterAPI: checkToClusterAPI, toMachineAPI: checkToMachineAPI,
			statusTo: checkStatusTo, statusFrom: checkStatusFrom,
		},
	}
}

func kindNamed(name string) (kind, bool) {
	for _, k := range kinds() {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

func kindNames() []string {
	var out []string
	for _, k := range kinds() {
		out = append(out, k.name)
	}
	return out
}

// object is the result of a conversion for one object, before it is encoded to JSON.
type object struct {
	metadata metadata
	spec     any
	// provider is the typed providerSpec. Only a Machine API object has one.
	provider any
}

// twin is the result of a conversion to Cluster API, before it is encoded to JSON.
type twin struct {
	core      object
	infraName string
	infra     any
}

// ToClusterAPI converts a Machine API object ("Machine", "MachineSet" or "MachineHealthCheck") into its twin: the core object and the core object's
// infrastructure object, each with name, namespace, labels, annotations and spec. If there are errors, the twin is empty. Each error names a field of the
// Machine API object by the field's full path.
func ToClusterAPI(kindName string, mapi *unstructured.Unstructured, env conversion.Env) (Twin, field.ErrorList) {
	raw, err := json.Marshal(mapi.Object)
	if err != nil {
		return Twin{}, field.ErrorList{field.InternalError(nil, err)}
	}
	k, t, errs := toClusterAPI(kindName, raw, &env)
	if len(errs) > 0 {
		return Twin{}, errs
	}
	out, err := t.encode(k, &env)
	if err != nil {
		return Twin{}, field.ErrorList{field.InternalError(nil, err)}
	}
	return out, nil
}

// Check returns the errors that ToClusterAPI would return for the JSON of a Machine API object. It does not build the twin.
func Check(kindName string, raw []byte, env conversion.Env) field.ErrorList {
	_, _, errs := toClusterAPI(kindName, raw, &env)
	return errs
}

// Notes returns notes about the values of a Machine API object that ToClusterAPI leaves out, because the Machine API ignores them. raw is the object's JSON.
func Notes(kindName string, raw []byte, env conversion.Env) []conversion.Note {
	k, p, errs := begin(kindName, &env)
	if errs != nil {
		return nil
	}
	p.CollectNotes()
	k.toClusterAPI(p, raw)
	return p.Notes()
}

// CheckTwin returns the errors that ToMachineAPI would return for the JSON of a core object and of its infrastructure object. infra is nil if the latter does
// not exist.
func CheckTwin(kindName string, core, infra []byte, env conversion.Env) field.ErrorList {
	_, _, errs := toMachineAPI(kindName, core, infra, &env)
	return errs
}

// StandIn returns the provider's object (in JSON) into which a Machine API object converts. The result can stand in for a provider's object that was deleted.
// It is nil if the Machine API object does not convert, or if its kind has no provider's object.
func StandIn(kindName string, mapi []byte, env conversion.Env) []byte {
	k, t, errs := toClusterAPI(kindName, mapi, &env)
	if len(errs) > 0 {
		return nil
	}
	out, err := t.encode(k, &env)
	if err != nil || out.Infra == nil {
		return nil
	}
	raw, err := json.Marshal(out.Infra.Object)
	if err != nil {
		return nil
	}
	return raw
}

func toClusterAPI(kindName string, raw []byte, env *conversion.Env) (kind, twin, field.ErrorList) {
	k, p, errs := begin(kindName, env)
	if errs != nil {
		return k, twin{}, errs
	}
	t := k.toClusterAPI(p, raw)
	return k, t, p.Errors()
}

// ToMachineAPI converts the Cluster API side into the Machine API object, with name, namespace, labels, annotations and spec. If there are errors, the object
// is nil. An error names a field of the core object by the full path, and a field of the infrastructure object by its kind and path, such as
// AWSMachine.spec.ami.id.
func ToMachineAPI(kindName string, t Twin, env conversion.Env) (*unstructured.Unstructured, field.ErrorList) {
	core, infra, err := t.raw()
	if err != nil {
		return nil, field.ErrorList{field.InternalError(nil, err)}
	}
	k, o, errs := toMachineAPI(kindName, core, infra, &env)
	if len(errs) > 0 {
		return nil, errs
	}
	out, err := o.encode(machinev1beta1.GroupVersion.String(), kindName, env.MachineAPINamespace)
	if err == nil && k.infra != nil {
		err = o.encodeProvider(k, out)
	}
	if err != nil {
		return nil, field.ErrorList{field.InternalError(nil, err)}
	}
	return out, nil
}

// encodeProvider encodes o's providerSpec and puts it into out, which is o encoded as an object of kind k, but without the providerSpec.
func (o object) encodeProvider(k kind, out *unstructured.Unstructured) error {
	value, err := conversion.EncodeProviderSpec(o.provider)
	if err != nil {
		return err
	}
	// A parent may be absent and is then created: empty values are not encoded, and a template may have nothing but a providerSpec.
	machine := out.Object
	for _, name := range k.machineSpec {
		next, ok := machine[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			machine[name] = next
		}
		machine = next
	}
	machine["providerSpec"] = map[string]any{"value": value}
	return nil
}

// named reports whether users choose the names of the members of a field, such as labels.
func named(field string) bool {
	return field == "labels" || field == "annotations" || field == "matchLabels"
}

func (t Twin) raw() (core, infra []byte, err error) {
	if core, err = json.Marshal(t.Core.Object); err != nil || t.Infra == nil {
		return core, nil, err
	}
	infra, err = json.Marshal(t.Infra.Object)
	return core, infra, err
}

func toMachineAPI(kindName string, core, infra []byte, env *conversion.Env) (kind, object, field.ErrorList) {
	k, p, errs := begin(kindName, env)
	if errs != nil {
		return k, object{}, errs
	}
	o := k.toMachineAPI(p, core, infra)
	return k, o, p.Errors()
}

func begin(kindName string, env *conversion.Env) (kind, *conversion.Pass, field.ErrorList) {
	k, ok := kindNamed(kindName)
	if !ok {
		return k, nil, field.ErrorList{field.NotSupported(field.NewPath("kind"), kindName, kindNames())}
	}
	if errs := unknown(k, env); errs != nil {
		return k, nil, errs
	}
	return k, conversion.NewPass(env, &conversion.Core{}, ""), nil
}

// unknown returns an error if env lacks a value that every conversion of the kind needs. That is the cluster's name and, for a kind with fields that differ
// by platform, the platform.
func unknown(k kind, env *conversion.Env) field.ErrorList {
	status := field.NewPath("Infrastructure", "status")
	if k.infra != nil && env.Platform.Spec == nil {
		return field.ErrorList{field.Required(status.Child("platformStatus", "type"),
			"Infrastructure cluster names no platform that this version of Poundlock can convert")}
	}
	if env.ClusterName == "" {
		return field.ErrorList{field.Required(status.Child("infrastructureName"),
			"Infrastructure cluster does not have the cluster's name: set status.infrastructureName")}
	}
	return nil
}

func (t twin) encode(k kind, env *conversion.Env) (Twin, error) {
	if k.infra == nil {
		core, err := t.core.encode(clusterv1.GroupVersion.String(), k.name, env.ClusterAPINamespace)
		return Twin{Core: core}, err
	}
	spec, err := conversion.Encode(t.infra)
	if err != nil {
		return Twin{}, err
	}
	gvk := k.infra(env.Platform)
	if t.infraName == "" {
		t.infraName = TemplateName(t.core.metadata.Name, spec)
	}
	point(t.core.spec, gvk, t.infraName)
	core, err := t.core.encode(clusterv1.GroupVersion.String(), k.name, env.ClusterAPINamespace)
	if err != nil {
		return Twin{}, err
	}
	infra := &unstructured.Unstructured{Object: map[string]any{}}
	infra.SetGroupVersionKind(gvk.GroupVersionKind)
	infra.SetName(t.infraName)
	infra.SetNamespace(env.ClusterAPINamespace)
	infra.SetLabels(infraLabels(k, t.core, env))
	infra.Object["spec"] = nest(spec, k.machineSpec[1:]...)
	return Twin{Core: core, Infra: infra}, nil
}

// point sets the core object's reference to its infrastructure object.
func point(spec any, to conversion.Resource, name string) {
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: to.Group, Kind: to.Kind, Name: name}
	switch s := spec.(type) {
	case *clusterv1.MachineSpec:
		s.InfrastructureRef = ref
	case *clusterv1.MachineSetSpec:
		s.Template.Spec.InfrastructureRef = ref
	}
}

func nest(content map[string]any, fields ...string) map[string]any {
	for _, f := range slices.Backward(fields) {
		content = map[string]any{f: content}
	}
	return content
}

// infraLabels returns the labels for an infrastructure object. An infrastructure machine gets its Machine's labels, as Cluster API does when it creates one.
// A template gets the labels for the cluster's name and for the MachineSet's name.
func infraLabels(k kind, core object, env *conversion.Env) map[string]string {
	if k.name == "Machine" {
		return core.metadata.Labels
	}
	return map[string]string{clusterv1.ClusterNameLabel: env.ClusterName, machineapi.MachineSetLabel: SetLabel(core.metadata.Name)}
}

func (o object) encode(apiVersion, kindName, namespace string) (*unstructured.Unstructured, error) {
	spec, err := conversion.Encode(o.spec)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	out.SetAPIVersion(apiVersion)
	out.SetKind(kindName)
	out.SetName(o.metadata.Name)
	out.SetNamespace(namespace)
	out.SetLabels(o.metadata.Labels)
	out.SetAnnotations(o.metadata.Annotations)
	return out, nil
}
