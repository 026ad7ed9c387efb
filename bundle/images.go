// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Image says which image of the release a container gets: the one with the key Key.
type Image struct {
	Kind      string `json:"kind"`
	Workload  string `json:"workload"`
	Container string `json:"container"`
	// Init means that the container is one of initContainers.
	Init bool   `json:"init,omitempty"`
	Key  string `json:"key"`
}

const managerContainer = "manager"

var (
	imageKey    = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*$`)
	placeholder = regexp.MustCompile(`^registry\.invalid/([a-z0-9._-]+):injected$`)
	repository  = regexp.MustCompile(`^(.*/)?[^:@/]*`)
	digest      = regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)
)

// Placeholder returns the image that a container has until an installer replaces it by the release's image. No registry has the placeholder, so a container
// whose image was not replaced cannot run.
func Placeholder(key string) string { return "registry.invalid/" + key + ":injected" }

// Images replaces the image of each container by a placeholder, and lists the keys of the images in d.Keys.
func Images(d *Draft) {
	used, managers := map[string]bool{}, map[string]bool{}
	var keys []string
	all := d.containers()
	usual := make([]bool, len(all))
	for i, c := range all { // in a loop of its own, because keyOf compares images, which the next loop changes
		key, selector := d.keyOf(c)
		used[selector] = true
		keys = append(keys, key)
		image := text(c.object, "image")
		if usual[i] = selector == "" && key == d.Provider.imageKey() && image != Placeholder(key); usual[i] {
			managers[image] = true
		}
	}
	for i, c := range all {
		if usual[i] && len(managers) > 1 {
			d.refuse(c.Document, "%s: several containers named manager have different images, and the provider's usual key %s stands for only one "+
				"image: set a key for each, for this one with --images %s/%s=KEY",
				c.field("image"), keys[i], c.Name(), c.name())
			continue
		}
		if !imageKey.MatchString(keys[i]) {
			d.refuse(c.Document, "%s: no key in the release is known for this image: set the key with --images %s/%s=KEY", c.field("image"), c.Name(), c.name())
			continue
		}
		d.Keys = append(d.Keys, Image{Kind: c.Kind(), Workload: c.Name(), Container: c.name(), Init: c.init, Key: keys[i]})
		d.set(c.Document, c.object, c.field("image"), "image", Placeholder(keys[i]))
	}
	for _, selector := range slices.Sorted(maps.Keys(d.Options.Images)) {
		if !used[selector] {
			d.problems = append(d.problems, fmt.Errorf("--images %s=%s: no container, workload or image has this name: correct or remove the "+
				"entry", selector, d.Options.Images[selector]))
		}
	}
	slices.SortFunc(d.Keys, func(a, b Image) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Container, b.Container))
	})
}

// keyOf returns the key of a container's image, and the entry of Options.Images that named the key; "" if no entry did.
func (d *Draft) keyOf(c container) (key, selector string) {
	image := text(c.object, "image")
	for _, selector := range []string{c.Name() + "/" + c.name(), c.name(), image, repository.FindString(image)} {
		if key, named := d.Options.Images[selector]; named {
			return key, selector
		}
	}
	if found := placeholder.FindStringSubmatch(image); found != nil {
		return found[1], ""
	}
	switch {
	case c.name() == managerContainer, len(d.pods()) == 1 && len(c.containers()) == 1:
		return d.Provider.imageKey(), ""
	case c.name() == "kube-rbac-proxy":
		return "kube-rbac-proxy", ""
	}
	// A container with the same image as the manager beside it belongs to the manager, too, such as an init container.
	for _, sibling := range c.containers() {
		if sibling.name() == managerContainer && text(sibling.object, "image") == image {
			return d.keyOf(sibling)
		}
	}
	return "", ""
}

// imageKey returns the key that releases use for the image of a provider's manager.
func (p Provider) imageKey() string {
	switch {
	case p.Type == Core:
		return "cluster-capi-controllers"
	case p.Type != Infrastructure:
		return p.Name + "-" + string(p.Type) + "-controllers"
	case p.Name == "metal3":
		return "baremetal-cluster-api-controllers"
	}
	return p.Name + "-cluster-api-controllers"
}

// References are the images of a release by their keys, as the release's list of images has them.
type References map[string]string

// SetImages sets the images of a release in the documents. It returns an error for each container whose image is missing or not accepted: no row names the
// container, the row's key is not in the release, or the image is named by a tag although tags are not allowed.
func SetImages(all []Document, rows []Image, references References, allowTags bool) []error {
	d := &Draft{Documents: all}
	for _, c := range d.containers() {
		i := slices.IndexFunc(rows, func(row Image) bool {
			return row.Kind == c.Kind() && row.Workload == c.Name() && row.Container == c.name() && row.Init == c.init
		})
		if i >= 0 {
			if reference := references[rows[i].Key]; reference != "" {
				c.object["image"] = reference
			} else {
				d.refuse(c.Document, "%s: the release has no image with the key %s: add the key to images.json in ConfigMap "+
					"%s", c.field("image"), rows[i].Key, ImagesConfigMap)
				continue
			}
		}
		switch image := text(c.object, "image"); {
		case image == "" || strings.HasPrefix(image, "registry.invalid/") || strings.Contains(image, "${"):
			d.refuse(c.Document, "%s is %q, and the provider's ConfigMap has no image for this container: write the ConfigMap again with poundlock "+
				"bundle", c.field("image"), image)
		case !allowTags && !digest.MatchString(image):
			d.refuse(c.Document, "%s is %q: a tag can later point to another image. Name the image by its digest", c.field("image"), image)
		}
	}
	return d.problems
}
