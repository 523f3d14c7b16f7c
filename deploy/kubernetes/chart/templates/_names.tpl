{{/* The labels of every object. */}}
{{- define "tenure.labels" -}}
app.kubernetes.io/name: tenure
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The labels by which a workload finds its pods. They never change. */}}
{{- define "tenure.selector" -}}
app.kubernetes.io/name: tenure
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The prefix of the names: one release in each namespace, and several in a cluster. */}}
{{- define "tenure.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* The prefix of the names of objects without a namespace. */}}
{{- define "tenure.clusterName" -}}
{{ printf "%s-%s" .Release.Namespace (include "tenure.name" .) }}
{{- end }}

{{/* An image's reference: .name, .digest. */}}
{{- define "tenure.image" -}}
{{- $image := .root.Values.image -}}
{{- if .digest -}}
{{ $image.registry }}/{{ .name }}@{{ .digest }}
{{- else -}}
{{ $image.registry }}/{{ .name }}:{{ default .root.Chart.AppVersion $image.tag }}
{{- end -}}
{{- end }}

{{- define "tenure.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Whether the agents follow their Nodes, and whether they remove the start-up taint; empty if not. */}}
{{- define "tenure.followsNode" -}}
{{- if eq .Values.profile "aws" -}}
{{- if and .Values.aws.removeTaint (not .Values.aws.followNode) }}{{ fail "aws.removeTaint: needs aws.followNode" }}{{ end -}}
{{- if .Values.aws.followNode }}true{{ end -}}
{{- end -}}
{{- end }}
{{- define "tenure.removesTaint" -}}
{{- if and (include "tenure.followsNode" .) .Values.aws.removeTaint }}true{{ end -}}
{{- end }}

{{/* Whether the agents of profile aws ask about their pods, and whether those of any profile do; empty if not. */}}
{{- define "tenure.followsPods" -}}
{{- if and (eq .Values.profile "aws") .Values.aws.followPods }}true{{ end -}}
{{- end }}
{{- define "tenure.knowsPods" -}}
{{- if or (and (eq .Values.profile "cluster") .Values.cluster.pools) (include "tenure.followsPods" .) }}true{{ end -}}
{{- end }}

{{/* Whether the agents ask the API server; empty if not. */}}
{{- define "tenure.asksApiServer" -}}
{{- if or (eq .Values.profile "cluster") (include "tenure.followsNode" .) (include "tenure.followsPods" .) }}true{{ end -}}
{{- end }}

{{/* The account of the agents, as the API server names it. */}}
{{- define "tenure.agentUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "tenure.name" . }}-agent
{{- end }}

{{/* The same of the operator. */}}
{{- define "tenure.operatorUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "tenure.name" . }}-operator
{{- end }}

{{/*
The directory in which the agent's pod has its configuration. It differs between releases: by its file, the one that installs on a node knows whether
the daemon that runs there is its own.
*/}}
{{- define "tenure.config" -}}
/etc/tenure/config/{{ .Release.Namespace }}/{{ include "tenure.name" . }}
{{- end }}

{{/*
The name of the network's configuration list. It contains what a daemon takes over with a restart only: an existing pod does not find the list for
another supply or another network, and each node gets it with its next pod.
*/}}
{{- define "tenure.conflistKey" -}}
{{ .Values.profile }}.{{ .Values.network.name }}.conflist
{{- end }}

{{/* The network's configuration list. */}}
{{- define "tenure.conflist" -}}
{{- $network := .Values.network -}}
{{- $main := dict "type" "bridge" "bridge" "cni0" "isGateway" true "ipMasq" true "hairpinMode" true -}}
{{- if eq .Values.profile "cluster" -}}
{{- $main = dict "type" "ptp" "ipMasq" true -}}
{{- end -}}
{{- with $network.main -}}
{{- $_ := required "network.main.type: the name of the main plugin" .type -}}
{{- $main = deepCopy . -}}
{{- end -}}
{{- if eq .Values.profile "aws" -}}
{{- $main = dict "type" "tenure-eni" -}}
{{- end -}}
{{- /* tenured.toml defines the network, in every profile, so that a release can move to another; these keys are the plugin's own. */ -}}
{{- $ipam := merge (dict "type" "tenure") (pick $network.ipam "socket" "timeout" "wait" "resolvConf") -}}
{{- $_ := set $main "ipam" $ipam -}}
{{- dict "cniVersion" $network.cniVersion "name" $network.name "plugins" (prepend (default list $network.chained) $main) | toPrettyJson -}}
{{- end }}

{{/* The references of the policies that come from registries, by name. */}}
{{- define "tenure.references" -}}
{{- $references := dict -}}
{{- range $name, $policy := .Values.policies -}}
{{- if and $policy.oci $policy.module }}{{ fail (printf "policies.%s: module or oci, not both" $name) }}{{ end -}}
{{- with $policy.oci }}{{ $_ := set $references $name . }}{{ end -}}
{{- end -}}
{{- toJson $references -}}
{{- end }}

{{/* A container without any right but to be root among root's files. */}}
{{- define "tenure.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* The volume with the account's token, as the API server would mount it: bound to the pod, and so to its node. */}}
{{- define "tenure.token" -}}
- name: token
  projected:
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3607}
      - configMap:
          name: kube-root-ca.crt
          items: [{key: ca.crt, path: ca.crt}]
      - downwardAPI:
          items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]
{{- end }}

{{/* Where the API server is, if not at the address of its service. */}}
{{- define "tenure.apiServer" -}}
{{- if and (include "tenure.asksApiServer" .) .Values.cluster.apiServer.host -}}
- {name: KUBERNETES_SERVICE_HOST, value: {{ .Values.cluster.apiServer.host | quote }}}
- {name: KUBERNETES_SERVICE_PORT, value: {{ .Values.cluster.apiServer.port | quote }}}
{{- end }}
{{- end }}
