// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp

import (
	"fmt"
	"math"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"
)

// text returns the string behind a pointer, "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func machineTypeTo(p *pass, m *providerSpec, c *infraSpec) {
	if c.InstanceType = m.MachineType; c.InstanceType == "" {
		p.Required("machineType", "Cluster API chooses no machine type by itself: name the type, such as n2-standard-4")
	}
}

func machineTypeFrom(p *pass, c *infraSpec, m *providerSpec) {
	if m.MachineType = c.InstanceType; m.MachineType == "" {
		p.Required("instanceType", "set the type of the instance, such as n2-standard-4")
	}
}

func userDataTo(p *pass, m *providerSpec, _ *infraSpec) {
	secret := ptr.Deref(m.UserDataSecret, corev1.LocalObjectReference{})
	p.UserData(secret.Name)
	if secret.Name != "" && p.Core.BootsWindows() {
		p.Unsupported("userDataSecret.name", secret.Name,
			"a Windows instance reads its script from the metadata key windows-startup-script-ps1, but Cluster API's provider does not write this key: "+
				"leave Machine API authoritative for the MachineSet")
	}
}

func userDataFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if secret := p.UserDataBack(); secret != "" {
		m.UserDataSecret = &corev1.LocalObjectReference{Name: secret}
	}
}

func credentialsTo(p *pass, m *providerSpec, _ *infraSpec) {
	if m.CredentialsSecret != nil {
		p.OwnCredentials(m.CredentialsSecret.Name)
	}
}

func credentialsFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if name := p.Env.Credentials(); name != "" {
		m.CredentialsSecret = &corev1.LocalObjectReference{Name: name}
	}
}

const oneAccount = "Cluster API gives an instance exactly one service account"

func accountsTo(p *pass, m *providerSpec, c *infraSpec) {
	if len(m.ServiceAccounts) == 0 {
		p.Required("serviceAccounts", oneAccount+", and uses the project's default account if none is named: name a service account, or leave Machine "+
			"API authoritative")
	}
	for i, a := range m.ServiceAccounts {
		at := p.At(fmt.Sprintf("serviceAccounts[%d]", i))
		if i > 0 {
			at.Unsupported("", a.Email, oneAccount+": keep the first one and remove the others, or leave Machine API authoritative")
			continue
		}
		checkScopes(at, a.Email, a.Scopes)
		c.ServiceAccount = &gcpv1.ServiceAccount{Email: a.Email, Scopes: a.Scopes}
	}
}

func accountsFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.ServiceAccount == nil {
		p.Required("serviceAccounts",
			"Machine API gives an instance no service account by itself: name one. To name the account that Cluster API uses by default, set email to "+
				"default and scopes to https://www.googleapis.com/auth/cloud-platform")
		return
	}
	checkScopes(p.At("serviceAccounts"), c.ServiceAccount.Email, c.ServiceAccount.Scopes)
	m.ServiceAccounts = []machinev1beta1.GCPServiceAccount{{Email: c.ServiceAccount.Email, Scopes: c.ServiceAccount.Scopes}}
}

func checkScopes(p *pass, email string, scopes []string) {
	if email == "" {
		p.Required("email", "set the email of the service account")
	}
	if len(scopes) == 0 {
		p.Required("scopes", "a service account without a scope has no rights: add a scope")
	}
}

// scheduling has the fields of a spec that are about maintenance, restarts and price. It has one form for the specs of both APIs.
type scheduling struct {
	preemptible, spot, gpus          bool
	maintenance, confidential, shape string
}

const (
	spotInstance = string(gcpv1.ProvisioningModelSpot)
	terminate    = string(gcpv1.HostMaintenancePolicyTerminate)
	migrate      = string(gcpv1.HostMaintenancePolicyMigrate)

	forwardingEnabled, forwardingDisabled = gcpv1.IPForwardingEnabled, gcpv1.IPForwardingDisabled
)

// word returns the text behind a pointer to a string type, "" for nil.
func word[W ~string](w *W) string {
	if w == nil {
		return ""
	}
	return string(*w)
}

func schedulingOf(m *providerSpec) scheduling {
	return scheduling{
		preemptible: m.Preemptible, spot: word(m.ProvisioningModel) == spotInstance, gpus: len(m.GPUs) > 0,
		maintenance: string(m.OnHostMaintenance), confidential: string(m.ConfidentialCompute), shape: m.MachineType,
	}
}

func schedulingFrom(c *infraSpec) scheduling {
	return scheduling{
		preemptible: c.Preemptible, spot: word(c.ProvisioningModel) == spotInstance, gpus: len(c.GuestAccelerators) > 0,
		maintenance: word(c.OnHostMaintenance), confidential: word(c.ConfidentialCompute), shape: c.InstanceType,
	}
}

func spotTo(p *pass, m *providerSpec, c *infraSpec) {
	if word(m.ProvisioningModel) == "" {
		return
	}
	checkSpot(p, schedulingOf(m))
	model := gcpv1.ProvisioningModel(*m.ProvisioningModel)
	if model != gcpv1.ProvisioningModelSpot {
		p.Invalid("provisioningModel", string(model), "must be \"Spot\", or absent for a standard instance")
	}
	c.ProvisioningModel = &model
}

func spotFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.ProvisioningModel == nil {
		return
	}
	checkSpot(p, schedulingFrom(c))
	if *c.ProvisioningModel == gcpv1.ProvisioningModelStandard && !c.Preemptible {
		return // Standard is Google's default, so an absent model means the same
	}
	model := machinev1beta1.GCPProvisioningModelType(*c.ProvisioningModel)
	if model != machinev1beta1.GCPSpotInstance {
		p.Unsupported("provisioningModel", string(model), "supported values: \"Spot\" and, for an instance that is not preemptible, \"Standard\"")
	}
	m.ProvisioningModel = &model
}

func checkSpot(p *pass, s scheduling) {
	if s.spot && s.preemptible {
		p.Invalid("preemptible", true, "an instance is either preemptible or Spot, not both: remove preemptible or provisioningModel")
	}
}

func maintenanceTo(p *pass, m *providerSpec, c *infraSpec) {
	checkMaintenance(p, schedulingOf(m))
	if m.OnHostMaintenance != "" {
		c.OnHostMaintenance = new(gcpv1.HostMaintenancePolicy(m.OnHostMaintenance))
	}
}

func maintenanceFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.OnHostMaintenance != nil && *c.OnHostMaintenance == "" {
		p.Invalid("onHostMaintenance", "", "must not be empty: set a policy, or remove this field")
	}
	checkMaintenance(p, schedulingFrom(c))
	m.OnHostMaintenance = machinev1beta1.GCPHostMaintenanceType(word(c.OnHostMaintenance))
}

// checkMaintenance reports an error for an unknown policy. It also reports one if Google cannot migrate the running instance and the policy is not Terminate.
// For a confidential instance, Cluster API's webhook requires Terminate. For an instance with GPUs, Cluster API sets Terminate by default, but Machine API
// sets it only if the providerSpec has it.
func checkMaintenance(p *pass, s scheduling) {
	const path = "onHostMaintenance"
	switch {
	case s.maintenance != "" && s.maintenance != terminate && s.maintenance != migrate:
		p.Invalid(path, s.maintenance, "supported values: \"Migrate\", \"Terminate\"")
	case s.maintenance != terminate && (s.gpus || isConfidential(s.confidential)), s.maintenance == migrate && strings.HasPrefix(s.shape, attachedGPUs):
		p.Invalid(path, s.maintenance, "must be Terminate, because Google cannot migrate a running instance that has GPUs or is confidential")
	}
}

// attachedGPUs is the prefix of the machine types with GPUs that Machine API's webhook recognises.
const attachedGPUs = "a2-"

func isConfidential(policy string) bool {
	return policy != "" && policy != string(gcpv1.ConfidentialComputePolicyDisabled)
}

// confidentialSeries lists, for each policy of confidential computing, the series of machine types that both APIs' webhooks accept.
var confidentialSeries = map[string][]string{
	string(gcpv1.ConfidentialComputePolicyEnabled): {"n2d", "c2d", "c3d"},
	string(gcpv1.ConfidentialComputePolicySEV):     {"n2d", "c2d", "c3d"},
	string(gcpv1.ConfidentialComputePolicySEVSNP):  {"n2d"},
	string(gcpv1.ConfidentialComputePolicyTDX):     {"c3"},
}

func confidentialTo(p *pass, m *providerSpec, c *infraSpec) {
	checkConfidential(p, schedulingOf(m))
	if m.ConfidentialCompute != "" {
		c.ConfidentialCompute = new(gcpv1.ConfidentialComputePolicy(m.ConfidentialCompute))
	}
}

func confidentialFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.ConfidentialCompute != nil && *c.ConfidentialCompute == "" {
		p.Invalid("confidentialCompute", "", "must not be empty: set a policy, or remove this field")
	}
	checkConfidential(p, schedulingFrom(c))
	m.ConfidentialCompute = machinev1beta1.ConfidentialComputePolicy(word(c.ConfidentialCompute))
}

func checkConfidential(p *pass, s scheduling) {
	const path = "confidentialCompute"
	if !isConfidential(s.confidential) {
		return
	}
	series, known := confidentialSeries[s.confidential]
	mine, _, _ := strings.Cut(s.shape, "-")
	switch {
	case !known:
		p.Invalid(path, s.confidential,
			"supported values: \"Disabled\", \"Enabled\", \"AMDEncryptedVirtualization\", \"AMDEncryptedVirtualizationNestedPaging\", \"IntelTrustedDomainExtensions\"")
	case !slices.Contains(series, mine):
		p.Invalid(path, s.confidential, fmt.Sprintf("this policy needs a machine type of the series %s, not %q", strings.Join(series, ", "), s.shape))
	}
}

// restartTo accepts a restart policy only if it equals Google's own rule, and then leaves it out. Google restarts a standard instance, and cannot restart a
// preemptible or Spot instance. Any other policy is an error, because Cluster API has no restart policy.
func restartTo(p *pass, m *providerSpec, _ *infraSpec) {
	fleeting := m.Preemptible || word(m.ProvisioningModel) == spotInstance
	switch m.RestartPolicy {
	case "":
	case machinev1beta1.RestartPolicyAlways:
		if fleeting {
			p.Invalid("restartPolicy", string(m.RestartPolicy), "a preemptible or Spot instance cannot be restarted: leave restartPolicy out")
		}
	case machinev1beta1.RestartPolicyNever:
		if !fleeting {
			p.Unsupported("restartPolicy", string(m.RestartPolicy),
				"must be Always or absent, because Cluster API has no restart policy, and Google restarts standard instances")
		}
	default:
		p.Invalid("restartPolicy", string(m.RestartPolicy), "supported values: \"Always\", \"Never\"")
	}
}

func shieldedTo(p *pass, m *providerSpec, c *infraSpec) {
	s := m.ShieldedInstanceConfig
	if s == (machinev1beta1.GCPShieldedInstanceConfig{}) {
		return
	}
	c.ShieldedInstanceConfig = &gcpv1.GCPShieldedInstanceConfig{
		SecureBoot:                       gcpv1.SecureBootPolicy(s.SecureBoot),
		VirtualizedTrustedPlatformModule: gcpv1.VirtualizedTrustedPlatformModulePolicy(s.VirtualizedTrustedPlatformModule),
		IntegrityMonitoring:              gcpv1.IntegrityMonitoringPolicy(s.IntegrityMonitoring),
	}
	checkShielded(p.At("shieldedInstanceConfig"), *c.ShieldedInstanceConfig)
}

func shieldedFrom(p *pass, c *infraSpec, m *providerSpec) {
	s := c.ShieldedInstanceConfig
	if s == nil {
		return
	}
	checkShielded(p.At("shieldedInstanceConfig"), *s)
	m.ShieldedInstanceConfig = machinev1beta1.GCPShieldedInstanceConfig{
		SecureBoot:                       machinev1beta1.SecureBootPolicy(s.SecureBoot),
		VirtualizedTrustedPlatformModule: machinev1beta1.VirtualizedTrustedPlatformModulePolicy(s.VirtualizedTrustedPlatformModule),
		IntegrityMonitoring:              machinev1beta1.IntegrityMonitoringPolicy(s.IntegrityMonitoring),
	}
}

func checkShielded(p *pass, s gcpv1.GCPShieldedInstanceConfig) {
	onOff(p, "secureBoot", string(s.SecureBoot))
	onOff(p, "virtualizedTrustedPlatformModule", string(s.VirtualizedTrustedPlatformModule))
	onOff(p, "integrityMonitoring", string(s.IntegrityMonitoring))
	if s.IntegrityMonitoring != gcpv1.IntegrityMonitoringPolicyDisabled &&
		s.VirtualizedTrustedPlatformModule == gcpv1.VirtualizedTrustedPlatformModulePolicyDisabled {
		p.Invalid("integrityMonitoring", string(s.IntegrityMonitoring),
			"integrityMonitoring needs the virtualizedTrustedPlatformModule, which is Disabled: set integrityMonitoring to Disabled too, because an absent "+
				"value means Enabled")
	}
}

func onOff(p *pass, path, word string) {
	if word != "" && word != "Enabled" && word != "Disabled" {
		p.Invalid(path, word, "supported values: \"Disabled\", \"Enabled\"")
	}
}

// gpuTypes lists the types of GPUs that Machine API accepts.
var gpuTypes = []string{"nvidia-tesla-k80", "nvidia-tesla-p100", "nvidia-tesla-p4", "nvidia-tesla-t4", "nvidia-tesla-v100"}

const (
	oneGPU  = "Machine API accepts only one type of GPU on an instance: keep the first entry, and remove the others"
	someGPU = "must be at least 1"
)

// gpuPath returns the full name of a type of GPU, which Google and Cluster API use.
func gpuPath(project, zone, kind string) string {
	return fmt.Sprintf("projects/%s/zones/%s/acceleratorTypes/%s", project, zone, kind)
}

func gpusTo(p *pass, m *providerSpec, c *infraSpec) {
	for i, g := range m.GPUs {
		at := p.At(fmt.Sprintf("gpus[%d]", i))
		if i > 0 {
			at.Invalid("", nil, oneGPU)
		}
		if g.Count < 1 {
			at.Invalid("count", g.Count, someGPU)
		}
		if !slices.Contains(gpuTypes, g.Type) {
			at.Invalid("type", g.Type, "supported values: "+strings.Join(gpuTypes, ", "))
		}
		c.GuestAccelerators = append(c.GuestAccelerators, gcpv1.Accelerator{Count: int64(g.Count), Type: gpuPath(project(p), m.Zone, g.Type)})
	}
}

func gpusFrom(p *pass, c *infraSpec, m *providerSpec) {
	for i, g := range c.GuestAccelerators {
		at := p.At(fmt.Sprintf("guestAccelerators[%d]", i))
		if i > 0 {
			at.Unsupported("", nil, oneGPU)
		}
		if g.Count < 1 || g.Count > math.MaxInt32 {
			at.Invalid("count", g.Count, someGPU)
			continue
		}
		here := gpuPath(project(p), p.Core.FailureDomain, "")
		kind, ok := strings.CutPrefix(g.Type, here)
		if !ok || !slices.Contains(gpuTypes, kind) {
			at.Unsupported("type", g.Type, fmt.Sprintf(
				"must be %s followed by one of the types that Machine API accepts: %s", here, strings.Join(gpuTypes, ", ")))
		}
		m.GPUs = append(m.GPUs, machinev1beta1.GCPGPUConfig{Count: int32(g.Count), Type: kind})
	}
}
