// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/issuers"
)

// The keys of the Secret. ca.crt, tls.crt and tls.key have their usual names.
const (
	keyCA         = "ca.crt"
	keyCAKey      = "ca.key"
	keyPrevious   = "ca-previous.crt"
	keyServing    = "tls.crt"
	keyServingKey = "tls.key"

	// labelOurs marks the Secret as written by SelfManaged. A Secret that has data but not this label belongs to somebody else.
	labelOurs = "poundlock.openshift.io/certificates"
	// annotationRetire has the time at which the CAs in ca-previous.crt may leave the caBundles, in the format of RFC 3339.
	annotationRetire = "poundlock.openshift.io/previous-ca-retires"
)

// store writes what was decided, and returns the content of the Secret after that.
func (s *SelfManaged) store(ctx context.Context, st state, p plan, now time.Time) (material, error) {
	foreign, err := s.mine(st)
	if err != nil {
		s.o.Metrics.failed(reasonSecret)
		return material{}, err
	}
	if !p.changed {
		return st.material, nil
	}
	s.complain(st, foreign)
	m, err := made(st.material, p, s.name, s.o.Lifetimes, now)
	if err != nil {
		return material{}, err
	}
	if foreign {
		if err := s.keepCopy(ctx, st.secret); err != nil {
			return material{}, err
		}
	}
	if err := s.write(ctx, st.secret, m); apierrors.IsForbidden(err) || st.secret == nil && apierrors.IsNotFound(err) {
		s.o.Metrics.failed(reasonSecret)
		return material{}, s.noPlace("writing", err)
	} else if err != nil {
		return material{}, conflicted(fmt.Errorf("writing Secret %s: %w", s.o.Secret, err))
	}
	s.announce(p)
	return m, nil
}

// mine reports whether the Secret has data of another owner (foreign). It returns an error if this owner keeps writing the Secret.
func (s *SelfManaged) mine(st state) (foreign bool, err error) {
	if st.secret == nil || len(st.secret.Data) == 0 || st.secret.Labels[labelOurs] != "" || st.material.ca != nil {
		return false, nil
	}
	for _, annotation := range []string{issuers.CertificateName, issuers.OriginatingService} {
		if owner, set := st.secret.Annotations[annotation]; set {
			return true, fmt.Errorf(
				"another component issues the certificate in Secret %s (annotation %s: %s): mount that certificate and set --cert-dir, or name another Secret "+
					"with --cert-secret",
				s.o.Secret, annotation, owner)
		}
	}
	return true, nil
}

// complain reports what is wrong with a Secret that is about to be repaired.
func (s *SelfManaged) complain(st state, foreign bool) {
	var trouble string
	switch {
	case st.secret == nil || len(st.secret.Data) == 0:
		return
	case foreign:
		trouble = fmt.Sprintf("the Secret %s contains data that Poundlock did not write (%s): Poundlock copies the data to Secret %s, and replaces "+
			"the content of the Secret",
			s.o.Secret, strings.Join(slices.Sorted(maps.Keys(st.secret.Data)), ", "), copyName(st.secret))
	case len(st.material.damage) > 0:
		trouble = fmt.Sprintf("the Secret %s is damaged, and Poundlock is repairing the Secret: %s", s.o.Secret, strings.Join(st.material.damage, "; "))
	default:
		return
	}
	s.o.Metrics.failed(reasonSecret)
	s.o.Log.Info("Repairing the Secret", "secret", s.o.Secret, "trouble", trouble)
	s.event(corev1.EventTypeWarning, "CertificateSecretRepaired", trouble)
}

func (s *SelfManaged) announce(p plan) {
	if p.authority != "" {
		s.o.Metrics.rotated(certificateCA)
		s.o.Log.Info("Made a new CA", "secret", s.o.Secret, "why", p.authority)
	}
	if p.serving != "" {
		s.o.Log.Info("Signed a new serving certificate", "secret", s.o.Secret, "why", p.serving)
	}
}

// keepCopy saves the data of another owner's Secret before Poundlock replaces the data. The name of the copy is derived from its content, so that two replicas
// make only one copy.
func (s *SelfManaged) keepCopy(ctx context.Context, secret *corev1.Secret) error {
	saved := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: copyName(secret)},
		Data:       secret.Data,
	}
	err := s.o.Client.Create(ctx, saved, client.FieldOwner(FieldOwner))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("copying the data of Secret %s: %w", s.o.Secret, err)
	}
	return nil
}

func copyName(secret *corev1.Secret) string {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		_, _ = fmt.Fprintf(hash, "%q=%q\n", key, secret.Data[key])
	}
	return fmt.Sprintf("%s-was-%.8x", secret.Name, hash.Sum(nil)[:4])
}

// write creates the Secret, or updates it if it still has the version that was read.
func (s *SelfManaged) write(ctx context.Context, old *corev1.Secret, m material) error {
	data, err := encode(m)
	if err != nil {
		return err
	}
	if old == nil {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.o.Secret.Namespace, Name: s.o.Secret.Name}, Type: corev1.SecretTypeOpaque}
		fill(secret, data, m.retire)
		return s.o.Client.Create(ctx, secret, client.FieldOwner(FieldOwner))
	}
	secret := old.DeepCopy()
	fill(secret, data, m.retire)
	return s.o.Client.Update(ctx, secret, client.FieldOwner(FieldOwner))
}

func fill(secret *corev1.Secret, data map[string][]byte, retire time.Time) {
	secret.Data = data
	metav1.SetMetaDataLabel(&secret.ObjectMeta, labelOurs, "self-managed")
	if retire.IsZero() || len(data[keyPrevious]) == 0 {
		delete(secret.Annotations, annotationRetire)
		return
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, annotationRetire, retire.UTC().Format(time.RFC3339))
}

func encode(m material) (map[string][]byte, error) {
	caKey, err := encodeKey(m.ca.key)
	servingKey, servingErr := encodeKey(m.serving.PrivateKey)
	if err := errors.Join(err, servingErr); err != nil {
		return nil, err
	}
	data := map[string][]byte{
		keyCA:         encodeCertificates(m.ca.cert),
		keyCAKey:      caKey,
		keyServing:    encodeCertificates(m.leaf()),
		keyServingKey: servingKey,
	}
	if len(m.previous) > 0 {
		data[keyPrevious] = encodeCertificates(m.previous...)
	}
	return data, nil
}

func encodeKey(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
