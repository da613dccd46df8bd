#include "daemon/unwind/process_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace tailor::unwind {
namespace {

constexpr TimeNs kLookInterval = 100'000'000;

std::string_view next_field(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(field.size());
  return field;
}

bool read_hex(std::string_view text, std::uint64_t& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return problem == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> out;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string_view range = next_field(line), rights = next_field(line), offset = next_field(line);
    const std::string_view device = next_field(line), inode = next_field(line);
    const std::size_t dash = range.find('-');
    Mapping mapping;
    if (dash == range.npos || rights.size() < 3 || rights[2] != 'x' || inode.empty() || inode == "0")
      continue;
    if (!read_hex(range.substr(0, dash), mapping.begin) || !read_hex(range.substr(dash + 1), mapping.end) ||
        !read_hex(offset, mapping.file_offset) || mapping.begin >= mapping.end) {
      continue;
    }
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    mapping.path = std::string(line);
    mapping.file = std::string(device) + ":" + std::string(inode);
    out.push_back(std::move(mapping));
  }
  std::ranges::sort(out, {}, &Mapping::begin);
  return out;
}

std::shared_ptr<const ElfCfi> FileTables::get(const std::string& file,
                                              const std::vector<std::string>& paths) {
  const auto known = tables_.find(file);
  if (known != tables_.end()) return known->second;
  if (tables_.size() >= kMost) return nullptr;
  std::shared_ptr<const ElfCfi> table;
  for (const std::string& path : paths) {
    auto read = read_elf_cfi(path);
    if (!read) continue;
    table = std::make_shared<ElfCfi>(std::move(*read));
    break;
  }
  tables_[file] = table;
  return table;
}

std::shared_ptr<FileArguments> FileTables::arguments(const std::string& file,
                                                     const std::vector<std::string>& paths,
                                                     const std::shared_ptr<const ElfCfi>& table) {
  const auto known = arguments_.find(file);
  if (known != arguments_.end()) return known->second;
  if (arguments_.size() >= kMostArguments) return nullptr;
  return arguments_[file] = std::make_shared<FileArguments>(table, paths);
}

void ProcessCode::add_code(const RegisteredCode& code, std::string_view eh_frame, std::uint64_t address) {
  if (code.begin >= code.end) return;
  auto at = registered_.lower_bound(code.begin);
  if (at != registered_.begin() && std::prev(at)->second.range.end > code.begin) --at;
  while (at != registered_.end() && at->first < code.end) at = forget(at);
  const std::size_t bytes = sizeof(Registered) + eh_frame.size();
  make_room(bytes);
  if (registered_.size() >= kMostRegistered || bytes_ + bytes > kMostBytes) return;
  const auto table = std::as_bytes(std::span(eh_frame.data(), eh_frame.size()));
  registered_.emplace(code.begin, Registered{code, CfiTable::parse(table, address), bytes});
  begins_[code.id] = code.begin;
  bytes_ += bytes;
}

void ProcessCode::remove_code(CodeId id) {
  const auto known = begins_.find(id);
  if (known == begins_.end()) return;
  const std::uint64_t begin = known->second;
  begins_.erase(known);
  const auto at = registered_.find(begin);
  if (at == registered_.end() || at->second.range.id != id) return;
  at->second.removed = true;
  removed_.emplace_back(id, begin);
  make_room(0);
}

ProcessCode::Code::iterator ProcessCode::forget(Code::iterator at) {
  const auto known = begins_.find(at->second.range.id);
  if (known != begins_.end() && known->second == at->first) begins_.erase(known);
  bytes_ -= at->second.bytes;
  return registered_.erase(at);
}

// Forgets removed code, the oldest first, until there are few and `bytes` more fit.
void ProcessCode::make_room(std::size_t bytes) {
  while (!removed_.empty() && (removed_.size() > kMostRemoved || registered_.size() >= kMostRegistered ||
                               bytes_ + bytes > kMostBytes)) {
    const auto [id, begin] = removed_.front();
    removed_.pop_front();
    const auto at = registered_.find(begin);
    if (at != registered_.end() && at->second.removed && at->second.range.id == id) forget(at);
  }
}

const ProcessCode::Registered* ProcessCode::registered_at(std::uint64_t address) const {
  auto after = registered_.upper_bound(address);
  if (after == registered_.begin()) return nullptr;
  const Registered& code = std::prev(after)->second;
  return address < code.range.end ? &code : nullptr;
}

Mapping* ProcessCode::mapping_at(std::uint64_t address) {
  auto after = std::ranges::upper_bound(mappings_, address, {}, &Mapping::begin);
  if (after == mappings_.begin()) return nullptr;
  Mapping& mapping = *std::prev(after);
  return address < mapping.end ? &mapping : nullptr;
}

void ProcessCode::read_maps(TimeNs now) {
  if (now < next_look_) return;
  next_look_ = now + kLookInterval;
  std::ifstream file(folder_ / "maps");
  std::stringstream text;
  text << file.rdbuf();
  auto mappings = parse_maps(text.str());
  if (!mappings.empty()) mappings_ = std::move(mappings);  // a process that has ended keeps what it had
}

bool ProcessCode::step(Frame& frame, bool exact, const StackView& stack, bool& signal, TimeNs now) {
  const std::uint64_t address = frame.value[kReturnAddress] - (exact ? 0 : 1);
  if (const Registered* code = registered_at(address))
    return code->table.step(frame, 0, exact, stack, signal);
  Mapping* mapping = mapping_at(address);
  if (mapping == nullptr) {
    read_maps(now);
    mapping = mapping_at(address);
  }
  if (mapping == nullptr) return false;
  if (!mapping->asked) find_table(*mapping);
  if (mapping->table == nullptr) return false;
  const auto bias = mapping->table->bias(mapping->begin, mapping->file_offset);
  return bias && mapping->table->table.step(frame, *bias, exact, stack, signal);
}

std::vector<std::string> ProcessCode::paths_of(const Mapping& mapping) const {
  const std::string direct = fmt::format("map_files/{:x}-{:x}", mapping.begin, mapping.end);
  return {(folder_ / direct).string(), (folder_ / "root").string() + mapping.path};
}

void ProcessCode::find_table(Mapping& mapping) {
  mapping.asked = true;
  mapping.table = files_.get(mapping.file, paths_of(mapping));
}

ProcessCode::Argument ProcessCode::argument_at(std::uint64_t address) {
  Mapping* mapping = registered_at(address) == nullptr ? mapping_at(address) : nullptr;
  if (mapping == nullptr || mapping->table == nullptr) return {};
  const auto bias = mapping->table->bias(mapping->begin, mapping->file_offset);
  if (!bias) return {};
  if (!mapping->asked_for_arguments) {
    mapping->asked_for_arguments = true;
    mapping->arguments = files_.arguments(mapping->file, paths_of(*mapping), mapping->table);
  }
  if (mapping->arguments == nullptr) return {};
  return {mapping->arguments->at(address - *bias), *bias};
}

}  // namespace tailor::unwind
