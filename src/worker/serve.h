/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two sides of a worker agree on beside the messages. */
#ifndef LB_WORKER_SERVE_H
#define LB_WORKER_SERVE_H

#define SERVE_SOCKET_FD 3 /* in the child; argv[1] and [2] are its limits */

#endif
