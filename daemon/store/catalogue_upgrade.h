// Gives a catalogue of an earlier version what catalogues have now: checksums of its pages.
#pragma once

#include <string>

#include "daemon/os/files.h"
#include "proto/base/result.h"

namespace tailor::store {

// Where version 1 wrote the catalogue `path`, puts one with the same rows in its place. Any other stays as it
// is, and so does that one where this fails. A reader that has the file open goes on with the former one. For
// the holder of the store's lock, before the catalogue is opened.
Status upgrade_catalogue(const std::string& path, os::Files& files);

}  // namespace tailor::store
