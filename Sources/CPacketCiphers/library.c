#define _GNU_SOURCE
#include "library.h"

#ifdef HAS_LIBRARY

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

static IMB_MGR *(*make)(uint64_t);
static void (*release)(IMB_MGR *);
static void (*choose)(IMB_MGR *, IMB_ARCH *);
static int (*fault)(IMB_MGR *);
static const IMB_MGR *functions;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static IMB_MGR *make_manager(void) {
    IMB_MGR *manager = make(0);
    if (!manager) return NULL;
    // Without AES instructions the library would compute with tables, in times that depend on the key.
    const uint64_t wanted = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
    if ((manager->features & wanted) == wanted) {
        choose(manager, NULL);
        if (fault(manager) == 0) return manager;
    }
    release(manager);
    return NULL;
}

// Not linked: a program that was built beside the library runs where it is not.
static void find_library(void) {
    char name[40];
    snprintf(name, sizeof name, "libIPSec_MB.so.%d", IMB_VERSION_NUM >> 16);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    unsigned (*version)(void) = (unsigned (*)(void))dlsym(library, "imb_get_version");
    make = (IMB_MGR * (*)(uint64_t)) dlsym(library, "alloc_mb_mgr");
    release = (void (*)(IMB_MGR *))dlsym(library, "free_mb_mgr");
    choose = (void (*)(IMB_MGR *, IMB_ARCH *))dlsym(library, "init_mb_mgr_auto");
    fault = (int (*)(IMB_MGR *))dlsym(library, "imb_get_errno");
    // Versions of one name differ in the size of a schedule: 1.3's has 1,008 bytes, 1.4 writes 1,264 into it.
    if (!version || !make || !release || !choose || !fault || version() >> 8 != IMB_VERSION_NUM >> 8) return;
    functions = make_manager();
}

const IMB_MGR *cpacketciphers_functions(void) {
    pthread_once(&once, find_library);
    return functions;
}

IMB_MGR *cpacketciphers_manager_make(void) { return cpacketciphers_functions() ? make_manager() : NULL; }

void cpacketciphers_manager_free(IMB_MGR *manager) {
    if (manager) release(manager);
}

#endif
