{{- define "spangrove.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "spangrove.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "spangrove.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "spangrove.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "spangrove.selector" -}}
app.kubernetes.io/name: {{ include "spangrove.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "spangrove.labels" -}}
{{ include "spangrove.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* What values cannot go together, said before anything is installed. */}}
{{- define "spangrove.check" -}}
{{- if eq .Values.database "sqlite" }}
{{- if gt (int .Values.replicaCount) 1 }}
{{- fail "replicaCount: SQLite is one server's; set database to postgres for more than one replica" }}
{{- end }}
{{- if .Values.autoscaling.enabled }}
{{- fail "autoscaling.enabled: SQLite is one server's; set database to postgres for more than one replica" }}
{{- end }}
{{- range $name, $secret := .Values.postgres }}
{{- if $secret.name }}
{{- fail (printf "postgres.%s.name: database is sqlite, which has no connection string; set database to postgres" $name) }}
{{- end }}
{{- end }}
{{- else }}
{{- if not .Values.postgres.dsnSecret.name }}
{{- fail "postgres.dsnSecret.name: database is postgres, which needs a secret with the connection string" }}
{{- end }}
{{- if not .Values.apiKeySecret.name }}
{{- fail "apiKeySecret.name: with postgres there is no volume to keep a generated key; name a secret with one" }}
{{- end }}
{{- if not .Values.encryptionSecret.name }}
{{- fail "encryptionSecret.name: with postgres there is no volume to keep a generated secret, and all replicas need the same; name a secret with one" }}
{{- end }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) }}
{{- fail "metrics.serviceMonitor.enabled: needs metrics.enabled" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.host: must not be empty" }}
{{- end }}
{{- if gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas) }}
{{- fail "autoscaling.minReplicas: must not be more than autoscaling.maxReplicas" }}
{{- end }}
{{- end }}
