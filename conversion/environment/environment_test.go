// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package environment_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion"
	. "github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/conversion/platforms"
)

func about(name, platform string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"infrastructureName": name, "platformStatus": map[string]any{"type": platform, "aws": map[string]any{"region": "eu-west-1"}},
	}}}
}

func TestWhatAnInfrastructureLacks(t *testing.T) {
	for sentence, c := range map[string]struct {
		provided bool
		about    *unstructured.Unstructured
		reason   string
	}{
		"there is none": {true, nil, conversion.ReasonClusterNotReady},
		"there is none, and no platform is asked": {false, nil, conversion.ReasonClusterNotReady},
		"it says neither name nor platform":       {true, &unstructured.Unstructured{Object: map[string]any{}}, conversion.ReasonClusterNotReady},
		"it has no name yet":                      {true, about("", "AWS"), conversion.ReasonClusterNotReady},
		"it has no platform yet":                  {true, about("x", ""), conversion.ReasonClusterNotReady},
		"a platform nobody converts, and no name": {true, about("", "None"), conversion.ReasonClusterNotReady},
		"a platform nobody converts":              {true, about("x", "None"), conversion.ReasonPlatformNotSupported},
		"the same, where no platform is asked":    {false, about("x", "None"), ""},
		"nothing":                                 {true, about("x", "AWS"), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			var env conversion.Env
			missing, err := Read(func(kind schema.GroupVersionKind, _, name string) (*unstructured.Unstructured, error) {
				if kind.Kind != "Infrastructure" || name != "cluster" {
					t.Errorf("%s %s is read", kind, name)
				}
				return c.about, nil
			}, c.provided, &env)
			if err != nil || missing.Reason != c.reason || (missing.Message == "") != (missing.Reason == "") {
				t.Errorf("%v: %v, want %q", missing, err, c.reason)
			}
			if missing.Reason == conversion.ReasonPlatformNotSupported && missing.Message != platforms.Unsupported("None") {
				t.Errorf("other words: %s", missing.Message)
			}
			if c.reason == "" && c.provided && (env.Region != "eu-west-1" || env.Platform.Name != "AWS" || env.ClusterName != "x") {
				t.Errorf("described as %s, %s, %s", env.ClusterName, env.Platform.Name, env.Region)
			}
		})
	}
}

func TestAnInfrastructureClusterThatIsMissing(t *testing.T) {
	env := conversion.Env{ClusterAPINamespace: "capi"}
	if missing := Describe(about("x", "AWS").Object, true, &env); missing.Message != "" {
		t.Fatal(missing)
	}
	stored := map[string]*unstructured.Unstructured{}
	failure := error(nil)
	get := func(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
		return stored[kind.Kind+" "+namespace+"/"+name], failure
	}
	found, err := ReadInfraCluster(get, &env)
	missing, needErr := NeedInfraCluster(get, &env, "a Machine can be mirrored there")
	if found || err != nil || needErr != nil || env.InfraCluster != nil || missing.Reason != conversion.ReasonClusterNotReady ||
		!strings.Contains(missing.Message, "AWSCluster capi/x does not exist: Cluster API needs this object before a Machine can be mirrored there") {
		t.Errorf("without one: %v %v %v %v", found, err, needErr, missing)
	}
	stored["AWSCluster capi/x"] = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	found, err = ReadInfraCluster(get, &env)
	if missing, _ = NeedInfraCluster(get, &env, "it"); !found || err != nil || env.InfraCluster == nil || missing != (conversion.Missing{}) {
		t.Errorf("with one: %v %v %v", found, err, missing)
	}
	failure = errors.New("too busy")
	if _, err := ReadInfraCluster(get, &env); err == nil || !strings.Contains(err.Error(), "reading AWSCluster capi/x: too busy") {
		t.Errorf("a failure: %v", err)
	}
}

// The message names only what is missing, and no restoration to a cluster that has only the field of its first years.
func TestWhatTheMessageAboutAnInfrastructureNames(t *testing.T) {
	const name, platform = "status.infrastructureName", "status.platformStatus.type"
	old := about("x", "")
	old.Object["status"] = map[string]any{"infrastructureName": "x", "platform": "AWS"}
	for sentence, c := range map[string]struct {
		about         *unstructured.Unstructured
		says, without []string
	}{
		"neither":                 {about("", ""), []string{name, platform, "restore"}, nil},
		"no name":                 {about("", "AWS"), []string{name}, []string{platform}},
		"no platform":             {about("x", ""), []string{platform}, []string{name}},
		"only the platform's old": {old, []string{"status.platform (AWS)", platform, "kubectl edit"}, []string{name, "restore", "installation"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			missing := Describe(c.about.Object, true, &conversion.Env{})
			for _, text := range c.says {
				if !strings.Contains(missing.Message, text) {
					t.Errorf("without %s: %s", text, missing.Message)
				}
			}
			for _, text := range c.without {
				if strings.Contains(missing.Message, text) {
					t.Errorf("with %s: %s", text, missing.Message)
				}
			}
		})
	}
}
