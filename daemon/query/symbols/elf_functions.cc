#include "daemon/query/symbols/elf_functions.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "daemon/os/vdso.h"
#include "daemon/profile/mapped_kind.h"
#include "daemon/query/symbols/elf_debug_files.h"
#include "daemon/query/symbols/elf_file.h"
#include "daemon/query/symbols/elf_linkage.h"
#include "daemon/query/symbols/elf_symbols.h"
#include "daemon/query/symbols/go_functions.h"
#include "daemon/query/symbols/set_functions.h"
#include "proto/base/errors.h"
#include "proto/base/file_id.h"

namespace tailor::query {
namespace {

// Whether it is the file that was recorded. Its id says so; where none was recorded, a content that was
// written since says that it is another one. Other times of a file change without its content: a second name,
// a changed mode.
Status same_file(const ElfFile& file, const RecordedFile& recorded) {
  if (!runs_on(file.machine(), recorded.machine))
    return unavailable(
        fmt::format("the file here is of another machine than the recording's ({})", recorded.machine));
  if (!recorded.build_id.empty()) {
    const std::string here = is_content_id(recorded.build_id) ? file.content_id() : file.build_id();
    if (here == recorded.build_id) return Ok{};
    return unavailable("the file is another one now");
  }
  if (file.written_ns() > recorded.mapped_ns) return unavailable("the file was written since it was mapped");
  return Ok{};
}

Result<ElfFile> open_recorded(const std::string& path, const RecordedFile& recorded) {
  if (path != profile::kVdsoPath) return ElfFile::open(recorded.read_at.empty() ? path : recorded.read_at);
  std::vector<char> image = os::vdso_image(recorded.build_id);
  if (image.empty()) return unavailable("the vDSO of the recording's kernel is not here");
  return ElfFile::of_bytes(std::move(image), path);
}

void add_debug_files(const std::string& path, const RecordedFile& recorded, const std::string& debug_root,
                     const ElfFile& file, SymbolSet& to) {
  const auto add = [&to](const std::optional<ElfFile>& found) {
    if (found) to.add_table(*found, SHT_SYMTAB);
  };
  if (!recorded.within.empty()) add(find_debug_file(recorded.within_as, file, debug_root, recorded.within));
  add(find_debug_file(path, file, debug_root));
  if (recorded.debug_at.empty()) return;
  if (const auto told = ElfFile::open(recorded.debug_at); told.ok() && told->build_id() == file.build_id())
    to.add_table(*told, SHT_SYMTAB);
}

}  // namespace

Result<ElfFunctions> read_elf_functions(const std::string& path, const RecordedFile& recorded,
                                        const std::string& debug_root,
                                        const std::vector<std::string>& setters) {
  auto file = open_recorded(path, recorded);
  if (!file) return file.error();
  if (Status same = same_file(*file, recorded); !same) return same.error();
  ElfFunctions out;
  out.build_id = file->build_id();
  if (recorded.identify) out.file_id = out.build_id.empty() ? file->content_id() : out.build_id;
  for (const Elf64_Phdr& part : file->parts()) {
    if (part.p_type == PT_LOAD) out.segments.push_back({part.p_offset, part.p_filesz, part.p_vaddr});
  }
  SymbolSet symbols;
  symbols.add_table(*file, SHT_SYMTAB);
  symbols.add_table(*file, SHT_DYNSYM);
  if (const auto inner = unpack_mini_debug(*file)) symbols.add_table(*inner, SHT_SYMTAB);
  add_debug_files(path, recorded, debug_root, *file, symbols);
  add_go_functions(*file, symbols);
  add_linkage(*file, symbols);
  out.functions = symbols.take(*file);
  name_set_functions(*file, setters, out);
  return out;
}

}  // namespace tailor::query
