#include "compiler/dwarf/object_lines.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"

namespace tailor::dwarf {
namespace {

constexpr std::uint64_t kMaxFunctionBytes = std::uint64_t{1} << 28;

struct EndDwfl {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

const Dwfl_Callbacks kOffline = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

// Numbers file names.
class FileTable {
 public:
  explicit FileTable(std::vector<std::string>& files) : files_(files) {}
  std::uint32_t index(const char* name) {
    auto [found, fresh] = numbers_.try_emplace(name ? name : "", static_cast<std::uint32_t>(files_.size()));
    if (fresh) files_.emplace_back(found->first);
    return found->second;
  }

 private:
  std::vector<std::string>& files_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

void read_unit(Dwarf_Die* unit, Dwarf_Addr bias, FileTable& files, std::vector<LineRow>& rows) {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(unit, &lines, &count) != 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    Dwarf_Line* line = dwarf_onesrcline(lines, i);
    Dwarf_Addr address = 0;
    int number = 0;
    bool end = false;
    if (dwarf_lineaddr(line, &address) != 0 || dwarf_lineno(line, &number) != 0) continue;
    dwarf_lineendsequence(line, &end);
    rows.push_back({address + bias, static_cast<std::uint32_t>(std::max(number, 0)),
                    files.index(dwarf_linesrc(line, nullptr, nullptr)), end});
  }
}

// The bytes at `address` of the object, which libdwfl has laid out; nothing where the file does not hold
// them.
std::vector<std::uint8_t> read_code(Dwfl_Module* module, std::uint64_t address, std::uint64_t size) {
  GElf_Addr bias = 0;
  Elf_Scn* section = dwfl_module_address_section(module, &address, &bias);
  if (section == nullptr) return {};
  Elf_Data* data = elf_getdata(section, nullptr);
  // dwfl_module_address_section has made `address` relative to its section.
  if (data == nullptr || data->d_buf == nullptr || address > data->d_size || size > data->d_size - address)
    return {};
  const auto* bytes = static_cast<const std::uint8_t*>(data->d_buf) + address;
  return {bytes, bytes + size};
}

void read_functions(Dwfl_Module* module, std::vector<FunctionRange>& functions) {
  const int count = dwfl_module_getsymtab(module);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_size == 0 || symbol.st_size > kMaxFunctionBytes) continue;
    functions.push_back({name, address, symbol.st_size, read_code(module, address, symbol.st_size)});
  }
  std::ranges::sort(functions, [](const auto& a, const auto& b) {
    return std::tie(a.address, a.name) < std::tie(b.address, b.name);
  });
}

Error dwfl_error(const std::string& path, const char* what) {
  const char* reason = dwfl_errmsg(-1);
  return invalid(path + ": " + what + (reason ? std::string(": ") + reason : ""));
}

}  // namespace

Result<ObjectLines> read_object_lines(const std::string& path) {
  std::unique_ptr<Dwfl, EndDwfl> dwfl(dwfl_begin(&kOffline));
  if (!dwfl) return dwfl_error(path, "libdwfl");
  dwfl_report_begin(dwfl.get());
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return os_error(path + ": cannot be opened", errno);
  Dwfl_Module* module = dwfl_report_offline(dwfl.get(), path.c_str(), path.c_str(), fd.get());
  if (module == nullptr) return dwfl_error(path, "is no ELF object");
  (void)fd.release();  // libdwfl has taken it over
  dwfl_report_end(dwfl.get(), nullptr, nullptr);

  ObjectLines object;
  FileTable files(object.files);
  Dwarf_Die* unit = nullptr;
  Dwarf_Addr bias = 0;
  while ((unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr)
    read_unit(unit, bias, files, object.rows);
  if (object.rows.empty()) return invalid(path + ": has no DWARF line table: compile with -g");
  // The end of one sequence may be the start of the next: it comes first.
  std::ranges::stable_sort(object.rows, [](const LineRow& a, const LineRow& b) {
    return a.address != b.address ? a.address < b.address : a.end > b.end;
  });
  read_functions(module, object.functions);
  // A shared object is laid out from some base: give addresses relative to its own.
  GElf_Addr load_bias = 0;
  Elf* elf = dwfl_module_getelf(module, &load_bias);
  GElf_Ehdr header;
  if (elf != nullptr && gelf_getehdr(elf, &header) != nullptr && header.e_type != ET_REL) {
    for (LineRow& row : object.rows) row.address -= load_bias;
    for (FunctionRange& function : object.functions) function.address -= load_bias;
  }
  return object;
}

v1::CodeObject make_code_object(const ObjectLines& object, const FunctionRange& function,
                                std::uint64_t loaded_at, const LineOwners& owners) {
  v1::CodeObject code;
  code.set_base(loaded_at);
  code.set_size(function.size);
  code.set_code(function.code.data(), function.code.size());
  code.set_name(function.name);
  v1::CodeSymbol* symbol = code.add_symbols();
  symbol->set_size(static_cast<std::uint32_t>(function.size));
  symbol->set_name(function.name);

  tagging::RowTableBuilder rows;
  rows.add(0, {}, tagging::RowFlag::kPrologue);
  auto row = std::ranges::lower_bound(object.rows, function.address, {}, &LineRow::address);
  for (; row != object.rows.end() && row->address < function.address + function.size; ++row) {
    const auto offset = static_cast<std::uint32_t>(row->address - function.address);
    if (row->end || row->line == 0) {
      rows.add(offset, {}, tagging::RowFlag::kUnmapped);
      continue;
    }
    rows.add(offset, owners(object.files[row->file], row->line), tagging::RowFlag::kExact);
  }
  *code.mutable_rows() = rows.build();
  return code;
}

}  // namespace tailor::dwarf
