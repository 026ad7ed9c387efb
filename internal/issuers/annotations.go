// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package issuers

// Annotations of OpenShift's service CA.
const (
	// ServingCert of a Service names the Secret for its certificate.
	ServingCert = "service.beta.openshift.io/serving-cert-secret-name"
	// OriginatingService of a Secret names the Service that its certificate is of.
	OriginatingService = "service.beta.openshift.io/originating-service-name"
	// InjectCABundle has the CA written into an object.
	InjectCABundle = "service.beta.openshift.io/inject-cabundle"
)

// Annotations of cert-manager.
const (
	// CertificateName of a Secret names the Certificate that it was issued for.
	CertificateName = "cert-manager.io/certificate-name"
	// InjectCAFrom, InjectCAFromSecret and InjectAPIServerCA have a CA written into an object.
	InjectCAFrom       = "cert-manager.io/inject-ca-from"
	InjectCAFromSecret = "cert-manager.io/inject-ca-from-secret"
	InjectAPIServerCA  = "cert-manager.io/inject-apiserver-ca"
)
