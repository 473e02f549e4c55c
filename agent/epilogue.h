/* SPDX-License-Identifier: MIT
 *
 * epilogue.h - does code keep a frame pointer? The way its function returns to its caller tells.
 */
#ifndef MT_EPILOGUE_H
#define MT_EPILOGUE_H

#include <stdbool.h>
#include <stdint.h>

#define EPILOGUE_BASE 1u /* yes: rbp points at the frame's record */
#define EPILOGUE_AT 2u   /* yes, if rbp is sp + *saved */
/* Beside one of these: the return also pops arguments, so the caller's sp is further out than the record's end. */
#define EPILOGUE_POPS 4u

/*
 * EPILOGUE_* of the function that a call returns to at pc; 0: it keeps no frame pointer, or that is unknown.
 * generated: the code lies outside modules. Never faults.
 */
uint32_t mt_epilogue_read(uintptr_t pc, bool generated, int32_t *saved);

#endif
