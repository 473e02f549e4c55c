/* SPDX-License-Identifier: MIT */
#include "launch.h"
int launch(char *const argv[], const struct launch_options *o, struct launched *l, struct err *err) { (void)argv;(void)o;(void)l; return err_set(err, 125, "not yet"); }
int launch_find_agent(const char *given, char *path, size_t size, struct err *err) { (void)given;(void)path;(void)size; return err_set(err, 125, "not yet"); }
size_t launch_list(struct agent_process **list) { *list = NULL; return 0; }
