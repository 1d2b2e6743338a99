"""What other schedulers run a job file with: Jobs of Kubernetes, a workflow of GitHub with a job matrix.

Each pod or runner verifies one job with `fleet verify` and leaves a folder; `fleet collect` makes one run of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from healthcheck.errors import UsageError
from healthcheck.fleet.records import Job
from healthcheck.records import JsonValue
from healthcheck.redact import without_secrets

MAX_MATRIX = 256
"""Jobs of one matrix, by GitHub's documentation."""
MAX_CONFIG_BYTES = 900_000
"""A ConfigMap has at most 1 MiB."""
JOBS_MOUNT, REPORTS_MOUNT, SHARED_MEMORY = "/fleet/jobs", "/fleet/reports", "/dev/shm"  # noqa: S108 - not this machine's
GRACE_S = 600
"""What a pod gets beside the time limit of its attempt."""
NOT_RETRIED = [1, 2]
"""Exit statuses after which no other pod tries: not ready, wrong usage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """What the pods of a cluster look like; clusters differ in all of it.

    Attributes:
        name: the beginning of every object's name.
        image: has vllm-ascend and this kit.
        resource: what NPUs are called there, such as huawei.com/Ascend910.
        weights_claim: the volume claim with the weights.
        weights_mount: the folder that it is mounted at, read-only.
        reports_claim: the volume claim for the reports.
        shared_memory: the size of /dev/shm, such as 64Gi.
        selector: labels of nodes; "{npu}" in a value stands for the kind of NPU of a job.
        parallelism: pods at a time, of each Job.
    """

    name: str
    image: str
    resource: str
    weights_claim: str
    weights_mount: str
    reports_claim: str
    shared_memory: str
    selector: Mapping[str, str]
    parallelism: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """For each attempt: seconds that it may take, and how often a job is tried again."""

    limit_s: float
    retries: int


def kubernetes(jobs: Sequence[Job], pods: Pods, terms: Terms) -> list[dict[str, JsonValue]]:
    """A ConfigMap with the jobs, and an indexed Job for all jobs that need the same NPUs.

    Raises:
        UsageError: a pod could not run one of the jobs.
    """
    groups: dict[tuple[str, int], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.npu, job.npus), []).append(job)
    objects: list[dict[str, JsonValue]] = []
    for number, group in enumerate(groups.values()):
        name = f"{pods.name}-{number}"
        rows: dict[str, JsonValue] = {f"{index}.jsonl": row(job) + "\n" for index, job in enumerate(group)}
        if len(json.dumps(rows)) > MAX_CONFIG_BYTES:
            raise UsageError(f"{len(group)} jobs are too long for one ConfigMap: split the job file")
        objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": rows})
        objects.append(_job(name, _pod(name, group[0], pods, terms), len(group), pods, terms))
    return objects


def _job(name: str, pod: dict[str, JsonValue], completions: int, pods: Pods, terms: Terms) -> dict[str, JsonValue]:
    failed: dict[str, JsonValue] = {
        "action": "FailIndex",
        "onExitCodes": {"containerName": "verify", "operator": "In", "values": list(NOT_RETRIED)},
    }
    disrupted: dict[str, JsonValue] = {
        "action": "Ignore",
        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": pods.name}},
        "spec": {
            "completionMode": "Indexed",
            "completions": completions,
            "parallelism": min(pods.parallelism, completions),
            "backoffLimitPerIndex": terms.retries,
            "maxFailedIndexes": completions,
            "podFailurePolicy": {"rules": [disrupted, failed]},
            "template": {
                "metadata": {"labels": {"app.kubernetes.io/name": pods.name}},
                "spec": pod,
            },
        },
    }


def _pod(name: str, like: Job, pods: Pods, terms: Terms) -> dict[str, JsonValue]:
    """The pod of all jobs that need what this one needs."""
    # A pod's name is unique, also among the attempts at one index, and so is its folder.
    command = (
        f'exec npu-adapter fleet verify "{JOBS_MOUNT}/$JOB_COMPLETION_INDEX.jsonl" --retries 0 '
        f'--time-limit {terms.limit_s:g} --out "{REPORTS_MOUNT}/$POD_NAME"'
    )
    container: dict[str, JsonValue] = {
        "name": "verify",
        "image": pods.image,
        "command": ["sh", "-c", command],
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "resources": {"limits": {pods.resource: str(like.npus)}} if like.npus else {},
        "volumeMounts": [
            {"name": "jobs", "mountPath": JOBS_MOUNT, "readOnly": True},
            {"name": "weights", "mountPath": pods.weights_mount, "readOnly": True},
            {"name": "reports", "mountPath": REPORTS_MOUNT},
            {"name": "shared-memory", "mountPath": SHARED_MEMORY},
        ],
    }
    selector: dict[str, JsonValue] = {
        label: value.replace("{npu}", like.npu)
        for label, value in pods.selector.items()
        if like.npu or "{npu}" not in value
    }
    return {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": int(terms.limit_s) + GRACE_S,
        "automountServiceAccountToken": False,
        **({"nodeSelector": selector} if selector else {}),
        "containers": [container],
        "volumes": [
            {"name": "jobs", "configMap": {"name": name}},
            {"name": "weights", "persistentVolumeClaim": {"claimName": pods.weights_claim, "readOnly": True}},
            {"name": "reports", "persistentVolumeClaim": {"claimName": pods.reports_claim}},
            {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": pods.shared_memory}},
        ],
    }


def github(jobs: Sequence[Job], labels: Sequence[str], terms: Terms) -> dict[str, JsonValue]:
    """A workflow that verifies each job on a self-hosted runner with these labels, and collects the reports.

    Raises:
        UsageError: a runner could not run one of the jobs, or there are more than a matrix has room for.
    """
    if len(jobs) > MAX_MATRIX:
        raise UsageError(f"{len(jobs)} jobs: a matrix of GitHub has at most {MAX_MATRIX}; split the job file")
    matrix: list[JsonValue] = [{"name": job.name, "row": row(job)} for job in jobs]
    verify = (
        'printf "%s\\n" "$ROW" > job.jsonl\n'
        "npu-adapter fleet verify job.jsonl --out report "
        f"--retries {terms.retries} --time-limit {terms.limit_s:g}\n"
    )
    keep: dict[str, JsonValue] = {
        "uses": "actions/upload-artifact@v4",
        "if": "always()",
        "with": {"name": "fleet-${{ matrix.name }}", "path": "report"},
    }
    everything = "\n".join(row(job) for job in jobs) + "\n"
    collect = 'printf "%s" "$ROWS" > jobs.jsonl\nnpu-adapter fleet collect jobs.jsonl --from reports --out fleet\n'
    return {
        "name": "fleet",
        "on": {"workflow_dispatch": {}},
        "permissions": {"contents": "read"},
        "jobs": {
            "verify": {
                "runs-on": list(labels),
                "timeout-minutes": int((terms.limit_s * (terms.retries + 1) + GRACE_S) / 60) + 1,
                "strategy": {"fail-fast": False, "matrix": {"include": matrix}},
                "steps": [{"run": verify, "env": {"ROW": "${{ matrix.row }}"}}, keep],
            },
            "collect": {
                "needs": "verify",
                "if": "always()",
                "runs-on": list(labels),
                "steps": [
                    {"uses": "actions/download-artifact@v4", "with": {"path": "reports"}},
                    {"run": collect, "env": {"ROWS": everything}},
                    {
                        "uses": "actions/upload-artifact@v4",
                        "if": "always()",
                        "with": {"name": "fleet", "path": "fleet"},
                    },
                ],
            },
        },
    }


def row(job: Job) -> str:
    """The job as a line of a job file, without secrets, for a machine that has neither this one's folders.

    Raises:
        UsageError: the repository is a folder, or the job holds a secret.
    """
    if not job.source.is_address:
        raise UsageError(f"{job.where}: another machine cannot see the folder {job.source.shown}: name an address "
                         "with a commit")  # fmt: skip
    if job.source.place != job.source.shown:
        raise UsageError(f"{job.where}: the address has a user, a password or a query, which a manifest would "
                         "show: give the machines git credentials of their own")  # fmt: skip
    values: dict[str, JsonValue] = {"name": job.name, "repository": f"{job.source.place}@{job.source.commit}"}
    for word in job.words:
        key, equals, value = word.removeprefix("--").partition("=")
        key = key.replace("-", "_")
        if without_secrets(word) != word or "${{" in word:
            raise UsageError(f"{job.where}: `{key}` holds a secret or an expression, which a manifest would show")
        before = values.get(key)
        if not equals:
            values[key] = True
        elif before is None:
            values[key] = value
        else:
            values[key] = [*(before if isinstance(before, list) else [before]), value]
    return json.dumps(values, ensure_ascii=False)
