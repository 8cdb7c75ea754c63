// Where the library is, for the ciphers beside this file.
#ifndef ROOST_CPACKETCIPHERS_LIBRARY_H
#define ROOST_CPACKETCIPHERS_LIBRARY_H

// With the header of 1.0 or newer; before that other names were used. Bursts came with 1.3.
#if __has_include(<intel-ipsec-mb.h>)
// Names of former versions, some of which are OpenSSL's too, stay away.
#define NO_COMPAT_IMB_API_053
#include <intel-ipsec-mb.h>
#if defined(IMB_VERSION_NUM) && IMB_VERSION_NUM >= 0x10000
#define HAS_LIBRARY
#if IMB_VERSION_NUM >= 0x10300
#define HAS_BURSTS
#endif
#endif
#endif

#ifdef HAS_LIBRARY

/// A table of the library's functions for this processor and the state of its bursts, which are of one thread at a time. NULL
/// where the library is not there, is of another version, or has no use for this processor.
__attribute__((visibility("hidden"))) IMB_MGR *cpacketciphers_manager_make(void);
__attribute__((visibility("hidden"))) void cpacketciphers_manager_free(IMB_MGR *manager);

/// One for all, whose functions are called and whose state is not used; never freed.
__attribute__((visibility("hidden"))) const IMB_MGR *cpacketciphers_functions(void);

#endif
#endif
