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

{{/* One pod: `root` (the chart's scope), `component`, `command`, `resources`, `more` (a map for the container), `role` (owner,
web or signing: its secret), `queues`, `grace` (seconds), `once` (a job). */}}
{{- define "larder.pod" -}}
{{- $kek := eq .role "signing" | ternary .root.Values.existingSecrets.signingKek "" }}
metadata:
  labels:
    {{- include "larder.selector" . | nindent 4 }}
spec:
  serviceAccountName: {{ .root.Release.Name }}-larder{{ if eq .role "signing" }}-signing{{ end }}
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: {{ .grace }}
  {{- if .once }}
  restartPolicy: OnFailure
  {{- end }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: {{ .component }}
      image: {{ include "larder.image" .root | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ .command | toJson }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      envFrom:
        - secretRef: {name: {{ .root.Values.existingSecrets.environment | quote }}}
        {{- with get .root.Values.existingSecrets .role }}
        - secretRef: {name: {{ . | quote }}}
        {{- end }}
      env:
        - {name: LARDER_PUBLIC_URL, value: {{ required "publicUrl is needed, for example https://registry.acme.example" .root.Values.publicUrl | quote }}}
        - {name: LARDER_TLS, value: "off"}
        - {name: LARDER_LISTEN, value: "0.0.0.0:8080"}
        - {name: LARDER_TRUSTED_PROXIES, value: {{ .root.Values.trustedProxies | quote }}}
        - {name: LARDER_SECRET_KEY_FILE, value: /secrets/larder/secret_key}
        - {name: LARDER_INSTANCES, value: {{ max 2 (int .root.Values.web.replicas) | quote }}}
        - {name: LARDER_STOP_NOTICE_SECONDS, value: "10"}
        - {name: LARDER_DRAIN_SECONDS, value: {{ .root.Values.web.drainSeconds | quote }}}
        - {name: LARDER_WORKER_QUEUES, value: {{ .queues | default "check notify" }}}
        {{- if $kek }}
        - {name: LARDER_SIGNING_KEK_FILE, value: /secrets/signing/kek}
        {{- end }}
        {{- range $name, $value := merge (dict) (eq .role "signing" | ternary .root.Values.signingWorker.env (dict)) .root.Values.env }}
        - {name: {{ $name }}, value: {{ $value | quote }}}
        {{- end }}
      resources:
        {{- toYaml .resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        - {name: secret-key, mountPath: /secrets/larder, readOnly: true}
        {{- if $kek }}
        - {name: signing-kek, mountPath: /secrets/signing, readOnly: true}
        {{- end }}
      {{- with .more }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
  volumes:
    - {name: data, emptyDir: {}}
    - {name: tmp, emptyDir: {}}
    - {name: secret-key, secret: {secretName: {{ .root.Values.existingSecrets.secretKey | quote }}, defaultMode: 0440}}
    {{- if $kek }}
    - {name: signing-kek, secret: {secretName: {{ $kek | quote }}, defaultMode: 0440}}
    {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
