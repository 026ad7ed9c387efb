module github.com/poundlock/poundlock/test/formercore

go 1.26.0

require sigs.k8s.io/cluster-api v1.10.10
