// What `tailor bugreport` takes out of texts before others see them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tailor::cli {

struct Cleaned {
  std::string text;
  std::uint64_t removed = 0;  // places that were replaced
};

// Replaces tokens and their digests (40 hexadecimal digits or more, "Bearer ..."), the names of users in
// paths below /home, and, where it is not "", the host's name. Execution ids and fingerprints stay.
Cleaned clean_for_others(std::string_view text, std::string_view host);

}  // namespace tailor::cli
