/* SPDX-License-Identifier: MIT
 *
 * term.c - see screen/term.h. In raw mode ^C and ^Z are ordinary keys, so the loop always restores
 * the terminal. curses would install signal handlers that restore the terminal from within a
 * handler, but only for signals at their default; the caller therefore installs the loop's handlers
 * before term_start().
 */
#include "screen/term.h"

#include "screen/keys.h"
#include "screen/text.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
/* After our own: curses defines macros with everyday names. */
#include <ncursesw/curses.h>
#include <ncursesw/term.h>

/* 74,000 in base64: what the smallest limit of common terminals lets through */
#define CLIPBOARD_BYTES 55500u

static SCREEN *screen;
static bool on;
static struct termios settings; /* the terminal's, before ours */
static bool settings_known;
static int cursor_y = -1, cursor_x;
static int click_y, click_x;

int term_check(struct err *err)
{
	const char *name = getenv("TERM");
	int known = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(
			err, 2,
			"the live view: %s is not a terminal; use memtop record or memtop report",
			isatty(STDIN_FILENO) ? "standard output" : "standard input");
	if (!name || !*name)
		return err_set(err, 2,
			       "the live view: TERM is not set; set it to your terminal's type "
			       "(TERM=xterm-256color), or use memtop record or memtop report");
	if (setupterm(name, STDOUT_FILENO, &known) != OK || !cursor_address)
		return err_set(
			err, 2,
			"the live view: TERM is \"%s\", %s; set TERM to a terminal that terminfo "
			"knows, or use memtop record or memtop report",
			name,
			known == 1 ? "which cannot place its cursor"
				   : "which terminfo does not know");
	return 0;
}

static void set_terminal(const struct termios *t)
{
	while (tcsetattr(STDOUT_FILENO, TCSADRAIN, t) && errno == EINTR)
		;
}

/*
 * newterm() may write the alternate screen before it turns echo off (where its buffer is small, as
 * on a small screen): a key typed in between would appear on it. So that is done first, and what
 * endwin() restores is not what was there before.
 */
static SCREEN *open_screen(void)
{
	struct termios quiet;

	settings_known = tcgetattr(STDOUT_FILENO, &settings) == 0;
	if (settings_known) {
		quiet = settings;
		quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON);
		set_terminal(&quiet);
	}
	SCREEN *s = newterm(NULL, stdout, stdin);
	if (!s && settings_known)
		set_terminal(&settings);
	return s;
}

static void close_screen(void)
{
	endwin();
	fflush(stdout);
	if (settings_known)
		set_terminal(&settings);
}

int term_start(bool ascii, struct err *err)
{
	if (term_check(err))
		return -1;
	setlocale(LC_CTYPE, "");
	text_set_ascii(ascii || strcmp(nl_langinfo(CODESET), "UTF-8"));
	del_curterm(cur_term); /* newterm() reads the entry itself */
	screen = open_screen();
	if (!screen)
		return err_set(err, 2, "the live view: curses cannot use TERM \"%s\"; set another",
			       getenv("TERM"));
	raw();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	leaveok(stdscr, FALSE);
	on = true;
	bug_restore = term_stop;
	return 0;
}

void term_stop(void)
{
	if (!on)
		return;
	on = false;
	bug_restore = NULL;
	close_screen();
	delscreen(screen);
	screen = NULL;
}

int term_rows(void)
{
	return LINES;
}

int term_columns(void)
{
	return COLS;
}

void term_resize(void)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_row && ws.ws_col)
		resizeterm(ws.ws_row, ws.ws_col);
	clearok(curscr, TRUE);
}

void term_mouse(bool take)
{
	mousemask(take ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
	mouseinterval(0); /* report a press at once, whatever follows */
}

void term_clicked(int *y, int *x)
{
	*y = click_y;
	*x = click_x;
}

static int mouse_key(void)
{
	MEVENT e;

	if (getmouse(&e) != OK)
		return KEY_NOTHING;
	click_y = e.y;
	click_x = e.x;
	return e.bstate & BUTTON4_PRESSED   ? KEY_WHEEL_UP
	       : e.bstate & BUTTON5_PRESSED ? KEY_WHEEL_DOWN
	       : e.bstate & BUTTON1_PRESSED ? KEY_CLICK
					    : KEY_NOTHING;
}

static int translate(int k)
{
	static const struct {
		int curses, ours;
	} map[] = {
		{ KEY_UP, KEY_UP_ },         { KEY_DOWN, KEY_DOWN_ },   { KEY_LEFT, KEY_LEFT_ },
		{ KEY_RIGHT, KEY_RIGHT_ },   { KEY_PPAGE, KEY_PGUP },   { KEY_NPAGE, KEY_PGDN },
		{ KEY_HOME, KEY_HOME_ },     { KEY_END, KEY_END_ },     { KEY_BACKSPACE, KEY_BS },
		{ KEY_DC, KEY_DEL },         { KEY_BTAB, KEY_BACKTAB }, { KEY_ENTER, KEY_RETURN },
		{ KEY_RESIZE, KEY_RESIZED },
	};

	if (k == KEY_MOUSE)
		return mouse_key();
	for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
		if (map[i].curses == k)
			return map[i].ours;
	if (k > KEY_F0 && k <= KEY_F0 + 24)
		return KEY_FN + (k - KEY_F0);
	return KEY_NOTHING;
}

int term_key(void)
{
	for (;;) {
		wint_t ch;
		int rc = get_wch(&ch);
		if (rc == KEY_CODE_YES) {
			int key = translate((int)ch);
			if (key != KEY_NOTHING)
				return key;
			continue; /* a key without a meaning here */
		}
		if (rc == OK) {
			if (ch == 127 || ch == 8)
				return KEY_BS;
			if (ch == '\n')
				return KEY_RETURN;
			if (ch == 0)
				continue;
			return (int)ch;
		}
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
		if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)))
			return KEY_HANGUP;
		return KEY_NOTHING;
	}
}

void term_flush(bool whole)
{
	if (whole)
		clearok(curscr, TRUE);
	if (cursor_y >= 0)
		move(cursor_y, cursor_x);
	refresh();
}

void term_cursor(int y, int x)
{
	if ((y >= 0) != (cursor_y >= 0))
		curs_set(y >= 0);
	cursor_y = y;
	cursor_x = x;
}

void term_leave(void)
{
	def_prog_mode();
	close_screen();
}

void term_return(void)
{
	reset_prog_mode();
	term_resize();
	refresh();
}

/*
 * Stops the whole process group, as the terminal driver does in cooked mode: the shell sees its job
 * stop even if memtop is one of several processes. The kernel does not stop an orphaned group
 * (memtop alone in a window).
 */
void term_suspend(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL }, was;

	term_leave();
	sigaction(SIGTSTP, &plain, &was);
	kill(0, SIGTSTP);
	sigaction(SIGTSTP, &was, NULL);
	term_return();
}

/* RFC 4648, section 4. out: 4 bytes for 3, and a null. */
static void base64(char *out, const unsigned char *in, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; size; in += 3, size = size < 3 ? 0 : size - 3, out += 4) {
		uint32_t v = (uint32_t)in[0] << 16 | (size > 1 ? (uint32_t)in[1] << 8 : 0) |
			     (size > 2 ? in[2] : 0u);
		out[0] = digits[v >> 18];
		out[1] = digits[v >> 12 & 63];
		out[2] = size > 1 ? digits[v >> 6 & 63] : '=';
		out[3] = size > 2 ? digits[v & 63] : '=';
	}
	*out = 0;
}

bool term_clipboard(const char *text, size_t size)
{
	static char coded[CLIPBOARD_BYTES / 3 * 4 + 8];
	const char *set = tigetstr("Ms"); /* -1 or NULL: this kind of terminal has none */

	if (size > CLIPBOARD_BYTES || ((!set || set == (char *)-1) && !getenv("TMUX")))
		return false;
	base64(coded, (const unsigned char *)text, size);
	fprintf(stdout, "\033]52;c;%s\a", coded);
	fflush(stdout);
	return true;
}
