{{/* Keys of a table in TOML, from a map. JSON's scalars and arrays are TOML's, too. */}}
{{- define "tenure.keys" -}}
{{- range $key, $value := . }}
{{- if kindIs "map" $value }}
{{- $inner := list }}
{{- range $name, $of := $value }}{{ $inner = append $inner (printf "%s = %s" (quote $name) (toJson $of)) }}{{ end }}
{{ $key }} = { {{ join ", " $inner }} }
{{- else }}
{{ $key }} = {{ toJson $value }}
{{- end }}
{{- end }}
{{- end }}

{{/* The tables of tenured.toml that follow from the values. */}}
{{- define "tenure.tables" -}}
[log]
format = "json"
level = {{ .Values.agent.logLevel | quote }}

[metrics]
listen = "127.0.0.1:{{ .Values.agent.metricsPort }}"

[runtime]
socket = "unix://{{ .Values.agent.runtimeSocket }}"
{{- include "tenure.keys" .Values.agent.runtime }}

[cni]
directory = {{ .Values.agent.cniConfDir | quote }}
{{- if eq .Values.profile "single-node" }}

[networks.{{ .Values.network.name | quote }}]
config = {{ "'''" }}{{ toJson (merge (dict "type" "tenure") .Values.network.ipam (dict "ranges" (default list .Values.network.ranges) "routes" (default list .Values.network.routes))) }}{{ "'''" }}
{{- /* Under another name, its pods would get the addresses of those of before. */}}
{{- include "tenure.keys" (merge .Values.network.settings (dict "exclusive" true)) }}
{{- else if eq .Values.profile "aws" }}
{{- if hasKey .Values.network.ipam "policy" }}
{{- fail "network.ipam.policy: the policy of profile aws is aws-eni; pass network.ipam.policy=null" }}
{{- end }}

[aws]
network = {{ .Values.network.name | quote }}
{{- include "tenure.keys" .Values.aws.settings }}
{{- if include "tenure.followsNode" . }}

[cluster]
node = true
{{- if include "tenure.removesTaint" . }}
startup_taint = {{ .Values.startupTaint.key | quote }}
{{- end }}
{{- with .Values.cluster.configuration }}
{{ . | trim }}
{{- end }}
{{- end }}

[networks.{{ .Values.network.name | quote }}]
policy = "aws-eni"
config = {{ "'''" }}{{ toJson .Values.network.ipam }}{{ "'''" }}
{{- include "tenure.keys" .Values.network.settings }}
{{- end }}
{{- range $name, $policy := .Values.policies }}

[policies.{{ $name }}]
path = "/etc/tenure/{{ ternary "pulled" "policies" (not (empty $policy.oci)) }}/{{ $name }}.wasm"
{{- include "tenure.keys" $policy.settings }}
{{- end }}
{{- if eq .Values.profile "cluster" }}
{{- with .Values.cluster.pools }}

[cluster]
networks = { {{ $.Values.network.name | quote }} = {{ toJson . }} }
{{- with $.Values.cluster.configuration }}
{{ . | trim }}
{{- end }}

[networks.{{ $.Values.network.name | quote }}]
config = {{ "'''" }}{{ toJson (merge (dict "type" "tenure" "pools" .) $.Values.network.ipam (dict "policy" "cluster-range")) }}{{ "'''" }}
{{- include "tenure.keys" $.Values.network.settings }}
{{- end }}
{{- end }}
{{- end }}

{{/* The names of the tables in a text of TOML, without spaces and quotes. */}}
{{- define "tenure.tableNames" -}}
{{- $names := list -}}
{{- range regexFindAll "(?m)^[ \\t]*\\[[^\\[\\]\\n]+\\]" . -1 -}}
{{- $names = append $names (regexReplaceAll "[\\s\"'\\[\\]]" . "") -}}
{{- end -}}
{{- toJson $names -}}
{{- end }}

{{/* tenured.toml: the tables that follow from the values, and agent.configuration, which cannot have one of them a second time. */}}
{{- define "tenure.toml" -}}
{{- $tables := include "tenure.tables" . -}}
{{- $rendered := include "tenure.tableNames" $tables | fromJsonArray -}}
{{- $values := dict "log" "agent.logLevel" "metrics" "agent.metricsPort" "runtime" "agent.runtime" "cni" "agent.cniConfDir" "aws" "aws.settings" "cluster" "cluster.configuration" "networks" "network.settings" "policies" "policies.NAME.settings" -}}
{{- $more := .Values.agent.configuration | trim -}}
{{- range include "tenure.tableNames" $more | fromJsonArray -}}
{{- if has . $rendered }}{{ fail (printf "agent.configuration: the chart has [%s] already; set %s" . (get $values (splitList "." . | first))) }}{{ end -}}
{{- end -}}
{{- if not (regexMatch "^(#[^\\n]*(\\s+|$))*(\\[|$)" $more) }}{{ fail "agent.configuration: begin with a table, such as [limits]" }}{{ end -}}
{{- $tables }}
{{- with $more }}

{{ . }}
{{- end }}
{{- end }}
