// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/poundlock/poundlock/translation"
)

// review is a ConversionReview of v1 or v1beta1. The two versions differ only in their apiVersion.
type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request"`
	Response   *response `json:"response"`
}

type request struct {
	UID               types.UID         `json:"uid"`
	DesiredAPIVersion string            `json:"desiredAPIVersion"`
	Objects           []json.RawMessage `json:"objects"`
}

type response struct {
	UID              types.UID         `json:"uid"`
	ConvertedObjects []json.RawMessage `json:"convertedObjects"`
	Result           struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"result"`
}

// identity has what a conversion must not change in an object, and the apiVersion, which the conversion sets.
type identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string    `json:"name"`
		Namespace string    `json:"namespace"`
		UID       types.UID `json:"uid"`
	} `json:"metadata"`
}

func (i identity) version() schema.GroupVersion {
	gv, err := schema.ParseGroupVersion(i.APIVersion)
	if err != nil {
		return schema.GroupVersion{}
	}
	return gv
}

// read parses a review. The names of fields are case-sensitive, as they are for the API server.
func read(body []byte) (*review, error) {
	r := &review{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, r); err != nil {
		return nil, fmt.Errorf("parsing the body: %w", err)
	}
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil || r.Kind != "ConversionReview" || gv.Group != "apiextensions.k8s.io" || gv.Version != "v1" && gv.Version != "v1beta1" {
		return nil, fmt.Errorf("the body is %q of %q, not ConversionReview of apiextensions.k8s.io/v1 or v1beta1", r.Kind, r.APIVersion)
	}
	return r, nil
}

// conversion is a review that is being converted.
type conversion struct {
	review  string // the review's apiVersion
	uid     types.UID
	desired schema.GroupVersion
	objects []json.RawMessage
	was     []identity
}

// newConversion reads the request of a review. It refuses no version. That is done by convertible.
func newConversion(r *review) (*conversion, error) {
	if r.Request == nil {
		return nil, errors.New("the review has no request")
	}
	c := &conversion{review: r.APIVersion, uid: r.Request.UID, objects: r.Request.Objects, was: make([]identity, len(r.Request.Objects))}
	c.desired, _ = schema.ParseGroupVersion(r.Request.DesiredAPIVersion) // a malformed version becomes an empty one, which convertible refuses
	for i, o := range c.objects {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(o, &c.was[i]); err != nil {
			return nil, fmt.Errorf("request.objects[%d] is no object: %w", i, err)
		}
	}
	return c, nil
}

// convertible returns an error unless the versions of the objects and the requested version belong to the private groups (translation.Private).
func (c *conversion) convertible() error {
	if c.desired.Version == "" || !private(c.desired.Group) {
		return fmt.Errorf("request.desiredAPIVersion: %q is not a version of the API group %s or of a group below it", c.desired, translation.Private)
	}
	for i, o := range c.was {
		if !private(o.version().Group) {
			return fmt.Errorf("request.objects[%d].apiVersion: %q is not a version of the API group %s or of a group below it", i, o.APIVersion, translation.Private)
		}
	}
	return nil
}

func private(group string) bool { return translation.ToStandard.Group(group) != group }

// todo returns the indexes of the objects that are not in the requested version yet. A converter refuses objects that already are.
func (c *conversion) todo() []int {
	var out []int
	for i, o := range c.was {
		if o.APIVersion != c.desired.String() {
			out = append(out, i)
		}
	}
	return out
}

// request returns a reader of the review for the converter, with the standard names of groups. The review is written while it is read, so that there is no
// second copy of the objects.
func (c *conversion) request() *translation.Reader {
	parts := []io.Reader{bytes.NewReader(fmt.Appendf(nil, `{"kind":"ConversionReview","apiVersion":%s,"request":{"uid":%s,"desiredAPIVersion":%s,"objects":[`,
		quoted(c.review), quoted(c.uid), quoted(c.desired.String())))}
	for n, i := range c.todo() {
		if n > 0 {
			parts = append(parts, bytes.NewReader([]byte{','}))
		}
		parts = append(parts, bytes.NewReader(c.objects[i]))
	}
	parts = append(parts, bytes.NewReader([]byte("]}}")))
	return translation.NewReader(io.MultiReader(parts...), translation.NewScanner(translation.ToStandard, translation.ConversionReviews))
}

func quoted[S ~string](s S) []byte {
	out, err := json.Marshal(string(s))
	if err != nil { // this cannot happen: every string has a form in JSON
		return []byte(strconv.Quote(string(s)))
	}
	return out
}

// accept replaces the objects by the converted ones if the answer fits the request, else it returns an error.
func (c *conversion) accept(r *response) error {
	todo := c.todo()
	if len(r.ConvertedObjects) != len(todo) {
		return fmt.Errorf("response.convertedObjects has %d objects instead of %d", len(r.ConvertedObjects), len(todo))
	}
	for n, i := range todo {
		var is identity
		if err := kjson.UnmarshalCaseSensitivePreserveInts(r.ConvertedObjects[n], &is); err != nil {
			return fmt.Errorf("response.convertedObjects[%d] is no object: %w", n, err)
		}
		want := c.was[i]
		want.APIVersion = c.desired.String()
		if is != want {
			return fmt.Errorf("response.convertedObjects[%d] is %s instead of %s", n, is, want)
		}
		c.objects[i] = r.ConvertedObjects[n]
	}
	return nil
}

func (i identity) String() string {
	name := i.Metadata.Name
	if i.Metadata.Namespace != "" { // a cluster-scoped object has only a name
		name = i.Metadata.Namespace + "/" + name
	}
	return fmt.Sprintf("%s %s %s (uid %s)", i.APIVersion, i.Kind, name, i.Metadata.UID)
}

// succeeded writes the answer for a conversion that succeeded.
func (c *conversion) succeeded(w io.Writer) error {
	_, err := fmt.Fprintf(w, `{"kind":"ConversionReview","apiVersion":%s,"response":{"uid":%s,"convertedObjects":[`, quoted(c.review), quoted(c.uid))
	for i, o := range c.objects {
		if i > 0 && err == nil {
			_, err = w.Write([]byte{','})
		}
		if err == nil {
			_, err = w.Write(o)
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(w, `],"result":{"status":%q}}}`, metav1.StatusSuccess)
	}
	return err
}

// failed writes the answer for a conversion that failed, with the reason.
func (c *conversion) failed(w io.Writer, why string) error {
	_, err := fmt.Fprintf(w, `{"kind":"ConversionReview","apiVersion":%s,"response":{"uid":%s,"convertedObjects":[],"result":{"status":%q,"message":%s}}}`,
		quoted(c.review), quoted(c.uid), metav1.StatusFailure, quoted(why))
	return err
}
