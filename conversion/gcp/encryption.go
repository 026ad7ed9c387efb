// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp

import (
	"fmt"
	"regexp"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"
)

// These are the forms that Cluster API's CRDs and Google accept for the parts of a key's name, for service accounts and for resource manager tags.
var (
	keyProject     = regexp.MustCompile(`^[-_:A-Za-z0-9]+$`)
	keyPart        = regexp.MustCompile(`^[-_A-Za-z0-9]+$`)
	keyName        = regexp.MustCompile(`^projects/([-_:A-Za-z0-9]+)/locations/([-_A-Za-z0-9]+)/keyRings/([-_A-Za-z0-9]+)/cryptoKeys/([-_A-Za-z0-9]+)$`)
	serviceAccount = regexp.MustCompile(`^[-_.A-Za-z0-9]+@[-_.A-Za-z0-9]+\.iam\.gserviceaccount\.com$`)
	parentID       = regexp.MustCompile(`^[1-9][0-9]{0,31}$|^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	tagKey         = regexp.MustCompile(`^[a-zA-Z0-9]([0-9A-Za-z_.-]{0,61}[a-zA-Z0-9])?$`)
	tagValue       = regexp.MustCompile(`^[a-zA-Z0-9]([0-9A-Za-z_.@%=+:,*#&()\[\]{}\-\s]{0,61}[a-zA-Z0-9])?$`)
)

const (
	longestKeyName = 160
	longestAccount = 85

	oneKey = "must be the boot disk's encryption key, because Cluster API uses this key for every disk that has a key"
)

func (v volume) key() **gcpv1.CustomerEncryptionKey {
	if v.root != nil {
		return &v.root.RootDiskEncryptionKey
	}
	return &v.more.EncryptionKey
}

func sameKey(a, b *gcpv1.CustomerEncryptionKey) bool {
	return a == b || a != nil && b != nil && text(a.KMSKeyServiceAccount) == text(b.KMSKeyServiceAccount) &&
		a.ManagedKey != nil && b.ManagedKey != nil && *a.ManagedKey == *b.ManagedKey
}

// keysTo converts each disk's encryption key. It reports an error for a disk whose key differs from the root disk's.
func keysTo(p *pass, m *providerSpec, c *infraSpec) {
	eachDisk(p, m, c, func(at *pass, d *disk, v volume) {
		if hasKey(d) {
			*v.key() = keyTo(at.At("encryptionKey"), d.EncryptionKey)
		}
	})
	eachDisk(p, m, c, func(at *pass, d *disk, v volume) {
		if v.root == nil && hasKey(d) && !sameKey(*v.key(), c.RootDiskEncryptionKey) {
			at.Unsupported("encryptionKey", nil, oneKey)
		}
	})
}

// hasKey reports whether a disk has an encryption key. An empty encryptionKey means the same as an absent one.
func hasKey(d *disk) bool {
	return d.EncryptionKey != nil && *d.EncryptionKey != machinev1beta1.GCPEncryptionKeyReference{}
}

func keyTo(p *pass, m *machinev1beta1.GCPEncryptionKeyReference) *gcpv1.CustomerEncryptionKey {
	out := &gcpv1.CustomerEncryptionKey{KeyType: gcpv1.CustomerManagedKey, ManagedKey: &gcpv1.ManagedKey{}}
	if m.KMSKey == nil {
		p.Required("kmsKey", "name the key, or leave encryptionKey out. Without kmsKey, Machine API encrypts the disk with Google's keys, not with yours")
		return nil
	}
	out.ManagedKey.KMSKeyName = kmsName(p.At("kmsKey"), *m.KMSKey)
	if account := m.KMSKeyServiceAccount; account != "" {
		checkAccount(p, account)
		out.KMSKeyServiceAccount = &account
	}
	return out
}

func kmsName(p *pass, k machinev1beta1.GCPKMSKeyReference) string {
	if k.ProjectID == "" {
		k.ProjectID = project(p)
	}
	if !keyProject.MatchString(k.ProjectID) {
		p.Unsupported("projectID", k.ProjectID,
			"Cluster API accepts only letters, digits, and -_: in the project of an encryption key. Give the project's ID")
	}
	checkKeyPart(p, "name", k.Name)
	checkKeyPart(p, "keyRing", k.KeyRing)
	checkKeyPart(p, "location", k.Location)
	name := fmt.Sprintf("projects/%s/locations/%s/keyRings/%s/cryptoKeys/%s", k.ProjectID, k.Location, k.KeyRing, k.Name)
	if len(name) > longestKeyName {
		p.Unsupported("", name, fmt.Sprintf("the full name of the encryption key, with its project, location and key ring, has more than %d characters, "+
			"which Cluster API does not accept. Use a key with a shorter name, or leave Machine API authoritative", longestKeyName))
	}
	return name
}

func checkKeyPart(p *pass, path, part string) {
	switch {
	case part == "":
		p.Required(path, "set this field: an encryption key needs a name, a key ring and a location")
	case !keyPart.MatchString(part):
		p.Invalid(path, part, "may contain only letters, digits, and -_")
	}
}

func checkAccount(p *pass, account string) {
	switch {
	case len(account) > longestAccount:
		p.Unsupported("kmsKeyServiceAccount", account, fmt.Sprintf(
			"Cluster API accepts a service account of at most %d characters: use another account", longestAccount))
	case !serviceAccount.MatchString(account):
		p.Unsupported("kmsKeyServiceAccount", account,
			"Cluster API accepts only a service account that belongs to a project: give NAME@PROJECT.iam.gserviceaccount.com")
	}
}

func keysFrom(p *pass, c *infraSpec, m *providerSpec) {
	eachVolume(p, c, m, func(at *pass, v volume, d *disk) {
		key, path := *v.key(), "encryptionKey"
		if v.root != nil {
			path = "rootDiskEncryptionKey"
		}
		if key == nil {
			return
		}
		if v.root == nil && !sameKey(key, c.RootDiskEncryptionKey) {
			at.Invalid(path, nil, oneKey)
		}
		d.EncryptionKey = keyFrom(at.At(path), key)
	})
}

func keyFrom(p *pass, c *gcpv1.CustomerEncryptionKey) *machinev1beta1.GCPEncryptionKeyReference {
	out := &machinev1beta1.GCPEncryptionKeyReference{KMSKeyServiceAccount: text(c.KMSKeyServiceAccount)}
	if c.KMSKeyServiceAccount != nil {
		checkAccount(p, out.KMSKeyServiceAccount)
	}
	if c.KeyType != gcpv1.CustomerManagedKey {
		p.Unsupported("keyType", string(c.KeyType), "Machine API accepts only keys from Google's key management service: set keyType to Managed")
		return out
	}
	if c.ManagedKey == nil {
		p.Required("managedKey", "an encryption key of type Managed needs a name: set managedKey")
		return out
	}
	name := keyName.FindStringSubmatch(c.ManagedKey.KMSKeyName)
	if name == nil {
		p.Unsupported("managedKey.kmsKeyName", c.ManagedKey.KMSKeyName,
			"Machine API does not accept a certain version of a key: give projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/NAME")
		return out
	}
	out.KMSKey = &machinev1beta1.GCPKMSKeyReference{ProjectID: name[1], Location: name[2], KeyRing: name[3], Name: name[4]}
	return out
}
