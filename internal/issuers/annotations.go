// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package issuers

// Annotations of OpenShift's service CA.
const (
	// ServingCert, on a Service, names the Secret for its certificate.
	ServingCert = "service.beta.openshift.io/serving-cert-secret-name"
	// OriginatingService, on a Secret, names the Service of its certificate.
	OriginatingService = "service.beta.openshift.io/originating-service-name"
	// InjectCABundle on an object makes the service CA write its CA into the object.
	InjectCABundle = "service.beta.openshift.io/inject-cabundle"
)

// Annotations of cert-manager.
const (
	// CertificateName, on a Secret, names the Certificate for which it was issued.
	CertificateName = "cert-manager.io/certificate-name"
	// InjectCAFrom, InjectCAFromSecret and InjectAPIServerCA on an object make cert-manager write a CA into the object.
	InjectCAFrom       = "cert-manager.io/inject-ca-from"
	InjectCAFromSecret = "cert-manager.io/inject-ca-from-secret"
	InjectAPIServerCA  = "cert-manager.io/inject-apiserver-ca"
)
