// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"errors"
	"strings"
	"testing"
)

func TestEndpoints(t *testing.T) {
	const p = "/apis/cluster.hypershift.openshift.io"
	for _, c := range []struct {
		path, want string
		document   Document
		opaque     bool
		parts      string // resource, name, subresource
	}{
		{"/apis/cluster.x-k8s.io/v1beta2/namespaces/n/machines/m", p + "/v1beta2/namespaces/n/machines/m", ClusterAPI, false, "machines m "},
		{"/apis/cluster.x-k8s.io/v1beta2/namespaces/cluster.x-k8s.io/machines/cluster.x-k8s.io/status", p + "/v1beta2/namespaces/cluster.x-k8s.io/machines/cluster.x-k8s.io/status", ClusterAPI, false, "machines cluster.x-k8s.io status"},
		{"/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsmachines", "/apis/infrastructure.cluster.hypershift.openshift.io/v1beta2/awsmachines", ClusterAPI, false, "awsmachines  "},
		{"/apis/cluster.x-k8s.io/v1beta2/watch/namespaces/n/machines", p + "/v1beta2/watch/namespaces/n/machines", ClusterAPI, false, "machines  "},
		{"/apis/cluster.x-k8s.io/v1beta2/namespaces/n/machinesets/s/scale", p + "/v1beta2/namespaces/n/machinesets/s/scale", ClusterAPI, false, "machinesets s scale"},
		{"/apis/cluster.x-k8s.io", p, Discovery, false, "  "},
		{"/apis/cluster.x-k8s.io/", p + "/", Discovery, false, "  "},
		{"/apis/cluster.x-k8s.io/v1beta2", p + "/v1beta2", Discovery, false, "  "},
		{"/apis/cluster.hypershift.openshift.io/v1/machines", "/apis/" + Foreign + "/v1/machines", ClusterAPI, false, "machines  "},
		{"/apis/" + Foreign + "/v1/machines", "/apis/" + Foreign + "/v1/machines", ClusterAPI, false, "machines  "},
		{"/apis", "/apis", Discovery, false, "  "},
		{"/apis/mycluster.x-k8s.io/v1/xs", "/apis/mycluster.x-k8s.io/v1/xs", Objects, false, "xs  "},
		{"/apis/cluster.x-k8s.io.evil.com/v1/xs", "/apis/cluster.x-k8s.io.evil.com/v1/xs", Objects, false, "xs  "},
		{"/apis/clusters.x-k8s.io/v1/xs", "/apis/clusters.x-k8s.io/v1/xs", Objects, false, "xs  "},
		{"/apis/operator.cluster.x-k8s.io/v1/xs", "/apis/operator.cluster.x-k8s.io/v1/xs", Objects, false, "xs  "},
		{"/api/v1/namespaces/cluster.x-k8s.io/pods/cluster.x-k8s.io", "/api/v1/namespaces/cluster.x-k8s.io/pods/cluster.x-k8s.io", Objects, false, "pods cluster.x-k8s.io "},
		{"/api/v1/namespaces/n/status", "/api/v1/namespaces/n/status", Objects, false, "namespaces n status"},
		{"/api/v1/namespaces/n", "/api/v1/namespaces/n", Objects, false, "namespaces n "},
		{"/api/v1/namespaces/n/pods/a%2Fb/exec", "/api/v1/namespaces/n/pods/a%2Fb/exec", Objects, true, "pods a%2Fb exec"},
		{"/api/v1/namespaces/n/services/s/proxy/apis/cluster.x-k8s.io/", "/api/v1/namespaces/n/services/s/proxy/apis/cluster.x-k8s.io/", Objects, true, "services s proxy"},
		{"/api/v1/namespaces/n/events", "/api/v1/namespaces/n/events", Events, false, "events  "},
		{"/apis/events.k8s.io/v1/events", "/apis/events.k8s.io/v1/events", Events, false, "events  "},
		{"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", AccessReviews, false, "selfsubjectaccessreviews  "},
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Definitions, false, "customresourcedefinitions  "},
		{
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machines.cluster.x-k8s.io/status",
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machines.cluster.hypershift.openshift.io/status",
			Definitions, false, "customresourcedefinitions machines.cluster.x-k8s.io status",
		},
		{
			"/apis/apiextensions.k8s.io/v1/watch/customresourcedefinitions/machines.cluster.x-k8s.io",
			"/apis/apiextensions.k8s.io/v1/watch/customresourcedefinitions/machines.cluster.hypershift.openshift.io",
			Definitions, false, "customresourcedefinitions machines.cluster.x-k8s.io ",
		},
		{
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machines.cluster.hypershift.openshift.io",
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machines." + Foreign, Definitions, false,
			"customresourcedefinitions machines.cluster.hypershift.openshift.io ",
		},
		{"/openapi/v3", "/openapi/v3", OpenAPI, false, "  "},
		{"/openapi/v2", "/openapi/v2", OpenAPI, false, "  "},
		{"/openapi/v3/apis/cluster.x-k8s.io/v1", "/openapi/v3/apis/cluster.hypershift.openshift.io/v1", OpenAPI, false, "  "},
		{"/version", "/version", Objects, true, "  "},
		{"/metrics/apis/cluster.x-k8s.io", "/metrics/apis/cluster.x-k8s.io", Objects, true, "  "},
		{"/", "/", Roots, false, "  "},
		{"", "", Roots, false, "  "},
	} {
		e := EndpointOf(c.path)
		if parts := strings.Join([]string{e.Resource, e.Name, e.Subresource}, " "); e.Path != c.want || e.Document != c.document ||
			e.Opaque != c.opaque || parts != c.parts {
			t.Errorf("%q: %+v", c.path, e)
		}
	}
}

func TestQueries(t *testing.T) {
	for _, c := range []struct {
		document    Document
		query, want string
	}{
		{Definitions, "fieldSelector=metadata.name%3Dmachines.cluster.x-k8s.io&watch=true", "fieldSelector=metadata.name%3Dmachines.cluster.hypershift.openshift.io&watch=true"},
		{Definitions, "a&fieldSelector=metadata.name!=machines.cluster.x-k8s.io,x==y", "a&fieldSelector=metadata.name%21%3Dmachines.cluster.hypershift.openshift.io%2Cx%3D%3Dy"},
		{Definitions, "fieldSelector=metadata.name%3Dothers.example.com&continue=%2B+", "fieldSelector=metadata.name%3Dothers.example.com&continue=%2B+"},
		{Events, "fieldSelector=involvedObject.apiVersion%3Dcluster.x-k8s.io%2Fv1beta2", "fieldSelector=involvedObject.apiVersion%3Dcluster.hypershift.openshift.io%2Fv1beta2"},
		{Events, "fieldSelector=involvedObject.name%3Dcluster.x-k8s.io%2Fv1beta2", "fieldSelector=involvedObject.name%3Dcluster.x-k8s.io%2Fv1beta2"},
		{ClusterAPI, "labelSelector=cluster.x-k8s.io%2Fcluster-name%3Dc&fieldManager=cluster.x-k8s.io/v1", "labelSelector=cluster.x-k8s.io%2Fcluster-name%3Dc&fieldManager=cluster.x-k8s.io/v1"},
		{ClusterAPI, "fieldSelector=metadata.name%3Dmachines.cluster.x-k8s.io", "fieldSelector=metadata.name%3Dmachines.cluster.x-k8s.io"},
		{Definitions, "labelSelector=metadata.name%3Dmachines.cluster.x-k8s.io", "labelSelector=metadata.name%3Dmachines.cluster.x-k8s.io"},
		{Definitions, "watch=true&includeObject=None", "watch=true&includeObject=Metadata"},
		{Definitions, "%69ncludeObject=%4eone", "%69ncludeObject=Metadata"},
		{Definitions, "%66ieldSelector=metadata.name%3Dmachines.cluster.x-k8s.io", "%66ieldSelector=metadata.name%3Dmachines.cluster.hypershift.openshift.io"},
		{Definitions, "includeObject=Object", "includeObject=Object"},
		{Events, "includeObject=None", "includeObject=None"},
		{Definitions, "fieldSelector=%zz", "fieldSelector=%zz"},
		{Definitions, "", ""},
	} {
		if got := (&Endpoint{Document: c.document}).Query(c.query); got != c.want {
			t.Errorf("%q became %q, want %q", c.query, got, c.want)
		}
	}
}

func TestPatches(t *testing.T) {
	for _, c := range []struct {
		why         string
		doc         Document
		patch, want string
	}{
		{"an apiVersion", ClusterAPI, `[{"op":"replace","path":"/apiVersion","value":"cluster.x-k8s.io/v1"}]`, `[{"op":"replace","path":"/apiVersion","value":"cluster.hypershift.openshift.io/v1"}]`},
		{"a test of one", ClusterAPI, ` [ {"value" : "cluster.x-k8s.io/v1", "path":"/apiVersion" ,"op":"test"} ] `, ` [ {"value" : "cluster.hypershift.openshift.io/v1", "path":"/apiVersion" ,"op":"test"} ] `},
		{"an owner's", Objects, `[{"op":"test","path":"/metadata/ownerReferences/0/apiVersion","value":"cluster.x-k8s.io/v1"}]`, `[{"op":"test","path":"/metadata/ownerReferences/0/apiVersion","value":"cluster.hypershift.openshift.io/v1"}]`},
		{"an owner's, as -1", Objects, `[{"op":"test","path":"/metadata/ownerReferences/-1/apiVersion","value":"cluster.x-k8s.io/v1"}]`, `[{"op":"test","path":"/metadata/ownerReferences/-1/apiVersion","value":"cluster.hypershift.openshift.io/v1"}]`},
		{"an owner's, as +0", Objects, `[{"op":"test","path":"/metadata/ownerReferences/+0/apiVersion","value":"cluster.x-k8s.io/v1"}]`, `[{"op":"test","path":"/metadata/ownerReferences/+0/apiVersion","value":"cluster.hypershift.openshift.io/v1"}]`},
		{"an owner's, as -01", Objects, `[{"op":"test","path":"/metadata/ownerReferences/-01/apiVersion","value":"cluster.x-k8s.io/v1"}]`, `[{"op":"test","path":"/metadata/ownerReferences/-01/apiVersion","value":"cluster.hypershift.openshift.io/v1"}]`},
		{"an owner's, as 00", Objects, `[{"op":"test","path":"/metadata/ownerReferences/00/apiVersion","value":"cluster.x-k8s.io/v1"}]`, `[{"op":"test","path":"/metadata/ownerReferences/00/apiVersion","value":"cluster.hypershift.openshift.io/v1"}]`},
		{"an owner", Objects, `[{"op":"add","path":"/metadata/ownerReferences/-","value":{"apiVersion":"cluster.x-k8s.io/v1"}}]`, `[{"op":"add","path":"/metadata/ownerReferences/-","value":{"apiVersion":"cluster.hypershift.openshift.io/v1"}}]`},
		{"the owners", Objects, `[{"op":"add","path":"/metadata/ownerReferences","value":[{"apiVersion":"cluster.x-k8s.io/v1"}]}]`, `[{"op":"add","path":"/metadata/ownerReferences","value":[{"apiVersion":"cluster.hypershift.openshift.io/v1"}]}]`},
		{"the whole object", Objects, `[{"op":"test","path":"","value":{"apiVersion":"cluster.x-k8s.io/v1"}}]`, `[{"op":"test","path":"","value":{"apiVersion":"cluster.hypershift.openshift.io/v1"}}]`},
		{"a reference", ClusterAPI, `[{"op":"add","path":"/spec/infrastructureRef/apiGroup","value":"cluster.x-k8s.io"}]`, `[{"op":"add","path":"/spec/infrastructureRef/apiGroup","value":"cluster.hypershift.openshift.io"}]`},
		{"a reference in a list", ClusterAPI, `[{"op":"add","path":"/spec/refs/7","value":{"apiGroup":"cluster.x-k8s.io"}}]`, `[{"op":"add","path":"/spec/refs/7","value":{"apiGroup":"cluster.hypershift.openshift.io"}}]`},
		{"a definition's name", Definitions, `[{"op":"test","path":"/metadata/name","value":"machines.cluster.x-k8s.io"}]`, `[{"op":"test","path":"/metadata/name","value":"machines.cluster.hypershift.openshift.io"}]`},
		{"several", Objects, `[{"op":"remove","path":"/x"},{"op":"test","path":"/kind","value":"cluster.x-k8s.io/v1"},{"op":"test","path":"/apiVersion","value":"cluster.x-k8s.io/v1"}]`,
			`[{"op":"remove","path":"/x"},{"op":"test","path":"/kind","value":"cluster.x-k8s.io/v1"},{"op":"test","path":"/apiVersion","value":"cluster.hypershift.openshift.io/v1"}]`},
	} {
		t.Run(c.why, func(t *testing.T) {
			if got, err := ToPrivate.Patch(c.doc, []byte(c.patch)); err != nil || string(got) != c.want {
				t.Errorf("%s %v, want\n%s", got, err, c.want)
			}
			if got, err := ToStandard.Patch(c.doc, []byte(c.want)); err != nil || string(got) != c.patch {
				t.Errorf("%s %v, want\n%s", got, err, c.patch)
			}
		})
	}
	for _, same := range []string{
		`[]`, ` [ ] `, `null`, `[null]`, `[7,"x"]`, `[[[]]]`, ` [ [["a"], [ {} ]] , [1]]`, `[[{"path":"/apiVersion","value":"cluster.x-k8s.io/v1"}]]`,
		`[{"op":"test","path":"/metadata/labels/apiVersion","value":"cluster.x-k8s.io/v1"}]`,
		`[{"op":"add","path":"/metadata/annotations/cluster.x-k8s.io~1paused","value":"cluster.x-k8s.io/v1"}]`,
		`[{"op":"add","path":"/metadata/labels","value":{"apiVersion":"cluster.x-k8s.io/v1"}}]`, `[{"op":"add","path":"apiVersion","value":"cluster.x-k8s.io/v1"}]`,
		`[{"op":"add","path":7,"value":"cluster.x-k8s.io/v1"}]`,
		`[{"op":"copy","from":"/apiVersion","path":"/spec/apiVersion"}]`,
		`[{"op":"add","path":"/spec/template/metadata/labels/apiVersion","value":"cluster.x-k8s.io/v1"}]`,
	} {
		if got, err := ToPrivate.Patch(ClusterAPI, []byte(same)); err != nil || string(got) != same {
			t.Errorf("%s became %s %v", same, got, err)
		}
	}
	for _, malformed := range []string{``, `{}`, `[`, `[{]`, `[{}] x`, `[{"value":"cluster.x-k8s.io/v1]`} {
		if got, err := ToPrivate.Patch(ClusterAPI, []byte(malformed)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s became %s %v", malformed, got, err)
		}
	}
}

// A patch takes time by its length, however many operations it has.
func TestAPatchOfManyOperations(t *testing.T) {
	patch := "[" + strings.Repeat("0,", 1_500_000) + "0]"
	if got, err := ToPrivate.Patch(Objects, []byte(patch)); err != nil || string(got) != patch {
		t.Errorf("%d bytes became %d: %v", len(patch), len(got), err)
	}
}

func TestYAML(t *testing.T) {
	got, twice, err := YAML(
		[]byte("apiVersion: &v cluster.x-k8s.io/v1\nkind: Machine\nspec:\n  ref: {apiVersion: *v}\n  bool: yes\n  text: \"yes\"\n  number: 0x10\n"))
	if want := `{"apiVersion":"cluster.x-k8s.io/v1","kind":"Machine","spec":{"bool":true,"number":16,"ref":{"apiVersion":"cluster.x-k8s.io/v1"},"text":"yes"}}`; err != nil ||
		twice != nil || string(got) != want {
		t.Errorf("%s %v %v", got, twice, err)
	}
	if got, twice, err := YAML([]byte("a: 1\na: 2\n")); err != nil || twice == nil || string(got) != `{"a":2}` {
		t.Errorf("%s %v %v", got, twice, err)
	}
	for _, bad := range []string{"a: [", "\tx: 1"} {
		if got, _, err := YAML([]byte(bad)); err == nil {
			t.Errorf("%q became %s", bad, got)
		}
	}
	for body, want := range map[string]bool{` {"a":1}`: true, "\n[": true, "a: 1": false, "": false, "- {}": false, "# {\n{}": false} {
		if IsJSON([]byte(body)) != want {
			t.Errorf("%q", body)
		}
	}
}

func FuzzPatch(f *testing.F) {
	f.Add(uint8(1), []byte(`[{"op":"test","path":"/apiVersion","value":"cluster.x-k8s.io/v1"}, null]`))
	f.Add(uint8(0), []byte(`[{"value":[{"apiVersion":"cluster.x-k8s.io/v1"}],"path":"/metadata/ownerReferences"}]`))
	f.Fuzz(func(t *testing.T, doc uint8, patch []byte) {
		there, err := ToPrivate.Patch(Document(doc%uint8(documents)), patch)
		if err != nil {
			return
		}
		if _, err := ToStandard.Patch(Document(doc%uint8(documents)), there); err != nil {
			t.Errorf("%q became %q: %v", patch, there, err)
		}
	})
}

func FuzzEndpoint(f *testing.F) {
	f.Add("/apis/cluster.x-k8s.io/v1/namespaces/n/machines/m", "fieldSelector=metadata.name%3Da")
	f.Add("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machines.cluster.x-k8s.io", "fieldSelector=metadata.name%3Dmachines.cluster.x-k8s.io")
	f.Fuzz(func(t *testing.T, path, query string) {
		e := EndpointOf(path)
		if strings.Count(e.Path, "/") != strings.Count(path, "/") {
			t.Errorf("%q became %q", path, e.Path)
		}
		if again := EndpointOf(e.Path); again.Path != e.Path && !strings.Contains(e.Path, Private) {
			t.Errorf("%q became %q and then %q", path, e.Path, again.Path)
		}
		if q := e.Query(query); strings.Count(q, "&") != strings.Count(query, "&") {
			t.Errorf("%q became %q", query, q)
		}
	})
}
