// A terminal without colours, of a given width.
#pragma once

#include <cstddef>

#include "viewer/cli/terminal.h"

namespace tailor::cli {

inline Terminal plain(std::size_t width, bool ascii = false) {
  Terminal terminal;
  terminal.ascii = ascii;
  terminal.width = width;
  return terminal;
}

}  // namespace tailor::cli
