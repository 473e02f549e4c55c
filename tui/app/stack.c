/* SPDX-License-Identifier: MIT
 *
 * stack.c - exports the selected row's call path: y copies its stack to the clipboard and a file, e
 * opens the editor at its innermost line.
 *
 * The clipboard is the terminal's (OSC 52, xterm's control sequences: "Manipulate Selection Data"),
 * so it works over ssh. A terminal may refuse silently, so the status line always names the file
 * too.
 */
#include "app/actions.h"
#include "base/atomic_file.h"
#include "base/sanitize.h"
#include "widgets/source.h"
#include "session/spool.h"
#include "screen/term.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAMES_MAX 512
#define FILE_NAME "stack.txt"

/* The selected row's frames, innermost first. NULL (said in the status line): there is none, or it
 * has none. */
static struct frame_out *selected_stack(struct app *a, struct view_row *row, size_t *count)
{
	struct view *v = front_view(a);
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);

	if (v->ops->row && v->ops->row(v, row) &&
	    (*count = query_stack(a->ui.shown.query, row->leaf, frames, FRAMES_MAX)))
		return frames;
	status_error("no call path selected; select a row in Overview, Tree or Sites");
	free(frames);
	return NULL;
}

/* A clipboard's lines are one each, and may go on to a shell. */
static void put_clean(FILE *out, const char *s)
{
	sanitize_put(out, s, strlen(s));
}

static void put_frame(FILE *out, size_t number, const struct frame_out *f)
{
	fprintf(out, "#%-3zu ", number);
	put_clean(out, f->function ? f->function : "?");
	if (f->inlined)
		fputs(" (inlined)", out);
	if (f->by_pointer)
		fputs(" (fp)", out);
	if (f->file) {
		fputs(" at ", out);
		put_clean(out, f->file);
		if (f->line)
			fprintf(out, ":%u", f->line);
	}
	if (f->module) {
		fputs(" in ", out);
		put_clean(out, f->module);
		if (f->has_offset)
			fprintf(out, "+0x%llx", (unsigned long long)f->offset);
	}
	fputc('\n', out);
}

/* -1: not written; the path all the same, for the reason. */
static int write_file(const char *text, size_t size, char *path, size_t path_size)
{
	struct err err = { 0 };
	struct replacement r;
	char dir[PATH_MAX];

	path[0] = 0;
	if (spool_dir(dir, sizeof dir, &err))
		return -1;
	snprintf(path, path_size, "%s/" FILE_NAME, dir);
	if (atomic_file_begin(&r, path, &err))
		return -1;
	FILE *f = atomic_file_stream(&r);
	bool good = f && fwrite(text, 1, size, f) == size;
	if (f)
		good &= !fclose(f);
	int why = errno;
	if (good)
		return atomic_file_end(&r, &err);
	atomic_file_give_up(&r);
	errno = why;
	return -1;
}

unsigned stack_copy(struct app *a)
{
	size_t count = 0, size = 0;
	struct view_row row;
	struct frame_out *frames = selected_stack(a, &row, &count);
	char path[PATH_MAX + sizeof FILE_NAME], *text = NULL;
	FILE *out = frames ? open_memstream(&text, &size) : NULL;

	if (!out) {
		free(frames);
		return VIEW_DRAW;
	}
	for (size_t i = 0; i < count; i++)
		put_frame(out, i, &frames[i]);
	fclose(out);
	bool sent = term_clipboard(text, size),
	     kept = write_file(text, size, path, sizeof path) == 0;
	if (sent && kept)
		status_say("%zu frame%s copied (if the terminal allows it), and saved in %s", count,
			   format_s(count), path);
	else if (sent)
		status_say("%zu frame%s copied (if the terminal allows it)", count,
			   format_s(count));
	else if (kept)
		status_say("%zu frame%s saved in %s; too long for the terminal's clipboard", count,
			   format_s(count), path);
	else
		status_error("%s: cannot be written: %s; the stack was not copied",
			     path[0] ? path : FILE_NAME, strerror(errno));
	free(text);
	free(frames);
	return VIEW_DRAW;
}

/* The user's editor, as git and others find it; all of them know +LINE. */
static const char *editor(void)
{
	const char *name = getenv("VISUAL");

	if (!name || !*name)
		name = getenv("EDITOR");
	return name && *name ? name : "vi";
}

/* Waits for it, as ^Z does for the shell. Its exit status, or -1. */
static int run_editor(const char *file, unsigned line)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, plain = { .sa_handler = SIG_DFL },
			 interrupt, quit, stop;
	char *command = xasprintf("%s +%u \"$1\"", editor(), line);
	int status = -1;

	sigaction(SIGINT, &ignore, &interrupt); /* ^C is for the editor */
	sigaction(SIGQUIT, &ignore, &quit);
	sigaction(SIGTSTP, &plain, &stop); /* ^Z stops both, and fg continues both */
	pid_t pid = fork();
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		for (int n = 1; n < NSIG; n++)
			sigaction(n, &plain, NULL);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execl("/bin/sh", "sh", "-c", command, "sh", file, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	sigaction(SIGTSTP, &stop, NULL);
	free(command);
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void edit(const char *file, uint32_t line)
{
	term_leave();
	int status = run_editor(file, line);
	term_return();
	if (status == 126 || status == 127)
		status_error("%s: cannot be run; set EDITOR to your editor", editor());
	else
		status_say("%s:%u", file, line);
}

/*
 * Opens the row's own line; if that is unknown, the innermost known line of its call path in the
 * same module. A frame further out says nothing about the row.
 */
unsigned stack_edit(struct app *a)
{
	size_t count = 0;
	struct view_row row;
	struct frame_out *frames = selected_stack(a, &row, &count);

	if (!frames)
		return VIEW_DRAW;
	char path[PATH_MAX];
	const char *file = row.file;
	uint32_t line = row.line;
	for (size_t i = 0; i < count && !(file && line); i++)
		if (frames[i].module_id == frames[0].module_id) {
			file = frames[i].file;
			line = frames[i].line;
		}
	if (!file || !line)
		status_error(
			"no source line known for this row; give debug symbols with --symbols DIR");
	else if (!source_find(file, path, sizeof path))
		status_error("%s: not on this machine; :source DIR adds a folder to search", file);
	else
		edit(path, line);
	free(frames);
	return VIEW_REFRESH;
}
