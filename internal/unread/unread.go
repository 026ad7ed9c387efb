// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package unread

// Members returns the paths of the unread members in a platform's providerSpec. [] after the name of a list stands for each of its items.
func Members(platform string) []string {
	if platform == "OpenStack" {
		return []string{
			"sshUserName", "primarySubnet", "rootVolume.sourceType", "rootVolume.deviceType",
			"networks[].fixedIp",
			"networks[].filter.status", "networks[].filter.adminStateUp", "networks[].filter.shared",
			"networks[].filter.marker", "networks[].filter.limit", "networks[].filter.sortKey", "networks[].filter.sortDir",
			"networks[].subnets[].portSecurity",
			"networks[].subnets[].filter.networkId", "networks[].subnets[].filter.subnetpoolId", "networks[].subnets[].filter.enableDhcp",
			"networks[].subnets[].filter.limit", "networks[].subnets[].filter.marker", "networks[].subnets[].filter.sortKey", "networks[].subnets[].filter.sortDir",
			"securityGroups[].filter.limit", "securityGroups[].filter.marker", "securityGroups[].filter.sortKey", "securityGroups[].filter.sortDir",
			"ports[].tenantID", "ports[].projectID", "ports[].hostID",
		}
	}
	return nil
}
