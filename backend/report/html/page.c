/* SPDX-License-Identifier: MIT
 *
 * page.c - see report/html/page.h. page/ has the page's own sources; the Makefile makes strings of
 * them (html_parts.h).
 *
 * Names in a page are anybody's: text is escaped, the data is in base64, and the page's policy runs
 * the one script and the styles whose hashes it has, and loads nothing.
 */
#include "report/html/page.h"

#include "base/build.h"
#include "base/sanitize.h"
#include "html_parts.h"

void html_text(FILE *out, const char *s)
{
	while (*s) {
		int32_t cp;
		size_t len = sanitize_char(s, &cp);

		switch (cp) {
		case FOREIGN_HIDDEN: break;
		case FOREIGN_BAD: fputs("?", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\'': fputs("&#39;", out); break;
		default: fwrite(s, 1, len, out);
		}
		s += len;
	}
}

void html_page_begin(FILE *out, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src '" HTML_SCRIPT_HASH "'; style-src '" HTML_STYLE_HASH "' '" HTML_DARK_HASH
	      "'; base-uri 'none'; form-action 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n"
	      "<meta name=\"generator\" content=\"memtop ",
	      out);
	html_text(out, build_version);
	fputs("\">\n<title>", out);
	html_text(out, title);
	fputs(" - memtop</title>\n<style>", out);
	fputs(html_style, out);
	fputs("</style>\n<style id=\"dark\" media=\"screen and (prefers-color-scheme: dark)\">",
	      out);
	fputs(html_dark, out);
	fputs("</style>\n</head>\n<body>\n", out);
}

struct pack *html_page_data(FILE *out)
{
	fputs(html_body, out);
	fputs("<script type=\"application/octet-stream\" id=\"data\">", out);
	return pack_new(out);
}

void html_page_end(FILE *out, struct pack *data)
{
	pack_end(data);
	fputs("</script>\n<script type=\"module\">", out);
	fputs(html_script, out);
	fputs("</script>\n</body>\n</html>\n", out);
}
