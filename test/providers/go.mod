module github.com/poundlock/poundlock/test/providers

go 1.26.0

require (
	github.com/nutanix-cloud-native/cluster-api-provider-nutanix v1.9.2
	sigs.k8s.io/cluster-api-provider-ibmcloud v0.13.1
	sigs.k8s.io/cluster-api-provider-kubevirt v0.11.2
)
