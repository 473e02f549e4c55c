/* SPDX-License-Identifier: MIT
 *
 * keys.h - a key or a typed command to the action that it asks for, file by file. Main thread.
 */
#ifndef APP_KEYS_H
#define APP_KEYS_H

#include "app/app.h"

/* app/keys/dispatch.c. */
unsigned dispatch_key(struct app *a, int key); /* a key or a click outside the prompt */

/* app/keys/actions.c: asks the view in front first; VIEW_IGNORED: the action does nothing here. */
unsigned dispatch_action(struct app *a, enum action r);

/* app/keys/command.c. */
void command_type(struct app *a); /* opens the command line */

#endif
