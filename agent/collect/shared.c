/* SPDX-License-Identifier: MIT
 *
 * shared.c - the page that the server and the target share; server/start.c maps it.
 */
#include "collect/shared.h"

struct shared *mt_shared;

bool mt_server_alive(void)
{
	return mt_shared && atomic_load(&mt_shared->xtid);
}
