{{- define "punctual.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* At most 40 characters, so that names with a suffix stay valid. */}}
{{- define "punctual.fullname" -}}
{{- $name := include "punctual.name" . }}
{{- if .Values.fullnameOverride }}
{{- $name = .Values.fullnameOverride }}
{{- else if not (contains $name .Release.Name) }}
{{- $name = printf "%s-%s" .Release.Name $name }}
{{- else }}
{{- $name = .Release.Name }}
{{- end }}
{{- $name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "punctual.selectorLabels" -}}
app.kubernetes.io/name: {{ include "punctual.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "punctual.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "punctual.selectorLabels" . }}
app.kubernetes.io/component: controller
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "punctual.serviceAccountName" -}}
{{- $own := .Values.serviceAccount.create | ternary (include "punctual.fullname" .) "default" }}
{{- default $own .Values.serviceAccount.name }}
{{- end }}

{{- define "punctual.leaseName" -}}
{{- default (include "punctual.fullname" .) .Values.leaderElection.leaseName }}
{{- end }}

{{- define "punctual.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* The permissions in managed namespaces. A test checks that the API server denies all others. */}}
{{- define "punctual.rules" -}}
{{- range $kind := .Values.kinds }}
{{- $group := eq $kind "cronjobs" | ternary "batch" "punctual.dev" }}
# patch: writes the annotations schedule-since and missed.
- apiGroups: [{{ $group }}]
  resources: [{{ $kind }}]
  verbs: [get, list, watch, patch]
# finalizers: allows Jobs with blockOwnerDeletion.
- apiGroups: [{{ $group }}]
  resources: [{{ $kind }}/status, {{ $kind }}/finalizers]
  verbs: [update]
{{- end }}
# delete: removes finished RunRequests.
- apiGroups: [punctual.dev]
  resources: [runrequests]
  verbs: [get, list, watch, patch, delete]
- apiGroups: [punctual.dev]
  resources: [runrequests/status]
  verbs: [update]
# patch: removes the finalizer of Punctual, and sets the deadline of runs that never start.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{- define "punctual.subject" -}}
- kind: ServiceAccount
  name: {{ include "punctual.serviceAccountName" . | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end }}
