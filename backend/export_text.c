#include "export.h"
int export_text(struct watch *w, struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	(void)w, (void)q, (void)o, (void)out;
	return err_set(err, 125, "text: not yet");
}
