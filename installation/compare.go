// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Applied reports whether a live object already is what would be applied, so that no request is needed. want is sealed.
func Applied(want, live *unstructured.Unstructured) bool {
	return live != nil && managed(live) && live.GetAnnotations()[AppliedAnnotation] == want.GetAnnotations()[AppliedAnnotation] &&
		covers(want.Object, live.Object, "")
}

// covers reports whether everything in want is in live. The API server adds defaults, and others fields that are none of ours.
func covers(want, live any, key string) bool {
	switch want := want.(type) {
	case map[string]any:
		return coversMap(want, live, key)
	case []any:
		return coversList(want, live, key)
	case nil:
		return true
	case string:
		return want == live || sameQuantity(want, live, key)
	}
	return sameNumber(want, live) || reflect.DeepEqual(want, live)
}

func coversMap(want map[string]any, live any, key string) bool {
	have, ok := live.(map[string]any)
	if !ok {
		return len(want) == 0 && live == nil
	}
	for name, value := range want {
		below := name
		if key == "requests" || key == "limits" {
			below = key
		}
		if !covers(value, have[name], below) {
			return false
		}
	}
	return true
}

func coversList(want []any, live any, key string) bool {
	have, ok := live.([]any)
	if !ok {
		return len(want) == 0 && live == nil
	}
	if len(want) == len(have) {
		same := true
		for i := range want {
			same = same && covers(want[i], have[i], key)
		}
		if same {
			return true
		}
	}
	return coversNamed(want, have, key)
}

// coversNamed compares lists whose items have names: others may have added some.
func coversNamed(want, have []any, key string) bool {
	byName := map[string]any{}
	for _, item := range have {
		m, ok := item.(map[string]any)
		name, named := m["name"].(string)
		if _, twice := byName[name]; !ok || !named || twice {
			return false
		}
		byName[name] = item
	}
	for _, item := range want {
		m, ok := item.(map[string]any)
		name, named := m["name"].(string)
		if !ok || !named || byName[name] == nil || !covers(item, byName[name], key) {
			return false
		}
	}
	return true
}

func sameNumber(a, b any) bool {
	x, xOK := asNumber(a)
	y, yOK := asNumber(b)
	return xOK && yOK && x == y || xOK && !yOK && sameQuantity(a, b, "requests")
}

func asNumber(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case int:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

// sameQuantity compares amounts of resources, which the API server writes in its own way: 1000m becomes 1.
func sameQuantity(a, b any, key string) bool {
	if key != "requests" && key != "limits" {
		return false
	}
	x, errX := quantity(a)
	y, errY := quantity(b)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}

func quantity(value any) (resource.Quantity, error) {
	if n, ok := value.(int64); ok {
		return *resource.NewQuantity(n, resource.DecimalSI), nil
	}
	s, _ := value.(string)
	return resource.ParseQuantity(s)
}

// Differences are the fields of an object that are not as they would be applied, for a person.
func Differences(want, live *unstructured.Unstructured) []string {
	var out []string
	differences(want.Object, live.Object, "", "", &out)
	return out
}

func differences(want, live any, path, key string, out *[]string) {
	if covers(want, live, key) {
		return
	}
	wantMap, isMap := want.(map[string]any)
	liveMap, alsoMap := live.(map[string]any)
	if isMap && alsoMap {
		for _, name := range slices.Sorted(maps.Keys(wantMap)) {
			below := name
			if key == "requests" || key == "limits" {
				below = key
			}
			differences(wantMap[name], liveMap[name], strings.TrimPrefix(path+"."+name, "."), below, out)
		}
		return
	}
	wantList, isList := want.([]any)
	liveList, alsoList := live.([]any)
	if isList && alsoList && len(wantList) == len(liveList) {
		for i := range wantList {
			differences(wantList[i], liveList[i], fmt.Sprintf("%s[%d]", path, i), key, out)
		}
		return
	}
	*out = append(*out, fmt.Sprintf("%s: %s, and would be %s", path, brief(live), brief(want)))
}

func brief(value any) string {
	const most = 80
	if value == nil {
		return "absent"
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + " …"
	}
	return string(raw)
}
