{{/* What every name begins with: the release, and the chart where the release does not say it. */}}
{{- define "larder.name" -}}
{{- $name := contains "larder" .Release.Name | ternary .Release.Name (printf "%s-larder" .Release.Name) }}
{{- .Values.fullnameOverride | default $name | trunc 46 | trimSuffix "-" }}
{{- end }}

{{- define "larder.labels" -}}
app.kubernetes.io/name: larder
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "larder.selector" -}}
app.kubernetes.io/name: larder
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "larder.image" -}}
{{- if not (or .Values.image.digest .Values.image.tag) }}{{ fail "image.digest is needed, for example sha256:…; or set image.tag, whose image may change later" }}{{ end -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
{{- end }}

{{- define "larder.publicUrl" -}}
{{ required "publicUrl is needed, for example https://registry.acme.example" .Values.publicUrl }}
{{- end }}

{{/* The host of an ingress or a route: its own, or that of publicUrl. */}}
{{- define "larder.host" -}}
{{ .host | default (urlParse (include "larder.publicUrl" .root)).hostname }}
{{- end }}

{{/* The name of a component's values. */}}
{{- define "larder.key" -}}
{{- get (dict "notify-worker" "notifyWorker" "upstream-worker" "upstreamWorker" "signing-worker" "signingWorker" "migrate" "jobs" "roles" "jobs" "test" "jobs") . | default . }}
{{- end }}

{{/* The file of LARDER_SIGN_ON_FILE, which web servers alone have; nothing without a provider. */}}
{{- define "larder.signOn" -}}
{{- $words := dict "issuer" "issuer" "clientId" "client_id" "groupsClaim" "groups_claim" "metadata" "metadata" "entityId" "entity_id" "groupsAttribute" "groups_attribute" "name" "name" "newAccounts" "new_accounts" }}
{{- $providers := dict }}
{{- range $kind := list .Values.signOn.oidc .Values.signOn.saml }}
{{- range $id, $given := $kind }}
{{- if hasKey $providers $id }}{{ fail (printf "signOn.oidc and signOn.saml both have %s" $id) }}{{ end }}
{{- $provider := dict }}
{{- range $field, $word := $words }}{{ with get $given $field }}{{ $_ := set $provider $word . }}{{ end }}{{ end }}
{{- with $given.scopes }}{{ $_ := set $provider "scopes" (splitList "+" .) }}{{ end }}
{{- with $given.secondFactors }}{{ $_ := set $provider "second_factors" (splitList "+" .) }}{{ end }}
{{- with $provider.metadata }}{{ if not (contains "://" .) }}{{ $_ := set $provider "metadata" (printf "/config/saml/%s" .) }}{{ end }}{{ end }}
{{- $_ := set $providers $id $provider }}
{{- end }}
{{- end }}
{{- if $providers }}
{{- $file := dict "providers" $providers }}
{{- if .Values.existingSecrets.signOn }}{{ $_ := set $file "secrets_file" "/secrets/sign-on/oidc" }}{{ end }}
{{- toYaml $file }}
{{- end }}
{{- end }}

{{/* The files of a pod: volume, source (a secret, ConfigMap or claim), folder, and the variables that name a file in it. */}}
{{- define "larder.files" -}}
{{- $secrets := .root.Values.existingSecrets }}
- {name: secret-key, secret: {{ $secrets.secretKey | quote }}, folder: /secrets/larder, variables: {LARDER_SECRET_KEY_FILE: secret_key}}
{{- if and (eq .role "signing") $secrets.signingKek }}
- {name: signing-kek, secret: {{ $secrets.signingKek | quote }}, folder: /secrets/signing, variables: {LARDER_SIGNING_KEK_FILE: kek}}
{{- end }}
{{- if and .root.Values.metrics.enabled (has .component (list "web" "worker" "notify-worker" "upstream-worker" "signing-worker")) }}
- {name: metrics, secret: {{ required "existingSecrets.metrics is needed with metrics.enabled" $secrets.metrics | quote }}, folder: /secrets/metrics, variables: {LARDER_METRICS_TOKEN_FILE: token}}
{{- end }}
{{- if eq .component "web" }}
{{- with $secrets.signOn }}
- {name: sign-on, secret: {{ . | quote }}, folder: /secrets/sign-on, variables: {}}
{{- end }}
{{- if include "larder.signOn" .root }}
- {name: sign-on-file, configMap: {{ include "larder.name" .root }}-sign-on, folder: /config/sign-on, variables: {LARDER_SIGN_ON_FILE: sign-on.yaml}}
{{- end }}
{{- with .root.Values.signOn.samlMetadata }}
- {name: saml, configMap: {{ . | quote }}, folder: /config/saml, variables: {}}
{{- end }}
{{- end }}
{{- with and (eq .component "backup") .root.Values.backup.existingClaim }}
- {name: backup, claim: {{ . | quote }}, folder: /backup, variables: {}}
{{- end }}
{{- with and (eq .component "backup") .root.Values.backup.recipient }}
- {name: recipient, configMap: {{ . | quote }}, folder: /config/backup, variables: {LARDER_BACKUP_RECIPIENT_FILE: recipient}}
{{- end }}
{{- with $secrets.azureKey }}
- {name: azure, secret: {{ . | quote }}, folder: /secrets/azure, variables: {LARDER_AZURE_KEY_FILE: key}}
{{- end }}
{{- with $secrets.googleCredentials }}
- {name: google, secret: {{ . | quote }}, folder: /secrets/google, variables: {GOOGLE_APPLICATION_CREDENTIALS: credentials.json}}
{{- end }}
{{- with .root.Values.caBundle }}
- {name: ca, configMap: {{ . | quote }}, folder: /config/ca, variables: {SSL_CERT_FILE: ca.crt, AWS_CA_BUNDLE: ca.crt, REQUESTS_CA_BUNDLE: ca.crt}}
{{- end }}
{{- end }}

{{/* One pod: `root` (the chart's scope), `component`, `command`, `role` (owner, web, signing or none: its secret), `env` (more
variables), `more` (a map for the container), `grace` (seconds), `once` (a job: its restartPolicy). */}}
{{- define "larder.pod" -}}
{{- $values := .root.Values }}
{{- $own := get $values (include "larder.key" .component) | default dict }}
{{- $all := pick $values "env" "extraEnv" "extraEnvFrom" "extraVolumes" "extraVolumeMounts" "podLabels" "podAnnotations" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" "emptyDir" }}
{{- $pod := mergeOverwrite (deepCopy $all) (deepCopy $own) }}
{{- range list "extraEnv" "extraEnvFrom" "extraVolumes" "extraVolumeMounts" }}
{{- $_ := set $pod . (concat (get $all .) (get $own . | default list)) }}
{{- end }}
{{- $selector := include "larder.selector" . | fromYaml }}
{{- $files := include "larder.files" . | fromYamlArray }}
{{- $env := dict
  "LARDER_PUBLIC_URL" (include "larder.publicUrl" .root)
  "LARDER_TLS" "off"
  "LARDER_LISTEN" (printf "%s:8080" $values.listenAddress)
  "LARDER_TRUSTED_PROXIES" $values.trustedProxies
  "LARDER_INSTANCES" (max 2 (int $values.web.replicas))
  "LARDER_STOP_NOTICE_SECONDS" "10"
  "LARDER_DRAIN_SECONDS" $values.web.drainSeconds
  "LARDER_WORKER_QUEUES" "check notify upstream"
}}
{{- range $file := $files }}{{ range $name, $key := $file.variables }}{{ $_ := set $env $name (printf "%s/%s" $file.folder $key) }}{{ end }}{{ end }}
{{- $env = mergeOverwrite $env (.env | default dict) $pod.env }}
metadata:
  labels:
    {{- merge (dict) $selector $pod.podLabels | toYaml | nindent 4 }}
  {{- $annotations := $pod.podAnnotations | default dict }}
  {{- /* So that another file replaces the pods. */}}
  {{- if eq .component "web" }}{{ with include "larder.signOn" .root }}{{ $annotations = merge (dict "checksum/sign-on" (sha256sum .)) $annotations }}{{ end }}{{ end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "larder.name" .root }}{{ if has .component (list "migrate" "roles") }}-jobs{{ else if eq .role "signing" }}-signing{{ end }}
  automountServiceAccountToken: false
  # Variables of services in the namespace could be called LARDER_….
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .grace }}
  {{- with .once }}
  restartPolicy: {{ . }}
  {{- end }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ include "larder.image" .root | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ .command | toJson }}
      {{- with $values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      envFrom:
        {{- range list $values.existingSecrets.environment (get $values.existingSecrets .role) }}
        {{- with . }}
        - secretRef: {name: {{ . | quote }}}
        {{- end }}
        {{- end }}
        {{- with $pod.extraEnvFrom }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      env:
        {{- range $name, $value := $env }}
        {{- /* toJson, because a large number would be written as 3.1e+07 */}}
        - {name: {{ $name }}, {{ if kindIs "map" $value }}valueFrom: {{ toJson $value }}{{ else }}value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}{{ end }}}
        {{- end }}
        {{- with $pod.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      resources:
        {{- toYaml $own.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        {{- range $files }}
        - {name: {{ .name }}, mountPath: {{ .folder }}{{ if not .claim }}, readOnly: true{{ end }}}
        {{- end }}
        {{- with $pod.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .more }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
  volumes:
    - {name: data, emptyDir: {sizeLimit: {{ $pod.emptyDir.data }}}}
    - {name: tmp, emptyDir: {sizeLimit: {{ $pod.emptyDir.tmp }}}}
    {{- range $files }}
    {{- if .secret }}
    - {name: {{ .name }}, secret: {secretName: {{ .secret | quote }}, defaultMode: 0440}}
    {{- else if .configMap }}
    - {name: {{ .name }}, configMap: {name: {{ .configMap | quote }}}}
    {{- else }}
    - {name: {{ .name }}, persistentVolumeClaim: {claimName: {{ .claim | quote }}}}
    {{- end }}
    {{- end }}
    {{- with $pod.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $pod.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range . }}
    - {{ merge (dict) . (dict "labelSelector" (dict "matchLabels" $selector)) | toYaml | nindent 6 | trim }}
    {{- end }}
  {{- end }}
  {{- range $key := list "priorityClassName" "nodeSelector" "tolerations" "affinity" }}
  {{- with get $pod $key }}
  {{- dict $key . | toYaml | nindent 2 }}
  {{- end }}
  {{- end }}
{{- end }}

{{/* A budget for the pods of one component: the next one is evicted when all are there again. */}}
{{- define "larder.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "larder.name" .root }}-{{ .component }}
  labels:
    {{- include "larder.labels" .root | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "larder.selector" . | nindent 6 }}
{{- end }}

{{/* Of a process without a port: has it gone round its loop within the last minute? */}}
{{- define "larder.probes" -}}
startupProbe: {exec: {command: &check [python, -m, registry_site.healthcheck, {{ . }}]}, periodSeconds: 5, timeoutSeconds: 10, failureThreshold: 60}
livenessProbe: {exec: {command: *check}, periodSeconds: 30, timeoutSeconds: 10, failureThreshold: 3}
{{- end }}
