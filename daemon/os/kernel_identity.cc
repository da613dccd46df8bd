#include "daemon/os/kernel_identity.h"

#include <sys/utsname.h>

#include <fstream>
#include <span>
#include <sstream>

#include "daemon/os/elf_build_id.h"

namespace tailor::os {
namespace {

std::string first_line_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The lines are in the order of addresses, but for those of variables of each CPU, which come first.
std::string anchor_in(const std::filesystem::path& kallsyms) {
  constexpr int kMostLines = 100'000;
  std::ifstream file(kallsyms);
  std::string line;
  for (int i = 0; i < kMostLines && std::getline(file, line); ++i) {
    std::istringstream fields(line);
    std::string address, type, name;
    if (!(fields >> address >> type >> name) || name != "_text") continue;
    const std::size_t digits = address.find_first_not_of('0');
    return digits == std::string::npos ? std::string() : "_text=" + address.substr(digits);
  }
  return {};
}

}  // namespace

KernelIdentity kernel_identity(const std::filesystem::path& proc, const std::filesystem::path& sys) {
  KernelIdentity out;
  utsname names{};
  if (::uname(&names) == 0) {
    out.release = names.release;
    out.machine = names.machine;
  }
  out.boot_id = first_line_of(proc / "sys/kernel/random/boot_id");
  std::ifstream notes(sys / "kernel/notes", std::ios::binary);
  std::stringstream text;
  text << notes.rdbuf();
  const std::string bytes = text.str();
  out.build_id = build_id_in(std::as_bytes(std::span(bytes)));
  out.anchor = anchor_in(proc / "kallsyms");
  return out;
}

}  // namespace tailor::os
