//go:build programs

// Package programs imports the commands, so that go.mod and go.sum list their dependencies.
package programs

import _ "helm.sh/helm/v4/cmd/helm"
