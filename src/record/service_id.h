/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The build id of code that is in no file: [jit], [python]. Servers keep sources by
 * build id, and show no source, or that of another program, for an empty one. So the id
 * stands for the service: the program, and where it runs. It contains no pid, time,
 * address or id of a container, which differ after each start.
 */
#ifndef LB_RECORD_SERVICE_ID_H
#define LB_RECORD_SERVICE_ID_H

#include "process/process.h"

#define SERVICE_ID_SIZE 41 /* 20 bytes in hexadecimal, as the usual build id; NUL */

/** @process  NULL: not known. Return: @ret */
const char *service_id_of(const struct process *process, char ret[SERVICE_ID_SIZE]);

#endif
