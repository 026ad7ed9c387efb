// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

// alive returns the instances of the play's Machines that are not gone.
func (p *play) alive() []string {
	var out []string
	for _, i := range stage.Cloud.Instances() {
		if p.owns(i.Machine.Name) && !i.Gone() {
			out = append(out, i.Machine.Name+" "+i.ID)
		}
	}
	return out
}
