// The identity of a file of code, as text: the build id of a file in hexadecimal, or of one without a build
// id kContentId and a hash of what it is (daemon/os/content_id.h). "": nothing is known.
#pragma once

#include <string>
#include <string_view>

namespace tailor {

inline constexpr std::string_view kContentId = "content:";

inline bool is_content_id(std::string_view id) {
  return id.starts_with(kContentId);
}

// To compare with ids that linkers give: "" where that is none.
inline std::string only_build_id(const std::string& id) {
  return is_content_id(id) ? std::string() : id;
}

}  // namespace tailor
