#ifndef CCALLGRIND_H
#define CCALLGRIND_H

// Callgrind counts from here to the next call, or no longer; see `--collect-atstart=no`. Nothing under no valgrind, and
// nothing where its headers are missing.
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
static inline void ccallgrind_toggle(void) { CALLGRIND_TOGGLE_COLLECT; }
#else
static inline void ccallgrind_toggle(void) {}
#endif

#endif
