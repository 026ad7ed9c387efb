// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package instanceid_test

import (
	"testing"

	"github.com/poundlock/poundlock/internal/instanceid"
)

func TestKey(t *testing.T) {
	for key, spellings := range map[string][]string{
		"i-1": {
			"aws:///us-east-1a/i-1", "aws:///us-east-1b/i-1", "aws:///us-east-1a/i-1/", "aws:///us-east-1a//i-1", "aws:////i-1//", "aws://i-1",
			"AWS:///us-east-1a/I-1", " aws:///us-east-1a/i-1", "aws:///us-east-1a/i-1\n", "aws:///us-east-1a/i-1\t ", "aws:///us-east-1a/i-\u200b1",
			"aws:///us-east-1a/i-1\u00a0", "other:///us-east-1a/i-1", "i-1", "/i-1", "i-1/",
		},
		"u-1": {
			"openstack:///u-1", "openstack://RegionOne/u-1", "openstack://RegionOne//u-1/", "nutanix://u-1", "nutanix://cluster/U-1",
			"ibmpowervs://dal/dal10/w-1/u-1", "ibmpowervs://dal/dal12/w-1/u-1", "ibmpowervs://wdc/wdc06/w-1/u-1", "ibmpowervs://dal/dal10/w-2/U-1/",
			"ibmpowervs:///u-1",
		},
		"azure://subscriptions/a/resourcegroups/b": {"azure:///subscriptions/A/resourceGroups/b", "azure:///subscriptions/a/resourcegroups/b/"},
		"azure://subscriptions/c/resourcegroups/b": {"azure:///subscriptions/c/resourceGroups/b"},
		"gce://p/z/n": {"gce://p/z/n", "gce:///p/z//n", "GCE://p/z/n/"},
		"gce://p/y/n": {"gce://p/y/n"},
		"4235-a":      {"vsphere://4235-A", "vsphere:///4235-a/", "vsphere://datacenter/4235-a"},
		"0717_n":      {"ibm://account///cluster/0717_n", "ibm://account///other/0717_n"},
		"":            {"", " ", "/", "aws://", "aws:///", " aws:////\n"},
	} {
		for _, id := range spellings {
			if got := instanceid.Key(id); got != key {
				t.Errorf("%q: %q, want %q", id, got, key)
			}
			if got := instanceid.Key(instanceid.Key(id)); got != key {
				t.Errorf("%q: the key of its key is %q, want %q", id, got, key)
			}
			if got := instanceid.Tail(id); got != instanceid.Tail(key) {
				t.Errorf("%q ends with %q, and its key with %q", id, got, instanceid.Tail(key))
			}
		}
	}
}

func TestKeyOn(t *testing.T) {
	for _, c := range []struct{ platform, id, want string }{
		{"aws", "aws:///us-east-1a/i-1", "i-1"}, {"aws", "gce://p/z/i-1", "i-1"}, {"aws", "azure:///subscriptions/a/I-1/", "i-1"}, {"aws", "i-1", "i-1"},
		{"vsphere", "gce://p/z/4235-A", "4235-a"},
		{"gce", "gce://p/z/n", "gce://p/z/n"}, {"gce", "aws://p/z/N", "gce://p/z/n"}, {"gce", "p/z/n", "gce://p/z/n"}, {"gce", "aws:///y/n", "gce://y/n"},
		{"azure", "azure:///subscriptions/a/b", "azure://subscriptions/a/b"}, {"azure", "/subscriptions/A/b", "azure://subscriptions/a/b"},
		{"", "gce://p/z/n", "gce://p/z/n"}, {"", "aws:///z/i-1", "i-1"},
		{"aws", "", ""}, {"gce", "gce://", ""}, {"aws", " / ", ""},
	} {
		got := instanceid.KeyOn(c.platform, c.id)
		if got != c.want || instanceid.KeyOn(c.platform, got) != got {
			t.Errorf("%q on %q: %q, and of that %q, want %q", c.id, c.platform, got, instanceid.KeyOn(c.platform, got), c.want)
		}
		if instanceid.Tail(got) != instanceid.Tail(c.id) {
			t.Errorf("%q on %q: an index by the end does not find %q", c.id, c.platform, got)
		}
	}
}

func TestScheme(t *testing.T) {
	for id, want := range map[string]string{
		"aws:///z/i-1": "aws", " AWS:///z/i-1": "aws", "gce://p/z/i-1": "gce", "i-1": "", "": "", "://i-1": "", "azure:///subscriptions/a://b": "azure",
	} {
		if got := instanceid.Scheme(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	const azure = "/subscriptions/A/resourceGroups/b/providers/Microsoft.Compute/virtualMachines/n"
	for _, c := range []struct {
		id, providerID string
		want           bool
	}{
		{"i-1", "aws:///z/i-1", true},
		{"I-1", "aws:///z/i-1/", true},
		{"i-1/", "aws:///z/i-1", true},
		{" i-1", "aws:///z//i-1", true},
		{"aws:///y/i-1", "aws:///z/i-1", true},
		{"-1", "aws:///z/i-1", false},
		{"i-1", "aws:///z/i-11", false},
		{"i-1", "", false},
		{"", "aws:///z/i-1", false},
		{"/", "aws:///z/i-1", false},
		{azure, "azure://" + azure, true},
		{"4235-a", "vsphere://4235-A", true},
		{"n", "gce://p/z/n", true},
		{"p/n", "gce://p/z/n", false},
		{"gce://p/y/n", "gce://p/z/n", false},
		{"u-1", "ibmpowervs://dal/dal10/w-1/u-1", true},
		{"ibmpowervs://dal/dal12/w-2/u-1", "ibmpowervs://dal/dal10/w-1/u-1", true},
		{"ibmpowervs://dal/dal10/w-1/u-1", "ibmpowervs://dal/dal10/w-1/u-2", false},
	} {
		if got := instanceid.Names(c.id, c.providerID); got != c.want {
			t.Errorf("%q names the instance of %q: %t, want %t", c.id, c.providerID, got, c.want)
		}
	}
}
