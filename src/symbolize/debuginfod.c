// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

#define DEFAULT_TIMEOUT_MS 60000
#define MAX_BUILD_ID       64
#define ENV_TIMEOUT        "DEBUGINFOD_TIMEOUT" /* seconds; debuginfod_find_debuginfo(3) */
#define ENV_RETRIES        "DEBUGINFOD_RETRY_LIMIT"

/* The calls used, from elfutils' debuginfod.h (debuginfod_find_debuginfo(3)). */
typedef struct debuginfod_client client;
struct calls {
	client *(*begin)(void);
	void (*end)(client *);
	int (*find_debuginfo)(client *, const unsigned char *build_id, int len,
			      char **path);
	void (*set_progressfn)(client *, int (*)(client *, long a, long b));
	void (*set_user_data)(client *, void *);
};

struct debuginfod {
	void *library;
	struct calls calls;
	client *client;
	struct debuginfod_config config;
	uint64_t deadline_ns; /* of the current fetch; CLOCK_MONOTONIC */
	bool timed_out;
	bool sets_timeout, sets_retries; /* we set the library's environment */
};

static bool is_stopped(const struct debuginfod_config *config)
{
	return config->stop && *config->stop;
}

static int load(struct debuginfod *d)
{
	const struct {
		const char *name;
		void *call; /* points to the function pointer */
	} symbols[] = {
		{"debuginfod_begin", &d->calls.begin},
		{"debuginfod_end", &d->calls.end},
		{"debuginfod_find_debuginfo", &d->calls.find_debuginfo},
		{"debuginfod_set_progressfn", &d->calls.set_progressfn},
		{"debuginfod_set_user_data", &d->calls.set_user_data},
	};

	/* RTLD_GLOBAL, so that on_progress() can look up the function it needs. */
	d->library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_GLOBAL);
	if (!d->library) {
		log_info("DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is not "
			 "installed, skipping");
		return -ENOSYS;
	}
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *address = dlsym(d->library, symbols[i].name);

		if (!address) {
			log_info("libdebuginfod.so.1 has no %s, skipping",
				 symbols[i].name);
			return -ENOSYS;
		}
		memcpy(symbols[i].call, &address, sizeof(address));
	}
	return 0;
}

/*
 * libdebuginfod 0.192 (not 0.188) waits for its own time-outs, 90 s and two retries,
 * even after on_progress() gave up. Sets shorter ones, unless the user has set them.
 */
static void limit_library(struct debuginfod *d)
{
	char seconds[16];

	snprintf(seconds, sizeof(seconds), "%u", (d->config.timeout_ms + 999) / 1000);
	d->sets_timeout = !getenv(ENV_TIMEOUT) && !setenv(ENV_TIMEOUT, seconds, 1);
	d->sets_retries = !getenv(ENV_RETRIES) && !setenv(ENV_RETRIES, "0", 1);
}

int debuginfod_new(const struct debuginfod_config *config, struct debuginfod **ret)
{
	_cleanup_(debuginfod_freep) struct debuginfod *d = NULL;
	const char *urls = getenv("DEBUGINFOD_URLS");
	int err;

	if (!urls || !urls[strspn(urls, " ")])
		return -ENOENT;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->config = *config;
	if (!d->config.timeout_ms)
		d->config.timeout_ms = DEFAULT_TIMEOUT_MS;
	err = load(d);
	if (err)
		return err;
	limit_library(d);
	d->client = d->calls.begin();
	if (!d->client)
		return -ENOMEM;
	*ret = take_ptr(d);
	return 0;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->calls.end(d->client);
	if (d->library)
		dlclose(d->library);
	if (d->sets_timeout)
		unsetenv(ENV_TIMEOUT);
	if (d->sets_retries)
		unsetenv(ENV_RETRIES);
	free(d);
}

/* Called by the library while it waits and downloads. Return: nonzero to give up. */
static int on_progress(client *c, long done, long total)
{
	void *(*get_user_data)(client *);
	void *address = dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");
	struct debuginfod *d;

	(void)done;
	(void)total;
	if (!address)
		return 1;
	memcpy(&get_user_data, &address, sizeof(address));
	d = get_user_data(c);
	if (is_stopped(&d->config))
		return 1;
	d->timed_out = clock_now_ns() > d->deadline_ns;
	return d->timed_out;
}

int debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, size_t len,
		     int *ret_fd)
{
	int fd;

	if (!len || len > MAX_BUILD_ID)
		return -EINVAL;
	if (is_stopped(&d->config))
		return -EINTR;
	d->timed_out = false;
	d->deadline_ns = clock_now_ns() + d->config.timeout_ms * 1000000ULL;
	d->calls.set_user_data(d->client, d);
	d->calls.set_progressfn(d->client, on_progress);
	fd = d->calls.find_debuginfo(d->client, build_id, (int)len, NULL);
	if (fd >= 0) {
		/* a fresh download leaves the offset at the end */
		lseek(fd, 0, SEEK_SET);
		*ret_fd = fd;
		return 0;
	}
	log_debug("debuginfod: %s", strerror(-fd));
	if (is_stopped(&d->config))
		return -EINTR;
	return d->timed_out || fd == -ETIME ? -ETIMEDOUT : fd;
}
