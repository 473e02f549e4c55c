// SPDX-License-Identifier: MIT
//
// cxx.cc - the library of late.c's that uses operator new and delete.
#include "work.h"

EXPORTED void late_work(struct worker *w, int events)
{
	work(w, events);
}

EXPORTED void late_drop(struct worker *w, int unused)
{
	drop_all(w, unused);
}
