#include "daemon/os/kernel_identity.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

namespace tailor::os {
namespace {

std::string first_line_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The kernel's own ELF notes.
std::string build_id_in(std::string_view notes) {
  const auto padded = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
  Elf64_Nhdr note{};
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::size_t name = padded(note.n_namesz);
    if (name > notes.size() || note.n_descsz > notes.size() - name) break;
    if (note.n_type == NT_GNU_BUILD_ID && notes.starts_with("GNU")) {
      std::string out;
      for (const char byte : notes.substr(name, note.n_descsz))
        out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      return out;
    }
    if (name + padded(note.n_descsz) > notes.size()) break;
    notes.remove_prefix(name + padded(note.n_descsz));
  }
  return {};
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
  out.build_id = build_id_in(text.str());
  out.anchor = anchor_in(proc / "kallsyms");
  return out;
}

}  // namespace tailor::os
