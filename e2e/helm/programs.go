//go:build programs

// Package programs names the command, so that go.mod and go.sum cover what it needs.
package programs

import _ "helm.sh/helm/v4/cmd/helm"
