// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"
)

const (
	oneImage  = "an image has either a resource id or publisher, offer, sku and version, but this image has both: remove the resource id, or the other fields"
	inAccount = "must begin with /resourceGroups/…, because Machine API itself puts the cluster's subscription before this id"
)

func imageTo(p *pass, m *providerSpec, c *infraSpec) {
	at, image := p.At("image"), m.Image
	offered := image.Publisher+image.Offer+image.SKU+image.Version != ""
	switch kind := image.Type; {
	case image.ResourceID != "" && offered:
		at.Invalid("resourceID", image.ResourceID, oneImage)
	case image.ResourceID != "" && (kind == "" || kind == machinev1beta1.AzureImageTypeID):
		c.Image = ownedTo(at, image.ResourceID)
	case offered && image.ResourceID == "" && (kind == "" || kind == machinev1beta1.AzureImageTypeMarketplaceNoPlan ||
		kind == machinev1beta1.AzureImageTypeMarketplaceWithPlan):
		c.Image = offeredTo(at, image)
	case !offered && image.ResourceID == "":
		at.Required("resourceID",
			"name an image by its resource id, or by publisher, offer, sku and version: without an image, Cluster API would use one of a community gallery")
	default:
		at.Invalid("type", string(kind),
			"the type must be ID or absent if the image has a resourceID, and MarketplaceNoPlan, MarketplaceWithPlan or absent if it has none")
	}
}

// ownedTo returns an image by its full resource ID. A providerSpec has the ID without the subscription: ownedTo puts the cluster's subscription before it, as
// Machine API's controller does. It reports an error for an ID of another subscription.
func ownedTo(p *pass, id string) *azurev1.Image {
	own := subscription(p)
	switch {
	case own == "":
		p.Unsupported("resourceID", id, "in Cluster API the id of an image begins with the subscription"+unknownSubscription(p))
		return nil
	case within(id, "/subscriptions/"):
		rest := id[len("/subscriptions/"):]
		if !within(rest, own+"/") {
			p.Differs("resourceID", id, "an image id in the cluster's subscription", own)
			return nil
		}
		id = rest[len(own):]
	}
	if !within(id, "/resourceGroups/") {
		p.Invalid("resourceID", id, inAccount)
		return nil
	}
	full := "/subscriptions/" + own + id
	return &azurev1.Image{ID: &full}
}

// within reports whether an ID begins with a prefix, in any case, and is longer than the prefix.
func within(id, prefix string) bool {
	return len(id) > len(prefix) && strings.EqualFold(id[:len(prefix)], prefix)
}

func offeredTo(p *pass, m machinev1beta1.Image) *azurev1.Image {
	required(p, "", m.Publisher, m.Offer, m.SKU, m.Version)
	return &azurev1.Image{Marketplace: &azurev1.AzureMarketplaceImage{
		ImagePlan:       azurev1.ImagePlan{Publisher: m.Publisher, Offer: m.Offer, SKU: m.SKU},
		Version:         m.Version,
		ThirdPartyImage: m.Type == machinev1beta1.AzureImageTypeMarketplaceWithPlan,
	}}
}

func required(p *pass, prefix string, publisher, offer, sku, version string) {
	values := []string{publisher, offer, sku, version}
	for i, name := range []string{"publisher", "offer", "sku", "version"} {
		if values[i] == "" {
			p.Required(prefix+name, "set this field: an image of the marketplace needs publisher, offer, sku and version")
		}
	}
}

func imageFrom(p *pass, c *infraSpec, m *providerSpec) {
	at := p.At("image")
	switch image := c.Image; {
	case image == nil:
		p.Required("image", "Machine API accepts no image of a community gallery: set image.id or image.marketplace")
	case image.ID != nil && image.Marketplace != nil:
		at.Invalid("id", *image.ID, oneImage)
	case image.ID != nil:
		m.Image.ResourceID = ownedFrom(at, *image.ID)
	case image.Marketplace != nil:
		m.Image = offeredFrom(at, image.Marketplace)
	case image.ComputeGallery == nil && image.SharedGallery == nil: // other rows refuse the image of a gallery
		at.Required("id", "name the image: set image.id or image.marketplace")
	}
}

// ownedFrom returns an image's resource ID without the subscription, because Machine API's controller adds the subscription. It reports an error if the
// subscription is not the cluster's.
func ownedFrom(p *pass, id string) string {
	own := "/subscriptions/" + subscription(p)
	rest, ok := strings.CutPrefix(id, own)
	switch {
	case own == "/subscriptions/":
		p.Unsupported("id", id,
			"Machine API accepts only images of the cluster's own subscription, and this subscription is unknown: neither the AzureCluster, nor the "+
				"instance's ID, nor ConfigMap openshift-config/cloud-provider-config has it. The provider accepts spec.subscriptionID only when the "+
				"AzureCluster is created, so replace the AzureCluster by one with this field")
	case !ok || !strings.HasPrefix(rest, "/"):
		p.Unsupported("id", id, "Machine API accepts only images of the cluster's own subscription: set an id that begins with "+own+"/")
	case !within(rest, "/resourceGroups/"):
		p.Invalid("id", id, "must begin with /subscriptions/…/resourceGroups/…")
	default:
		return rest
	}
	return ""
}

// offeredFrom converts an image of the marketplace. It always writes the type, because the field's documentation says that the meaning of an absent type may
// change.
func offeredFrom(p *pass, c *azurev1.AzureMarketplaceImage) machinev1beta1.Image {
	required(p, "marketplace.", c.Publisher, c.Offer, c.SKU, c.Version)
	out := machinev1beta1.Image{
		Publisher: c.Publisher, Offer: c.Offer, SKU: c.SKU, Version: c.Version,
		Type: machinev1beta1.AzureImageTypeMarketplaceNoPlan,
	}
	if c.ThirdPartyImage {
		out.Type = machinev1beta1.AzureImageTypeMarketplaceWithPlan
	}
	return out
}
