#pragma once
#include <libpq-fe.h>

/// `PQconnectdb` which waits so many seconds for each host, where the address itself does not say how long
/// (`connect_timeout`): what stands later counts, and the address is taken apart in the place of a database's name.
static inline PGconn *roost_pq_connect(const char *address, const char *seconds) {
    const char *keywords[] = {"connect_timeout", "dbname", NULL};
    const char *values[] = {seconds, address, NULL};
    return PQconnectdbParams(keywords, values, 1);
}
