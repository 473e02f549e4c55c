/* SPDX-License-Identifier: MIT
 *
 * protocol.h - the Model Context Protocol: JSON-RPC 2.0, one message a line. Main thread only,
 * outside of the loop's callbacks: a tool may run the loop.
 */
#ifndef MCP_PROTOCOL_H
#define MCP_PROTOCOL_H

#include "mcp/targets.h"

#define MCP_LINE_MAX (4u << 20) /* a longer line is an error */

/* The answer to one line, without a line end, for free(); NULL: it needs none. Any bytes may
 * come. */
char *mcp_answer(struct targets *t, const char *line, size_t len);
char *mcp_too_long(void); /* the answer to a line over MCP_LINE_MAX */

#endif
