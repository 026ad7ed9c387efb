// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/controlplanetemplate"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

// infrastructure names the object in which OpenShift describes the cluster's platform.
var infrastructure = Ref{GroupVersionKind: configv1.GroupVersion.WithKind("Infrastructure"), Name: "cluster"}

// conversions tries to convert authoritative objects into their counterparts, for warnings.
type conversions struct {
	cached    Reader
	envs      envs
	platforms []conversion.Platform
}

// Unconvertible converts from the authoritative API to the other one, whichever side is under review, and returns what cannot be converted. It does not convert
// an object that exists only in Cluster API.
func (v conversions) Unconvertible(ctx context.Context, c policies.Change) (field.ErrorList, error) {
	if c.Side == policies.SideClusterAPI && c.Facts.Twin == nil {
		return nil, nil
	}
	switch {
	case c.Kind == controlplane.Kind:
		return v.reflected(ctx, c)
	case c.Side == policies.SideInfrastructure:
		return v.provided(ctx, c)
	}
	mapi, capi := c.New, c.Facts.Twin
	if c.Side == policies.SideClusterAPI {
		mapi, capi = capi, mapi
	}
	switch {
	case c.Subresource == "": // the review has the object itself
	case c.Side == policies.SideMachineAPI:
		mapi = c.Facts.Stored
	default:
		capi = c.Facts.Stored
	}
	stored := mapi // the stored object decides which API is authoritative, and not the requested object
	if c.Side == policies.SideMachineAPI && c.Old != nil && c.Subresource == "" {
		stored = c.Old
	}
	env, err := v.envs.of(ctx, pairOf(c), c.Kind)
	if platform := unsupported(""); errors.As(err, &platform) {
		return field.ErrorList{platform.whole()}, nil
	}
	if err != nil {
		return nil, err
	}
	// An object that is created without a counterpart is the source of its counterpart, whichever API will be authoritative.
	if c.Operation == admissionv1.Create && capi == nil || authority.Authoritative(authority.Read(stored)) == authority.MachineAPI {
		return core.Check(c.Kind, mapi.Raw(), env), nil
	}
	if capi == nil {
		return nil, fmt.Errorf("there is no Cluster API %s with the name of this object", c.Kind)
	}
	if without := lacksInfraCluster(c.Kind, env); len(without) > 0 {
		return without, nil
	}
	ref, refers := infraRef(capi, c.Kind, v.platforms)
	infra, err := v.infraJSON(ctx, ref, refers)
	if err != nil {
		return nil, err
	}
	if infra == nil && c.Side == policies.SideMachineAPI && authority.TakesOver(c) { // the mirror continues with the object that it last made
		infra = core.StandIn(c.Kind, mapi.Raw(), env)
	}
	errs := core.CheckTwin(c.Kind, capi.Raw(), infra, env)
	if infra == nil && refers {
		kind, _ := authority.KindNamed(c.Kind)
		kind.ReportNoInfra(errs, fmt.Sprintf("%s %s/%s", ref.Kind, ref.Namespace, ref.Name), mapi, capi)
	}
	return errs, nil
}

// provided tries to convert an infrastructure machine or template that is in use to Machine API. It converts nothing if the Cluster API object with the
// counterpart's name does not refer to the object under review.
func (v conversions) provided(ctx context.Context, c policies.Change) (field.ErrorList, error) {
	i := slices.IndexFunc(authority.Kinds(), func(k authority.Kind) bool { return k.Infra == c.Kind })
	if i < 0 || c.Facts.Twin == nil || c.Facts.Twin.Kind == controlplane.Kind {
		return nil, nil
	}
	kind := authority.Kinds()[i].Name
	capi, err := v.cached.Get(ctx, Ref{GroupVersionKind: coreKind(policies.SideClusterAPI, kind), Namespace: c.Namespace, Name: c.Facts.Twin.Metadata.Name})
	if err != nil || capi == nil {
		return nil, err
	}
	ref, ok := infraRef(capi, kind, v.platforms)
	if !ok || ref.Name != c.Name {
		return nil, nil
	}
	if is := c.New.APIVersion; is != "" && is != ref.GroupVersion().String() {
		return nil, fmt.Errorf("the request is in %s, and Poundlock reads only %s: send the request in this version", is, ref.GroupVersion())
	}
	env, err := v.envs.of(ctx, pairOf(c), kind)
	if platform := unsupported(""); errors.As(err, &platform) {
		return field.ErrorList{platform.whole()}, nil
	}
	if err != nil {
		return nil, err
	}
	if without := lacksInfraCluster(kind, env); len(without) > 0 {
		return without, nil
	}
	errs := core.CheckTwin(kind, capi.Raw(), c.New.Raw(), env)
	if c.Old != nil {
		conversion.WithoutReplacement(errs, c.Old.Spec, c.New.Spec)
	}
	return errs, nil
}

// Mirrored returns the Machine API Machine that results from converting the authoritative Cluster API Machine and its provider's machine. One of these two is
// under review. It returns nil if they cannot be converted.
func (v conversions) Mirrored(ctx context.Context, c policies.Change) (*machinev1beta1.Machine, error) {
	const kind = "Machine"
	capi, infra := c.New, c.New.Raw()
	var err error
	if c.Side == policies.SideInfrastructure {
		capi, err = v.cached.Get(ctx, Ref{GroupVersionKind: coreKind(policies.SideClusterAPI, kind), Namespace: c.Namespace, Name: c.Facts.Twin.Metadata.Name})
	}
	if err != nil || capi == nil {
		return nil, err
	}
	ref, refers := infraRef(capi, kind, v.platforms)
	switch {
	case c.Side == policies.SideClusterAPI:
		infra, err = v.infraJSON(ctx, ref, refers)
	case !refers || ref.Name != c.Name:
		return nil, nil
	}
	if err != nil || infra == nil {
		return nil, err
	}
	env, err := v.envs.of(ctx, pairOf(c), kind)
	if err != nil || env.InfraCluster == nil {
		return nil, err
	}
	var has, machine, provided unstructured.Unstructured
	for into, raw := range map[*unstructured.Unstructured][]byte{&has: c.Facts.Twin.Raw(), &machine: capi.Raw(), &provided: infra} {
		if err := json.Unmarshal(raw, &into.Object); err != nil {
			return nil, fmt.Errorf("reading the Machine: %w", err)
		}
	}
	want, errs := core.ToMachineAPI(kind, core.Twin{Core: &machine, Infra: &provided}, env)
	if len(errs) > 0 {
		return nil, nil // another rule warns about this
	}
	core.KeepSpelling(kind, &has, want, env)
	has.Object["spec"] = want.Object["spec"]
	out := &machinev1beta1.Machine{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(has.Object, out); err != nil {
		return nil, fmt.Errorf("reading the Machine: %w", err)
	}
	return out, nil
}

// reflected tries the conversion from which Poundlock makes Cluster API's side of a ControlPlaneMachineSet.
func (v conversions) reflected(ctx context.Context, c policies.Change) (field.ErrorList, error) {
	ctx, cancel := context.WithTimeout(ctx, v.envs.timeout)
	defer cancel()
	set, err := admission.Read(c.New)
	if err != nil {
		return nil, err
	}
	get := facts.Getter(ctx, v.envs.cache)
	env, missing, err := v.envs.environment.Read(ctx, get, pairOf(c), true)
	if err == nil && missing == (conversion.Missing{}) {
		missing, err = environment.NeedInfraCluster(get, &env, controlplanetemplate.Purpose)
	}
	if err != nil {
		return nil, err
	}
	if missing != (conversion.Missing{}) {
		return field.ErrorList{{Type: field.ErrorTypeNotSupported, BadValue: missing.Reason, Detail: missing.Message}}, nil
	}
	_, errs := controlplanetemplate.Reflect(set, env)
	return errs, nil
}

func (v conversions) infraJSON(ctx context.Context, ref Ref, refers bool) ([]byte, error) {
	if !refers {
		return nil, nil
	}
	infra, err := v.cached.Get(ctx, ref)
	if err != nil || infra == nil {
		return nil, err
	}
	return infra.Raw(), nil
}

func pairOf(c policies.Change) authority.Pair {
	if c.Side == policies.SideMachineAPI {
		return authority.Pair{MachineAPI: c.Namespace, ClusterAPI: c.TwinNamespace}
	}
	return authority.Pair{MachineAPI: c.TwinNamespace, ClusterAPI: c.Namespace}
}

// envs reads what conversions need to know about the cluster. This takes two lookups by name in a cache.
type envs struct {
	cache       client.Reader
	timeout     time.Duration
	environment facts.Environment
}

// of returns what a conversion of a kind between the namespaces of a pair needs to know about the cluster. For a kind without an infrastructure object, this is
// only the cluster's name. A missing infrastructure cluster object is no error, because the mirror reports it and the rest of an object is still converted.
func (e envs) of(ctx context.Context, pair authority.Pair, kind string) (conversion.Env, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	row, _ := authority.KindNamed(kind)
	get := facts.Getter(ctx, uncopying{e.cache})
	env, missing, err := e.environment.Read(ctx, get, pair, row.Infra != "")
	switch {
	case err != nil:
		return env, err
	case missing.Reason == conversion.ReasonPlatformNotSupported:
		return env, unsupported(missing.Message)
	case missing != (conversion.Missing{}):
		return env, errors.New(missing.Message)
	case row.Infra == "":
		return env, nil
	}
	_, err = environment.ReadInfraCluster(get, &env)
	return env, err
}

// lacksInfraCluster returns the error that the mirror reports if no object of a kind converts to Machine API because the infrastructure cluster object is
// missing; nil if it exists. The error names no field, because no field is wrong.
func lacksInfraCluster(kind string, env conversion.Env) field.ErrorList {
	row, _ := authority.KindNamed(kind)
	if row.Infra == "" || env.InfraCluster != nil {
		return nil
	}
	missing := env.Absent(env.Platform.InfraCluster.Kind, true, fmt.Sprintf("a %s can be mirrored", kind))
	return field.ErrorList{{Type: field.ErrorTypeNotFound, BadValue: missing.Reason, Detail: missing.Message}}
}

// uncopying reads the cache's own objects instead of copies, because its callers never change them.
type uncopying struct{ client.Reader }

func (u uncopying) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return u.Reader.Get(ctx, key, o, append(options, uncopied)...)
}

// unsupported is the error of a platform that has no conversion.
type unsupported string

func (u unsupported) Error() string { return string(u) }

// whole returns u as a conversion error without a field, because the error concerns the whole object.
func (u unsupported) whole() *field.Error {
	return &field.Error{Type: field.ErrorTypeNotSupported, BadValue: conversion.ReasonPlatformNotSupported, Detail: u.Error()}
}
