// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

// Credentials returns the name of the Secret, in Machine API's namespace, with which the cluster's machine controllers access the cloud.
func (e *Env) Credentials() string {
	if e.CredentialsSecret != "" {
		return e.CredentialsSecret
	}
	return e.Platform.CredentialsSecret
}

// OwnCredentials adds an error if a providerSpec's credentialsSecret is not the Secret of the cluster's machine controllers (Env.Credentials), because
// Cluster API has one set of credentials for all machines. An empty name means the same as an absent credentialsSecret.
func (p *Pass) OwnCredentials(name string) {
	if want := p.Env.Credentials(); name != "" && name != want {
		p.Differs("credentialsSecret.name", name, "the cluster's credentials secret", want)
	}
}

// UserData sets the Machine's bootstrap Secret to the providerSpec's Secret with user data. An empty name is an error.
func (p *Pass) UserData(name string) {
	if name == "" {
		p.Required("userDataSecret.name", "Cluster API creates no Machine without bootstrap data: name the Secret that contains the user data")
		return
	}
	p.Core.BootstrapSecret = &name
}

// UserDataBack returns the name of the Machine's Secret with bootstrap data; "" if there is none.
func (p *Pass) UserDataBack() string {
	if p.Core.BootstrapSecret == nil {
		return ""
	}
	return *p.Core.BootstrapSecret
}

// OwnNamespace adds an error if the namespace of a Secret is not Machine API's. An absent namespace means Machine API's.
func (p *Pass) OwnNamespace(path, namespace string) {
	if want := p.Env.MachineAPINamespace; namespace != "" && namespace != want {
		p.Differs(path, namespace, "Machine API's namespace", want)
	}
}
