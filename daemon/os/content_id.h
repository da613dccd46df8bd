// The identity of a file of code that has no build id: a hash of what it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tailor::os {

// A larger file has no such id: to read it would take too long.
inline constexpr std::uint64_t kMostOfContent = std::uint64_t{128} << 20;

// tailor::kContentId and 40 hexadecimal digits: the first 20 bytes of the SHA-256 over the offsets, sizes and
// SHA-256 of the pieces of an ELF file: of its headers, of what is loaded of it, and of its tables of
// symbols. So it holds code and names; debug information does not count. "": it is no ELF file of
// little-endian order, is larger than kMostOfContent without what does not count, cannot be read, or changed
// meanwhile.
//
// Reads all of that, except for a file that was read lately and has not changed since. The content is not
// trusted. Any thread.
std::string content_id(int fd);
std::string content_id(const std::filesystem::path& path);

// The build id of a file, else its content id, which takes longer.
std::string file_id(const std::filesystem::path& path);

// Whether the file there has this id, of either kind.
bool has_id(const std::filesystem::path& path, std::string_view id);

}  // namespace tailor::os
