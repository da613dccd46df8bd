#include "daemon/os/vdso.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <system_error>

#include "daemon/os/elf_build_id.h"
#include "daemon/os/regular_file.h"
#include "proto/base/unique_fd.h"

namespace tailor::os {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostOfImage = std::uint64_t{1} << 20;  // those of Linux have some pages
constexpr std::size_t kMostImages = 64;                         // of a folder

std::string id_of_image(const std::vector<char>& image) {
  return elf_build_id_of(std::string_view(image.data(), image.size()));
}

// How much of our memory is mapped from there on; 0: nothing begins there.
std::uint64_t size_of_own(std::uint64_t begin) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64, &from, &to) == 2 && from == begin) return to - from;
  }
  return 0;
}

Vdso read_own() {
  Vdso out;
  const std::uint64_t begin = ::getauxval(AT_SYSINFO_EHDR);
  const std::uint64_t size = begin == 0 ? 0 : size_of_own(begin);
  if (size == 0 || size > kMostOfImage) return {};
  out.image.resize(size);
  std::memcpy(out.image.data(), reinterpret_cast<const void*>(begin), size);
  out.build_id = id_of_image(out.image);
  return out.build_id.empty() ? Vdso{} : out;
}

// Empty: it cannot all be read.
std::vector<char> read_all(int fd, std::uint64_t offset, std::uint64_t size) {
  if (size > kMostOfImage) return {};
  std::vector<char> out(size);
  for (std::size_t done = 0; done < out.size();) {
    const ssize_t n = ::pread(fd, &out[done], out.size() - done, static_cast<off_t>(offset + done));
    if (n <= 0) return {};
    done += static_cast<std::size_t>(n);
  }
  return out;
}

// Of a file that root or this user has made.
std::vector<char> image_at(const std::string& path, std::string_view build_id) {
  struct stat facts{};
  const UniqueFd file = open_regular(path, facts);
  if (!file || (facts.st_uid != 0 && facts.st_uid != ::geteuid())) return {};
  std::vector<char> image = read_all(file.get(), 0, static_cast<std::uint64_t>(facts.st_size));
  if (id_of_image(image) != build_id) image.clear();
  return image;
}

// Each kind of process has one: vdso64.so, vdso32.so, vdsox32.so.
std::vector<char> image_of_package(std::string_view build_id) {
  utsname kernel{};
  if (::uname(&kernel) != 0) return {};
  std::error_code none;
  std::size_t seen = 0;
  for (const fs::directory_entry& each :
       fs::directory_iterator(fmt::format("/lib/modules/{}/vdso", kernel.release), none)) {
    if (++seen > kMostImages) break;
    if (std::vector<char> image = image_at(each.path(), build_id); !image.empty()) return image;
  }
  return {};
}

// perf keeps what its recordings were in (perf-buildid-cache(1)).
std::vector<char> image_of_perf(std::string_view build_id) {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return image_at(fmt::format("{}/.debug/[vdso]/{}/vdso", home, build_id), build_id);
}

}  // namespace

const Vdso& own_vdso() {
  static const Vdso own = read_own();
  return own;
}

std::string vdso_id(const fs::path& folder, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t size = end > begin ? end - begin : 0;
  if (size == 0 || size > kMostOfImage) return {};
  if (begin >= kLowestOfWideVdso) return size == own_vdso().image.size() ? own_vdso().build_id : "";
  const UniqueFd memory(::open((folder / "mem").c_str(), O_RDONLY | O_CLOEXEC));
  return memory ? id_of_image(read_all(memory.get(), begin, size)) : "";
}

std::vector<char> vdso_image(std::string_view build_id) {
  const bool is_hex =
      !build_id.empty() && build_id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!is_hex) return {};
  if (own_vdso().build_id == build_id) return own_vdso().image;
  std::vector<char> image = image_of_package(build_id);
  return image.empty() ? image_of_perf(build_id) : image;
}

}  // namespace tailor::os
