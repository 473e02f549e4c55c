/* SPDX-License-Identifier: MIT
 *
 * columns.c - see columns.h.
 */
#include "columns.h"

#include <string.h>
#include <strings.h>

static struct hidden { char view[16], title[32]; } list[COLUMNS_HIDDEN_MAX];
static size_t count;

static struct hidden *find(const char *view, const char *title)
{
	for (size_t i = 0; i < count; i++)
		if (!strcasecmp(list[i].view, view) && !strcasecmp(list[i].title, title))
			return &list[i];
	return NULL;
}

bool columns_hidden(const char *view, const char *title)
{
	return find(view, title) != NULL;
}

bool columns_hide(const char *view, const char *title, bool hide)
{
	struct hidden *h = find(view, title);

	if (h && !hide)
		*h = list[--count];
	if (h || !hide)
		return true;
	if (count == COLUMNS_HIDDEN_MAX || strlen(view) >= sizeof h->view || strlen(title) >= sizeof h->title)
		return false;
	h = &list[count++];
	strcpy(h->view, view);
	strcpy(h->title, title);
	return true;
}

bool columns_set(const char *view, const char *titles, char *why, size_t size)
{
	char copy[512], *save = NULL;

	for (size_t i = count; i-- > 0;)
		if (!strcasecmp(list[i].view, view))
			list[i] = list[--count];
	snprintf(copy, sizeof copy, "%s", titles);
	for (char *t = strtok_r(copy, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		t += strspn(t, " ");
		for (size_t n = strlen(t); n && t[n - 1] == ' '; n--)
			t[n - 1] = 0;
		if (*t && !columns_hide(view, t, true)) {
			snprintf(why, size, "\"%.40s\" is no column", t);
			return false;
		}
	}
	return true;
}

static bool said_before(size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcasecmp(list[k].view, list[i].view))
			return true;
	return false;
}

void columns_write(FILE *f)
{
	for (size_t i = 0; i < count; i++) {
		const char *comma = "";
		if (said_before(i))
			continue;
		fprintf(f, "hide %s = ", list[i].view);
		for (size_t k = i; k < count; k++)
			if (!strcasecmp(list[k].view, list[i].view)) {
				fprintf(f, "%s%s", comma, list[k].title);
				comma = ", ";
			}
		fputc('\n', f);
	}
}
