#include "daemon/query/symbols/go_functions.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "daemon/query/symbols/go_text.h"

namespace tailor::query {
namespace {

constexpr std::uint32_t kGo12 = 0xFFFFFFFB, kGo116 = 0xFFFFFFFA, kGo118 = 0xFFFFFFF0, kGo120 = 0xFFFFFFF1;
constexpr std::uint64_t kMostGoFunctions = std::uint64_t{1} << 20;

class GoTable {
 public:
  explicit GoTable(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}

  template <typename T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  unsigned word_size() const { return bytes_.size() > 7 && bytes_[7] == 4 ? 4 : 8; }
  // Words of the header, which begin behind its first eight bytes.
  std::uint64_t word(unsigned number) const {
    return long_word(8 + std::uint64_t{number} * word_size()).value_or(0);
  }
  // Of the program's own size.
  std::optional<std::uint64_t> long_word(std::uint64_t offset) const {
    if (word_size() == 8) return at<std::uint64_t>(offset);
    const auto half = at<std::uint32_t>(offset);
    return half ? std::optional<std::uint64_t>(*half) : std::nullopt;
  }
  std::string text(std::uint64_t offset) const {
    constexpr std::size_t kLongest = 4096;
    if (offset >= bytes_.size()) return {};
    const char* const begin = reinterpret_cast<const char*>(bytes_.data() + offset);
    return {begin, ::strnlen(begin, std::min<std::size_t>(kLongest, bytes_.size() - offset))};
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Before Go 1.18 the table has the addresses themselves. Where code can lie anywhere, the loader puts them
// there: in the file they are 0, and name nothing.
void add_by_addresses(const GoTable& table, bool of_116, SymbolSet& to) {
  enum Word { kFunctions, kFiles, kNames, kUnits, kFileNames, kCounters, kFunctionTable };
  const unsigned size = table.word_size();
  const std::uint64_t count = table.word(kFunctions);
  const std::uint64_t names = of_116 ? table.word(kNames) : 0;
  const std::uint64_t facts = of_116 ? table.word(kFunctionTable) : 0;
  const std::uint64_t functions = of_116 ? facts : 8 + size;
  if (count > kMostGoFunctions) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t entry = functions + 2 * i * size;
    const std::uint64_t begin = table.long_word(entry).value_or(0);
    const std::uint64_t end = table.long_word(entry + 2 * std::uint64_t{size}).value_or(0);
    const auto fact = table.long_word(entry + size);
    if (begin == 0 || end <= begin || !fact) continue;
    const auto name = table.at<std::int32_t>(facts + *fact + size);
    if (!name || *name < 0) continue;
    std::string found = table.text(names + static_cast<std::uint64_t>(*name));
    if (!found.empty()) to.add(begin, end, std::move(found));
  }
}

}  // namespace

void add_go_functions(const ElfFile& file, SymbolSet& to) {
  const Elf64_Shdr* section = file.section(".gopclntab");
  if (section == nullptr) section = file.section(".data.rel.ro.gopclntab");
  if (section == nullptr) return;
  const GoTable table(file.read<std::uint8_t>(section->sh_offset, section->sh_size));
  const auto magic = table.at<std::uint32_t>(0);
  if (magic == kGo12 || magic == kGo116) return add_by_addresses(table, magic == kGo116, to);
  if (magic != kGo118 && magic != kGo120) return;
  enum Word { kFunctions, kFiles, kText, kNames, kUnits, kFileNames, kCounters, kFunctionTable };
  const std::uint64_t count = table.word(kFunctions), names = table.word(kNames),
                      functions = table.word(kFunctionTable);
  if (count > kMostGoFunctions) return;
  // Pairs of where the code begins and where more is said of it; the begin of the next is the end.
  struct Entry {
    std::uint32_t code, facts;
  };
  const GoTableHead head{
      section->sh_addr,
      table.word_size(),
      count,
      {names, table.word(kUnits), table.word(kFileNames), table.word(kCounters), functions},
      table.at<std::uint32_t>(functions).value_or(0),
      table.at<std::uint32_t>(functions + count * sizeof(Entry)).value_or(0)};
  const std::uint64_t text = go_text(file, head);
  if (text == 0) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = table.at<Entry>(functions + i * sizeof(Entry));
    const auto next = table.at<std::uint32_t>(functions + (i + 1) * sizeof(Entry));
    if (!entry || !next || *next <= entry->code) continue;
    const auto name = table.at<std::int32_t>(functions + entry->facts + sizeof(std::uint32_t));
    if (!name || *name < 0) continue;
    std::string found = table.text(names + static_cast<std::uint64_t>(*name));
    if (!found.empty()) to.add(text + entry->code, text + *next, std::move(found));
  }
}

}  // namespace tailor::query
