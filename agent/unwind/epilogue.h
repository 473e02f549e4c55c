/* SPDX-License-Identifier: MIT
 *
 * epilogue.h - does code keep a frame pointer? It reads how the function returns to its caller.
 */
#ifndef MT_UNWIND_EPILOGUE_H
#define MT_UNWIND_EPILOGUE_H

#include <stdint.h>

struct module;

#define EPILOGUE_BASE 1u /* yes: rbp points at the frame's record */
#define EPILOGUE_AT 2u   /* yes, if rbp is sp + *saved */
/* with one of these: the caller's sp is further out than the record's end, because the return
 * removes arguments */
#define EPILOGUE_POPS 4u
#define EPILOGUE_OWN 8u /* with AT: rbp was loaded from the place that it points to */

/* For the function that a call returns to at pc; 0: it keeps none, or the code does not tell. m:
 * its module; NULL: generated code. Never faults. */
uint32_t mt_epilogue_read(uintptr_t pc, const struct module *m, int32_t *saved);

#endif
