"""The manifest for Kubernetes has no field that the schemas of its objects lack, all that they demand, and values of the right type.

The tables below hold a part of the schemas that kubeconform uses: `master-standalone-strict` of
github.com/yannh/kubernetes-json-schema at commit 25114fc6e8358dc79a7901e699ac758a9c26343c. They have the objects of the manifest, without
the kinds of volumes that it does not use, and they demand what such an object is of no use without. What an API server checks beyond
its schemas is not checked here, but that mounts have volumes, and that the selector finds the pods. Usage: kubernetes_schema.py MANIFEST"""
import copy
import pathlib
import sys

try:
    import yaml
except ImportError:
    print("SKIP: Python's package yaml is not installed (./dev test installs it)")
    sys.exit(77)

META = {"annotations": "{text}", "generateName": "text", "labels": "{text}", "name": "text", "namespace": "text", "finalizers": "[text]"}
# By kind of object: the type of each field, with "!" where it must be there. A name with a capital is another kind, "[...]" a list, "{...}"
# a map from texts.
KINDS = {
    "Namespace": {"apiVersion": {"v1"}, "kind": {"Namespace"}, "metadata": "Meta!", "spec": "any", "status": "any"},
    "ConfigMap": {"apiVersion": {"v1"}, "kind": {"ConfigMap"}, "metadata": "Meta!", "binaryData": "{text}", "data": "{text}",
                  "immutable": "bool"},
    "DaemonSet": {"apiVersion": {"apps/v1"}, "kind": {"DaemonSet"}, "metadata": "Meta!", "spec": "DaemonSetSpec!", "status": "any"},
    "Meta": META,
    "DaemonSetSpec": {"minReadySeconds": "number", "revisionHistoryLimit": "number", "selector": "Selector!", "template": "Template!",
                      "updateStrategy": "any"},
    "Selector": {"matchExpressions": "any", "matchLabels": "{text}"},
    "Template": {"metadata": "Meta", "spec": "PodSpec"},
    "PodSpec": {"activeDeadlineSeconds": "number", "affinity": "any", "automountServiceAccountToken": "bool", "containers": "[Container]!",
                "dnsConfig": "any", "dnsPolicy": "text", "enableServiceLinks": "bool", "hostAliases": "any", "hostIPC": "bool",
                "hostNetwork": "bool", "hostPID": "bool", "hostUsers": "bool", "hostname": "text", "imagePullSecrets": "any",
                "initContainers": "[Container]", "nodeName": "text", "nodeSelector": "{text}", "os": "any", "overhead": "any",
                "preemptionPolicy": "text", "priority": "number", "priorityClassName": "text", "readinessGates": "any",
                "restartPolicy": "text", "runtimeClassName": "text", "schedulerName": "text", "securityContext": "any",
                "serviceAccount": "text", "serviceAccountName": "text", "setHostnameAsFQDN": "bool", "shareProcessNamespace": "bool",
                "subdomain": "text", "terminationGracePeriodSeconds": "number", "tolerations": "any", "topologySpreadConstraints": "any",
                "volumes": "[Volume]"},
    "Container": {"args": "[text]", "command": "[text]", "env": "any", "envFrom": "any", "image": "text", "imagePullPolicy": "text",
                  "lifecycle": "any", "livenessProbe": "Probe", "name": "text!", "ports": "any", "readinessProbe": "Probe",
                  "resources": "Resources", "securityContext": "SecurityContext", "startupProbe": "Probe", "stdin": "bool",
                  "stdinOnce": "bool", "terminationMessagePath": "text", "terminationMessagePolicy": "text", "tty": "bool",
                  "volumeDevices": "any", "volumeMounts": "[Mount]", "workingDir": "text"},
    "SecurityContext": {"allowPrivilegeEscalation": "bool", "appArmorProfile": "any", "capabilities": "Capabilities", "privileged": "bool",
                        "procMount": "text", "readOnlyRootFilesystem": "bool", "runAsGroup": "number", "runAsNonRoot": "bool",
                        "runAsUser": "number", "seLinuxOptions": "any", "seccompProfile": "Seccomp", "windowsOptions": "any"},
    "Capabilities": {"add": "[text]", "drop": "[text]"},
    "Seccomp": {"localhostProfile": "text", "type": "text!"},
    "Resources": {"claims": "any", "limits": "{quantity}", "requests": "{quantity}"},
    "Probe": {"exec": "Exec", "failureThreshold": "number", "grpc": "any", "httpGet": "any", "initialDelaySeconds": "number",
              "periodSeconds": "number", "successThreshold": "number", "tcpSocket": "any", "terminationGracePeriodSeconds": "number",
              "timeoutSeconds": "number"},
    "Exec": {"command": "[text]"},
    "Mount": {"mountPath": "text!", "mountPropagation": "text", "name": "text!", "readOnly": "bool", "recursiveReadOnly": "text",
              "subPath": "text", "subPathExpr": "text"},
    "Volume": {"name": "text!", "configMap": "ConfigMapVolume", "emptyDir": "any", "hostPath": "HostPath", "projected": "any",
               "secret": "any"},
    "ConfigMapVolume": {"defaultMode": "number", "items": "any", "name": "text", "optional": "bool"},
    "HostPath": {"path": "text!", "type": "text"},
}
TYPES = {"text": str, "bool": bool, "number": int, "quantity": (str, int), "any": object}


def faults(kind, value, where):
    """What is wrong with a value, as sentences."""
    if isinstance(kind, set):
        return [] if value in kind else [f"{where} is {value!r}"]
    kind = kind.rstrip("!")
    if kind[0] in "[{":
        if not isinstance(value, list if kind[0] == "[" else dict):
            return [f"{where} is no {'list' if kind[0] == '[' else 'map'}"]
        parts = enumerate(value) if kind[0] == "[" else value.items()
        return [fault for name, each in parts for fault in faults(kind[1:-1], each, f"{where}[{name}]")]
    if kind in TYPES:
        wrong = not isinstance(value, TYPES[kind]) or (kind in ("number", "quantity") and isinstance(value, bool))
        return [f"{where} is {value!r}, which is no {kind}"] if wrong else []
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    known = KINDS[kind]
    found = [f"{where} has no {name}" for name, of in known.items() if (isinstance(of, set) or of.endswith("!")) and name not in value]
    for name, each in value.items():
        found += faults(known[name], each, f"{where}.{name}") if name in known else [f"{where}.{name} is not in the schema"]
    return found


def faults_of(documents):
    found = []
    for document in documents:
        kind = document.get("kind")
        found += faults(kind, document, kind) if kind in ("Namespace", "ConfigMap", "DaemonSet") else [f"{kind} is no kind that is checked"]
    pod = documents[-1]["spec"]["template"]["spec"]
    mounted = {mount.get("name") for container in pod["containers"] for mount in container["volumeMounts"]}
    found += [f"the volume {name} is not declared" for name in mounted - {volume.get("name") for volume in pod["volumes"]}]
    wanted, labels = documents[-1]["spec"]["selector"].get("matchLabels", {}), documents[-1]["spec"]["template"]["metadata"]["labels"]
    found += [f"the pods lack the label {key} that the selector wants" for key, value in wanted.items() if labels.get(key) != value]
    return found


def spoilt(documents):
    """Broken twins, each with one fault."""
    def twin(change):
        copied = copy.deepcopy(documents)
        change(copied[-1]["spec"], copied[-1]["spec"]["template"]["spec"])
        return copied

    yield "a field of another name", twin(lambda _, pod: pod.update(hostPid=pod.pop("hostPID")))
    yield "a text for a number", twin(lambda _, pod: pod["containers"][0]["securityContext"].update(runAsUser="0"))
    yield "a container without a name", twin(lambda _, pod: pod["containers"][0].pop("name"))
    yield "a mount of nothing", twin(lambda _, pod: pod["volumes"].pop())
    yield "a selector of other pods", twin(lambda spec, _: spec["selector"]["matchLabels"].update({"app.kubernetes.io/name": "other"}))
    yield "a capability that is no text", twin(lambda _, pod: pod["containers"][0]["securityContext"]["capabilities"].update(add=[1]))


def main():
    documents = list(yaml.safe_load_all(pathlib.Path(sys.argv[1]).read_text()))
    if found := faults_of(documents):
        print("FAILED:", *found, sep="\n")
        sys.exit(1)
    print(f"ok: {len(documents)} objects are as the schemas want them: {', '.join(each['kind'] for each in documents)}")
    for name, twin in spoilt(documents):
        if not faults_of(twin):
            print("FAILED: not found:", name)
            sys.exit(1)
        print("ok: found:", name)


if __name__ == "__main__":
    main()
