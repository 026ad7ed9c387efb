module github.com/poundlock/poundlock/test/providers

go 1.26.0

require sigs.k8s.io/cluster-api-provider-ibmcloud v0.13.1
