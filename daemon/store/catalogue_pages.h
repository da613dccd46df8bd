// How the pages of a catalogue are made, before its first table.
#pragma once

#include "proto/base/result.h"

struct sqlite3;

namespace tailor::store {

// The size of pages and room for checksums, and that a file can become smaller: of this database if it is
// empty, and of the one that VACUUM INTO makes.
Status prepare_for_checksums(sqlite3* db);

}  // namespace tailor::store
