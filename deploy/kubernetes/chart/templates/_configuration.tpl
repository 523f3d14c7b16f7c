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

{{/* The level of the log, by the daemon's rules: a level, a part of the daemon, or both with a = between them; several with commas. */}}
{{- define "tenure.logLevel" -}}
{{- $levels := list "off" "error" "warn" "info" "debug" "trace" "0" "1" "2" "3" "4" "5" -}}
{{- $parts := list "tenured" "tenure_aws" "tenure_checkpoint" "tenure_cluster" "tenure_conditions" "tenure_delegate" "tenure_effects" "tenure_engine" "tenure_ledger" "tenure_observe" "tenure_policy" "tenure_rpc" "tenure_runtime" "tenure_spool" "tenure_supervise" "tenure_types" -}}
{{- range $directive := splitList "," .Values.agent.logLevel -}}
{{- $words := regexSplit "=" $directive 2 -}}
{{- $level := $words | last | trim -}}
{{- $name := $words | first | trim | splitList "::" | first -}}
{{- $isPart := false -}}
{{- range $parts }}{{ if and $name (hasPrefix $name .) }}{{ $isPart = true }}{{ end }}{{ end -}}
{{- $isBare := eq (len $words) 1 -}}
{{- if not (or (has (lower $level) $levels) (and $isBare $isPart)) }}{{ fail (printf "agent.logLevel: unknown level %q; the levels are off, error, warn, info, debug and trace" $level) }}{{ end -}}
{{- if not (or $isBare $isPart (and $name (not (hasPrefix "tenure" $name)))) }}{{ fail (printf "agent.logLevel: unknown part %q; the parts are %s" $name (join ", " $parts)) }}{{ end -}}
{{- end -}}
{{- .Values.agent.logLevel -}}
{{- end }}

{{/*
The keys of [cluster] that are left to cluster.configuration. Those that other values decide are refused, because accounts get the rights for these
values only, and so are those that the daemon does not know.
*/}}
{{- define "tenure.clusterConfiguration" -}}
{{- $text := default "" .Values.cluster.configuration | trim -}}
{{- $known := list "kubeconfig" "pods" "preallocation" "release_seconds" "write_seconds" -}}
{{- $elsewhere := dict "networks" "set cluster.pools" "node" "only profile aws follows Nodes" "startup_taint" "the operator removes the taint startupTaint.key" -}}
{{- if eq .Values.profile "aws" -}}
{{- $elsewhere = dict "networks" "profile aws leases no blocks" "pods" "set aws.followPods" "node" "set aws.followNode" "startup_taint" "set aws.removeTaint" -}}
{{- end -}}
{{- $own := regexReplaceAll "(?ms)^[ \\t]*\\[.*" $text "" -}}
{{- range regexFindAll "(?m)^[ \\t]*[\"']?[A-Za-z0-9_-]+[\"']?[ \\t]*[.=]" $own -1 -}}
{{- $key := regexReplaceAll "[^A-Za-z0-9_-]" . "" -}}
{{- if hasKey $elsewhere $key }}{{ fail (printf "cluster.configuration: %s: %s" $key (get $elsewhere $key)) }}{{ end -}}
{{- if not (has $key $known) }}{{ fail (printf "cluster.configuration: [cluster] has no key %s; set one of %s" $key (join ", " $known)) }}{{ end -}}
{{- end -}}
{{- with $text }}
{{ . }}
{{- end -}}
{{- end }}

{{/* The tables of tenured.toml that follow from the values. */}}
{{- define "tenure.tables" -}}
[log]
format = "json"
level = {{ include "tenure.logLevel" . | quote }}

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
{{- /* Under another name, its pods would get addresses that existing pods have. `merge` would take a value of false for none. */}}
{{- include "tenure.keys" (mergeOverwrite (dict "exclusive" true) (default dict .Values.network.settings)) }}
{{- else if eq .Values.profile "aws" }}
{{- /* Helm keeps a null of the values. */}}
{{- if get .Values.network.ipam "policy" }}
{{- fail "network.ipam.policy: the policy of profile aws is aws-eni; pass network.ipam.policy=null" }}
{{- end }}

[aws]
network = {{ .Values.network.name | quote }}
{{- include "tenure.keys" .Values.aws.settings }}
{{- if include "tenure.asksApiServer" . }}

[cluster]
{{- if include "tenure.followsNode" . }}
node = true
{{- end }}
{{- if include "tenure.removesTaint" . }}
startup_taint = {{ .Values.startupTaint.key | quote }}
{{- end }}
{{- if include "tenure.followsPods" . }}
pods = true
{{- end }}
{{- include "tenure.clusterConfiguration" . }}
{{- end }}

[networks.{{ .Values.network.name | quote }}]
policy = "aws-eni"
config = {{ "'''" }}{{ toJson (omit .Values.network.ipam "policy") }}{{ "'''" }}
{{- include "tenure.keys" .Values.network.settings }}
{{- end }}
{{- range $name, $policy := .Values.policies }}
{{- if and (get (default dict $policy.settings) "metadata") (not (include "tenure.knowsPods" $)) }}
{{- fail (printf "policies.%s.settings.metadata: labels come from the API server: needs profile cluster with cluster.pools, or profile aws with aws.followPods" $name) }}
{{- end }}

[policies.{{ $name }}]
path = "/etc/tenure/{{ ternary "pulled" "policies" (not (empty $policy.oci)) }}/{{ $name }}.wasm"
{{- include "tenure.keys" $policy.settings }}
{{- end }}
{{- if eq .Values.profile "cluster" }}
{{- with .Values.cluster.pools }}

[cluster]
networks = { {{ $.Values.network.name | quote }} = {{ toJson . }} }
{{- include "tenure.clusterConfiguration" $ }}

[networks.{{ $.Values.network.name | quote }}]
config = {{ "'''" }}{{ toJson (merge (dict "type" "tenure") $.Values.network.ipam (dict "pools" . "policy" "cluster-range" "routes" (default list $.Values.network.routes))) }}{{ "'''" }}
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
{{- /* A value for another profile may stay where it is: a release can move there, and back. */}}
{{- if and (default "" .Values.cluster.configuration | trim) (ne .Values.profile "single-node") (not (has "cluster" $rendered)) }}
{{- fail "cluster.configuration: there is no [cluster] to add it to: needs profile cluster with cluster.pools, or profile aws with aws.followNode or aws.followPods; without them, pass cluster.configuration=null" }}
{{- end -}}
{{- if not (has (printf "networks.%s" .Values.network.name) $rendered) }}
{{- $network := dict "ipam" (omit .Values.network.ipam "socket" "timeout" "wait" "resolvConf") "settings" .Values.network.settings }}
{{- range $name, $of := $network }}
{{- if $of }}{{ fail (printf "network.%s: profile cluster without cluster.pools has no network to add it to" $name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $values := dict "log" "agent.logLevel" "metrics" "agent.metricsPort" "runtime" "agent.runtime" "cni" "agent.cniConfDir" "aws" "aws.settings" "cluster" "cluster.configuration" "networks" "network.settings" "policies" "policies.NAME.settings" -}}
{{- $more := default "" .Values.agent.configuration | trim -}}
{{- range include "tenure.tableNames" $more | fromJsonArray -}}
{{- if has . $rendered }}{{ fail (printf "agent.configuration: the chart has [%s] already; set %s" . (get $values (splitList "." . | first))) }}{{ end -}}
{{- end -}}
{{- if not (regexMatch "^(#[^\\n]*(\\s+|$))*(\\[|$)" $more) }}{{ fail "agent.configuration: begin with a table, such as [limits]" }}{{ end -}}
{{- $tables }}
{{- with $more }}

{{ . }}
{{- end }}
{{- end }}
