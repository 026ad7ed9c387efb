// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/internal/jsonmembers"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// request has the fields of admissionv1.AdmissionRequest that a review reads. The objects stay JSON, as slices of the body.
type request struct {
	UID         types.UID
	Resource    metav1.GroupVersionResource
	SubResource string
	Name        string
	Namespace   string
	Operation   admissionv1.Operation
	UserInfo    struct {
		Username string `json:"username"`
	}
	DryRun                     *bool
	Object, OldObject, Options []byte
}

func (r *request) member(name, value []byte) error {
	switch string(name) {
	case "object":
		r.Object = value
	case "oldObject":
		r.OldObject = value
	case "options":
		r.Options = value
	default:
		if field := r.field(string(name)); field != nil {
			return readMember(name, value, field)
		}
	}
	return nil
}

// field returns a pointer to the field in which a member of the JSON is stored, nil for a member that is not read.
func (r *request) field(name string) any {
	switch name {
	case "uid":
		return &r.UID
	case "resource":
		return &r.Resource
	case "subResource":
		return &r.SubResource
	case "name":
		return &r.Name
	case "namespace":
		return &r.Namespace
	case "operation":
		return &r.Operation
	case "userInfo":
		return &r.UserInfo
	case "dryRun":
		return &r.DryRun
	}
	return nil
}

func readMember(name, value []byte, into any) error {
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// errNotOurs reports that the object under review is outside every pair of namespaces, where nothing is locked.
var errNotOurs = errors.New("the object is not in a mirrored namespace")

// parse reads a review. Its errors are sentences about the whole body, for the client that calls the server.
func parse(body []byte) (*request, error) {
	var frame metav1.TypeMeta
	var sent []byte
	err := jsonmembers.Each(body, func(name, value []byte) error {
		switch string(name) {
		case "apiVersion":
			return readMember(name, value, &frame.APIVersion)
		case "kind":
			return readMember(name, value, &frame.Kind)
		case "request":
			sent = value
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the body is no AdmissionReview: %w", err)
	}
	if want := admissionv1.SchemeGroupVersion.String(); frame.APIVersion != want || frame.Kind != "AdmissionReview" {
		return nil, fmt.Errorf("the body is a %q of %q, want an AdmissionReview of %s", frame.Kind, frame.APIVersion, want)
	}
	return parseRequest(sent)
}

func parseRequest(sent []byte) (*request, error) {
	if len(sent) == 0 || string(sent) == "null" {
		return nil, errors.New("the AdmissionReview has no request")
	}
	var r request
	if err := jsonmembers.EachChecked(sent, r.member); err != nil {
		return nil, fmt.Errorf("the AdmissionReview's request: %w", err)
	}
	if r.UID == "" {
		return nil, errors.New("the AdmissionReview's request has no uid")
	}
	return &r, nil
}

// reader makes changes, which the rules judge, from requests.
type reader struct {
	pairs      authority.Pairs
	identities policies.Identities
}

// change returns the change that a request asks for, without facts.
func (r reader) change(route Route, req *request) (policies.Change, error) {
	subject, ok := route.subject(req.Resource.Group, req.Resource.Resource)
	if !ok || req.SubResource != route.Subresource {
		return policies.Change{}, fmt.Errorf("requests for %s are not reviewed at the path %s: the webhook configuration names the wrong path",
			resourceText(req), route.Path())
	}
	in := req.Namespace
	if subject.Kind == authority.Namespace {
		in = req.Name
	}
	pair, ok := r.pairs.Of(in)
	home, twin := pair.ClusterAPI, pair.MachineAPI
	if route.Side == policies.SideMachineAPI {
		home, twin = twin, home
	}
	if route.Side != policies.Surroundings && (!ok || home != req.Namespace) {
		return policies.Change{}, errNotOurs
	}
	c := policies.Change{
		Subject: policies.Subject{
			Side: route.Side, Kind: subject.Kind,
			Resource:    schema.GroupResource{Group: req.Resource.Group, Resource: req.Resource.Resource},
			Subresource: req.SubResource, Namespace: req.Namespace, Name: req.Name, TwinNamespace: twin,
		},
		Operation: req.Operation, DryRun: req.DryRun != nil && *req.DryRun,
		Actor: r.identities.Actor(req.UserInfo.Username), Username: req.UserInfo.Username,
	}
	return c, readObjects(&c, req)
}

// subject returns the Subject of the route for a resource, and whether the route has it.
func (r Route) subject(group, resource string) (Subject, bool) {
	i := slices.IndexFunc(r.Subjects, func(s Subject) bool { return s.GroupVersion.Group == group && s.Resource == resource })
	if i < 0 {
		return Subject{}, false
	}
	return r.Subjects[i], true
}

func readObjects(c *policies.Change, req *request) (err error) {
	if c.Old, err = policies.ParseCheckedObject(req.OldObject); err != nil {
		return fmt.Errorf("oldObject: %w", err)
	}
	if c.New, err = policies.ParseCheckedObject(req.Object); err != nil {
		return fmt.Errorf("object: %w", err)
	}
	if c.Propagation, err = propagation(req); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	if c.FieldManager, err = fieldManager(req); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	if err := complete(c); err != nil {
		return err
	}
	// If a request deletes a collection, the review of each object has no name. The review of a CREATE has none if the API server generates the name. In both
	// cases the name is taken from the object, if the object has one.
	for _, o := range []*policies.Object{c.New, c.Old} {
		if c.Name == "" && o != nil {
			c.Name = o.Metadata.Name
		}
	}
	return nil
}

// complete returns an error if a review lacks an object that its operation requires.
func complete(c *policies.Change) error {
	needsOld, needsNew := c.Operation != create, c.Operation != remove
	switch {
	case c.Operation != create && c.Operation != update && c.Operation != remove:
		return fmt.Errorf("operation %q is none of CREATE, UPDATE and DELETE", c.Operation)
	case needsOld && c.Old == nil:
		return fmt.Errorf("oldObject: a review of %s must carry the stored object", c.Operation)
	case needsNew && c.New == nil:
		return fmt.Errorf("object: a review of %s must carry the requested object", c.Operation)
	}
	return nil
}

// propagation returns the propagation policy of a DELETE; "" if the request has none. The option orphanDependents is an older spelling of the policy.
func propagation(req *request) (metav1.DeletionPropagation, error) {
	if req.Operation != remove || len(req.Options) == 0 {
		return "", nil
	}
	var o struct {
		PropagationPolicy metav1.DeletionPropagation `json:"propagationPolicy"`
		OrphanDependents  *bool                      `json:"orphanDependents"`
	}
	if err := json.Unmarshal(req.Options, &o); err != nil {
		return "", fmt.Errorf("reading the delete options: %w", err)
	}
	switch {
	case o.PropagationPolicy != "" || o.OrphanDependents == nil:
		return o.PropagationPolicy, nil
	case *o.OrphanDependents:
		return metav1.DeletePropagationOrphan, nil
	}
	return metav1.DeletePropagationBackground, nil
}

// fieldManager returns the field manager of an UPDATE; "" for other operations. A PATCH is an UPDATE here, because the API server sends the options of an
// update for it.
func fieldManager(req *request) (string, error) {
	if req.Operation != update || len(req.Options) == 0 {
		return "", nil
	}
	var o struct {
		FieldManager string `json:"fieldManager"`
	}
	if err := json.Unmarshal(req.Options, &o); err != nil {
		return "", fmt.Errorf("reading the update options: %w", err)
	}
	return o.FieldManager, nil
}

func resourceText(req *request) string {
	text := req.Resource.Resource + "." + req.Resource.Group
	if req.SubResource != "" {
		text += "/" + req.SubResource
	}
	return text
}
