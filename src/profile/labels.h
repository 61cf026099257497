/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Labels of samples, used for grouping and filtering a profile. pid, tid, ns_pid and
 * cgroup_id are numbers. The keys are part of the file format (docs/formats.md).
 */
#ifndef LB_PROFILE_LABELS_H
#define LB_PROFILE_LABELS_H

#define LABEL_PID            "pid" /* initial pid namespace */
#define LABEL_TID            "tid" /* only when threads were sampled separately */
#define LABEL_COMM           "comm" /* of the thread */
#define LABEL_NS_PID         "ns_pid" /* in its own pid namespace, if different */
#define LABEL_EXE            "exe" /* path of the executable, as the process sees it */
#define LABEL_USER           "user" /* name of the effective user, or its number */
#define LABEL_CGROUP_ID      "cgroup_id" /* cgroup v2 directory inode */
#define LABEL_CGROUP         "cgroup" /* path below the root of its hierarchy */
#define LABEL_CONTAINER      "container" /* id */
#define LABEL_CONTAINER_NAME "container_name" /* if the runtime's files have it */
#define LABEL_RUNTIME        "container_runtime" /* "docker", "podman", ... */
#define LABEL_POD            "pod" /* Kubernetes pod uid */
#define LABEL_UNIT           "unit" /* systemd service or scope */
#define LABEL_PHASE          "phase" /* only in exports: "import", "numba_compile" */

#endif
