// The code that the kernel itself puts into each process, for calls that need not enter it ("[vdso]",
// vdso(7)). It lies in no file, so its build id says which kernel's it is, and its image has the names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tailor::os {

// A process of 64 bits has it above this address. One of 32 bits has another image, below.
inline constexpr std::uint64_t kLowestOfWideVdso = std::uint64_t{1} << 32;

struct Vdso {
  std::vector<char> image;  // an ELF file, with zeros up to the end of its last page
  std::string build_id;     // in hexadecimal
};

// That of our own process, and so of each process of 64 bits under the kernel that runs here. Empty: this
// kernel gives none, or it has no build id. Any thread.
const Vdso& own_vdso();

// The build id of what a process of the kernel that runs here has mapped as its vDSO; "" not known. Below
// kLowestOfWideVdso it is read from the memory of the process, which may be slow and needs the right to;
// `folder` is the process's in /proc.
std::string vdso_id(const std::filesystem::path& folder, std::uint64_t begin, std::uint64_t end);

// The image with that build id: our own, one that the running kernel's package brought
// (/lib/modules/RELEASE/vdso), or one that perf keeps (~/.debug). Empty: none is here.
std::vector<char> vdso_image(std::string_view build_id);

}  // namespace tailor::os
