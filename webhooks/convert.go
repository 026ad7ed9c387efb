// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	admissionv1 "k8s.io/api/admission/v1"
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

// infrastructure names OpenShift's description of the cluster that it runs on.
var infrastructure = Ref{GroupVersionKind: configv1.GroupVersion.WithKind("Infrastructure"), Name: "cluster"}

// conversions tries conversions of what is authoritative into what is not.
type conversions struct {
	cached    Reader
	envs      envs
	platforms []conversion.Platform
}

// Unconvertible converts away from the authoritative API, whichever side is under review. What Cluster API has on its own is
// converted into nothing.
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
	stored := mapi // which API is authoritative is what is stored, not what is asked for
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
	// What is created without a twin is what its twin is made from, whichever API is to be authoritative.
	if c.Operation == admissionv1.Create && capi == nil || authority.Authoritative(authority.Read(stored)) == authority.MachineAPI {
		return core.Check(c.Kind, mapi.Raw(), env), nil
	}
	if capi == nil {
		return nil, fmt.Errorf("there is no Cluster API %s of this name", c.Kind)
	}
	infra, err := v.infraJSON(ctx, capi, c.Kind)
	if err != nil {
		return nil, err
	}
	if infra == nil && c.Side == policies.SideMachineAPI && authority.TakesOver(c) {
		infra = core.StandIn(c.Kind, mapi.Raw(), env)
	}
	return core.CheckTwin(c.Kind, capi.Raw(), infra, env), nil
}

// provided tries what Machine API would make of a provider's object that is in use. Of one that no Cluster API object of the twin's name refers to, nothing
// is made.
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
		return nil, fmt.Errorf("the request is in %s: Poundlock reads %s", is, ref.GroupVersion())
	}
	env, err := v.envs.of(ctx, pairOf(c), kind)
	if platform := unsupported(""); errors.As(err, &platform) {
		return field.ErrorList{platform.whole()}, nil
	}
	if err != nil {
		return nil, err
	}
	return core.CheckTwin(kind, capi.Raw(), c.New.Raw(), env), nil
}

// reflected tries what Cluster API's side of a control plane's set is made from.
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

func (v conversions) infraJSON(ctx context.Context, capi *policies.Object, kind string) ([]byte, error) {
	ref, ok := infraRef(capi, kind, v.platforms)
	if !ok {
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

// envs reads what conversions need of the cluster: two lookups in a cache, by name.
type envs struct {
	cache       client.Reader
	timeout     time.Duration
	environment facts.Environment
}

// of describes the cluster to a conversion of a kind between a pair's namespaces; to one behind which no platform stands, by its name alone.
// Without the platform's infrastructure cluster, whose absence the mirror reports, all the rest of an object is tried.
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

// uncopying reads objects that nobody changes.
type uncopying struct{ client.Reader }

func (u uncopying) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return u.Reader.Get(ctx, key, o, append(options, uncopied)...)
}

// unsupported is the error of a platform that is not converted.
type unsupported string

func (u unsupported) Error() string { return string(u) }

// whole is the answer to whether an object converts: not a field of it is in the way, but all of it.
func (u unsupported) whole() *field.Error {
	return &field.Error{Type: field.ErrorTypeNotSupported, BadValue: conversion.ReasonPlatformNotSupported, Detail: u.Error()}
}
