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
#define PASTE_QUIET_NS (5 * 1000000000ull) /* the end of a paste got lost */
#define SIGNAL_STACK 65536

enum { CURSES_PASTE_BEGIN = KEY_MAX + 1 };

static SCREEN *screen;
static bool on;
static struct termios settings; /* the terminal's, before ours */
static bool settings_known;
static int cursor_y = -1, cursor_x;
static int click_y, click_x;
static struct {
	bool taken;      /* the terminal can put pasted text in brackets */
	bool on;         /* between the brackets */
	bool gap;        /* white space was pasted, and becomes a blank before the next text */
	bool any;        /* text was pasted before */
	size_t matched;  /* bytes of the closing bracket that came */
	uint64_t key_ns; /* when the last key of it came */
} paste;
/* What a signal handler writes: everything that endwin() would, composed beforehand. */
static struct {
	char text[256];
	size_t size;
} farewell;

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

/* SIGTERM and its like come through the loop, and SIGXFSZ is a write that fails. */
static const int deaths[] = { SIGSEGV,   SIGBUS,  SIGILL,  SIGFPE,   SIGABRT, SIGTRAP,
			      SIGSYS,    SIGXCPU, SIGALRM, SIGPROF,  SIGUSR1, SIGUSR2,
			      SIGVTALRM, SIGPOLL, SIGPWR,  SIGSTKFLT };
static struct sigaction before[sizeof deaths / sizeof deaths[0]];

static int keep_byte(int c)
{
	if (farewell.size < sizeof farewell.text)
		farewell.text[farewell.size++] = (char)c;
	return c;
}

static void keep_text(const char *s)
{
	if (s)
		tputs(s, 1, keep_byte);
}

static void compose_farewell(void)
{
	farewell.size = 0;
	if (paste.taken) /* curses takes the mouse from no other terminal */
		keep_text("\033[?1000l\033[?1006l\033[?2004l");
	keep_text(exit_attribute_mode);
	keep_text(orig_pair);
	keep_text(keypad_local);
	keep_text(cursor_normal);
	keep_text(exit_ca_mode ? exit_ca_mode : "\r\n");
}

/*
 * Any state of memtop is possible here, so this makes only system calls. bug_restore is NULL in a
 * forked child, and while another program has the terminal. In the background the terminal is the
 * shell's. The raised signal arrives when the handler returns: the core file shows the fault.
 */
static void on_death(int signum)
{
	ssize_t ignored;

	if (bug_restore && tcgetpgrp(STDOUT_FILENO) == getpgrp()) {
		bug_restore = NULL;
		ignored = write(STDOUT_FILENO, farewell.text, farewell.size);
		(void)ignored;
		if (settings_known)
			tcsetattr(STDOUT_FILENO, TCSANOW, &settings);
	}
	for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++)
		if (deaths[i] == signum)
			sigaction(signum, &before[i], NULL);
	raise(signum);
}

/* Once: the chooser's screen and the live view's come one after the other. A stack that overflowed
 * cannot hold a handler's frame. */
static void catch_deaths(void)
{
	static char stack[SIGNAL_STACK];
	static bool caught;
	stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction a = { .sa_handler = on_death, .sa_flags = SA_ONSTACK };

	if (caught)
		return;
	caught = true;
	sigfillset(&a.sa_mask);
	sigaltstack(&other, NULL);
	for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++)
		if (!sigaction(deaths[i], NULL, &before[i]) && before[i].sa_handler != SIG_IGN)
			sigaction(deaths[i], &a, NULL);
}

static void take_pastes(bool take)
{
	paste.on = false;
	if (paste.taken)
		putp(take ? "\033[?2004h" : "\033[?2004l");
	fflush(stdout);
}

static void close_screen(void)
{
	take_pastes(false);
	endwin();
	fflush(stdout);
	if (settings_known)
		set_terminal(&settings);
	bug_restore = NULL;
}

/* By default LINES and COLUMNS win, which a shell may have exported from another window. They count
 * where the terminal does not know its size (a serial line). */
static void prefer_real_size(void)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_row && ws.ws_col) {
		use_env(FALSE);
		use_tioctl(TRUE);
	}
}

int term_start(bool ascii, struct err *err)
{
	if (term_check(err))
		return -1;
	setlocale(LC_CTYPE, "");
	text_set_ascii(ascii || strcmp(nl_langinfo(CODESET), "UTF-8"));
	del_curterm(cur_term); /* newterm() reads the entry itself */
	prefer_real_size();
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
	/* What reports the mouse is a relative of xterm; older descriptions have no BE. */
	const char *bracket = tigetstr("BE");
	paste.taken = (bracket && bracket != (char *)-1) || key_mouse;
	define_key("\033[200~", CURSES_PASTE_BEGIN);
	compose_farewell();
	take_pastes(true);
	on = true;
	bug_restore = term_stop;
	catch_deaths();
	return 0;
}

void term_stop(void)
{
	if (!on)
		return;
	on = false;
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

bool term_pasting(void)
{
	return paste.on;
}

static void begin_paste(void)
{
	paste.on = true;
	paste.gap = paste.any = false;
	paste.matched = 0;
	paste.key_ns = now_ns();
}

/*
 * The text of a paste, KEY_NOTHING for what is none. White space between words is one blank, as a
 * prompt has one line. The closing bracket is matched here, byte by byte: curses gives up on a
 * sequence whose bytes come apart, and the paste would never end.
 */
static int pasted(wint_t ch)
{
	static const char end[] = "\033[201~";

	paste.key_ns = now_ns();
	paste.matched = ch == (wint_t)end[paste.matched] ? paste.matched + 1 : ch == 27;
	if (!end[paste.matched])
		paste.on = false;
	if (paste.matched)
		return KEY_NOTHING;
	if (ch <= ' ' || ch == 127) {
		paste.gap = paste.any;
		return KEY_NOTHING;
	}
	if (paste.gap) {
		paste.gap = false;
		unget_wch((wchar_t)ch);
		return ' ';
	}
	paste.any = true;
	return (int)ch;
}

int term_key(void)
{
	for (;;) {
		wint_t ch;
		int rc = get_wch(&ch);
		if (paste.on && rc != ERR && now_ns() - paste.key_ns > PASTE_QUIET_NS)
			paste.on = false;
		if (rc == KEY_CODE_YES && ch == CURSES_PASTE_BEGIN) {
			begin_paste();
			continue;
		}
		if (rc == KEY_CODE_YES || (paste.on && rc == OK)) {
			int key = rc == OK ? pasted(ch) : translate((int)ch);
			if (key != KEY_NOTHING && (rc == OK || !paste.on))
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
	take_pastes(true);
	bug_restore = term_stop;
	term_resize();
	refresh();
}

/* After SIGSTOP, which no program sees: the shell changed the modes and wrote on the screen. */
void term_continued(void)
{
	close_screen();
	term_return();
}

/*
 * Stops the whole process group, as the terminal driver does in cooked mode: the shell sees its job
 * stop even if memtop is one of several processes. The kernel does not stop an orphaned group
 * (memtop alone in a window).
 */
void term_suspend(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL }, stop, go_on;

	term_leave();
	sigaction(SIGTSTP, &plain, &stop);
	sigaction(SIGCONT, &plain, &go_on); /* term_return() does here what the loop would */
	kill(0, SIGTSTP);
	sigaction(SIGCONT, &go_on, NULL);
	sigaction(SIGTSTP, &stop, NULL);
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
