/* SPDX-License-Identifier: MIT
 *
 * server.c - starts the process beside the target that answers viewers.
 */
#include "agent.h"

bool mt_server_start(void)
{
	return false;
}

void mt_server_exec_begins(void)
{
}

void mt_server_exec_failed(void)
{
}

bool mt_server_running(void)
{
	return false;
}
