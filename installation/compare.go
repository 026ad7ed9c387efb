// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
	"github.com/poundlock/poundlock/internal/jsontree"
)

// Applied reports whether a live object already equals what would be applied, so that no request is needed. want must be sealed (Seal).
func Applied(want, live *unstructured.Unstructured) bool {
	return live != nil && managed(live) && live.GetAnnotations()[AppliedAnnotation] == want.GetAnnotations()[AppliedAnnotation] &&
		comparison.Has(want.Object, live.Object)
}

// comparison says how a live object is compared with what would be applied. The live object may have more: defaults of the API server, and fields and items of
// others.
var comparison = jsontree.Comparison{Same: same, ByName: true}

func same(at *jsontree.Path, want, live any) bool {
	switch want := want.(type) {
	case nil:
		return true
	case string:
		return want == live || at.Through("requests", "limits") && sameQuantity(want, live)
	}
	return sameNumber(want, live) || reflect.DeepEqual(want, live)
}

func sameNumber(a, b any) bool {
	x, xOK := asNumber(a)
	y, yOK := asNumber(b)
	return xOK && yOK && x == y || xOK && !yOK && sameQuantity(a, b)
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

// sameQuantity reports whether two amounts of resources are equal. The API server has its own spelling for them: 1000m becomes 1.
func sameQuantity(a, b any) bool {
	x, errX := quantity(a)
	y, errY := quantity(b)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}

func quantity(value any) (resource.Quantity, error) {
	if n, ok := value.(int64); ok {
		return *resource.NewQuantity(n, resource.DecimalSI), nil
	}
	s, _ := value.(string)
	return jsonnumbers.ParseQuantity(s)
}

// Differences returns, for people, the fields of an object that are not as they would be applied.
func Differences(want, live *unstructured.Unstructured) []string {
	var out []string
	for _, lack := range comparison.Lacking(nil, want.Object, live.Object) {
		out = append(out, fmt.Sprintf("%s is %s, and the installer would set %s", lack.Path, brief(lack.Live), brief(lack.Wanted)))
	}
	return out
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
