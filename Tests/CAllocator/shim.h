// What the allocator has given out, for tests that look for memory left behind. Swift's module of glibc lacks malloc.h.
#ifndef ROOST_CALLOCATOR_SHIM_H
#define ROOST_CALLOCATOR_SHIM_H

#include <malloc.h>

#endif
