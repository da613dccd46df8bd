// What tells builds of a program or library apart.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tailor::os {

// The build id that an ELF file carries in a note that is loaded with it, in hexadecimal; "" for a file that
// has none, or that is no regular file. As the kernel reads it where a file is mapped. The content is not
// trusted: not more than 64 KiB of the file are read.
std::string elf_build_id(const std::filesystem::path& path);

// The same of the begin of such a file, as it lies in memory.
std::string elf_build_id_of(std::string_view file);

// The same of notes as they lie in a file or in /sys/kernel/notes (ELF specification, "Note Section").
std::string build_id_in(std::span<const std::byte> notes);

}  // namespace tailor::os
