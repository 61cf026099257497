// SPDX-License-Identifier: GPL-2.0-or-later
/* Uses no CPU. usage: sleep SECONDS */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	sleep(argc > 1 ? (unsigned int)atoi(argv[1]) : 1);
	return 0;
}
