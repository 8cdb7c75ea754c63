#ifndef CFILEBIRTH_H
#define CFILEBIRTH_H

#include <stdint.h>

// When a file was made, in nanoseconds of the system's clock: statx(2) on Linux, which Swift's module of the C library
// lacks. A copy has another time than its original, also where it gets the original's number in the file system. 0 where
// there is no such file, or where the file system does not keep it.
int64_t cfilebirth(const char *path);

#endif
