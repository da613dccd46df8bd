#include "daemon/unwind/process_code.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include "daemon/os/elf_build_id.h"
#include "daemon/os/living_folder.h"

namespace tailor::unwind {
namespace {

constexpr TimeNs kLookInterval = 100'000'000;
// Of all processes together: the thread that unwinds has others to serve. Small tables, which is what engines
// have, always may: nobody can keep another one from it.
constexpr TimeNs kIndexInterval = 50'000'000;
constexpr std::size_t kMostIndexed = ProcessCode::kMostOfATable, kSmallTable = 4096;
constexpr std::string_view kWithBuildId = "build id ";

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

namespace {

// A line of /proc/PID/maps.
struct MapsLine {
  Mapping mapping;
  bool executable = false, of_file = false;
};

bool read_line(std::string_view line, MapsLine& out) {
  const std::string_view range = next_field(line), rights = next_field(line), offset = next_field(line);
  const std::string_view device = next_field(line), inode = next_field(line);
  const std::size_t dash = range.find('-');
  if (dash == range.npos || rights.size() < 3 || inode.empty()) return false;
  Mapping& mapping = out.mapping;
  if (!read_hex(range.substr(0, dash), mapping.begin) || !read_hex(range.substr(dash + 1), mapping.end) ||
      !read_hex(offset, mapping.file_offset) || mapping.begin >= mapping.end) {
    return false;
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapping.path = std::string(line);
  mapping.file = std::string(device) + ":" + std::string(inode);
  out.executable = rights[2] == 'x';
  out.of_file = inode != "0";
  return true;
}

// Whether one piece of a file goes on where the other ends, with `gap` in between.
bool goes_on(const MapsLine& before, const MapsLine& behind, std::uint64_t gap) {
  return before.of_file && behind.of_file && before.mapping.file == behind.mapping.file &&
         before.mapping.end + gap == behind.mapping.begin &&
         behind.mapping.file_offset - before.mapping.file_offset ==
             behind.mapping.begin - before.mapping.begin;
}

}  // namespace

std::string file_of(std::uint32_t device_major, std::uint32_t device_minor, std::uint64_t inode) {
  return fmt::format("{:02x}:{:02x}:{}", device_major, device_minor, inode);
}

std::string file_with(std::string_view build_id) {
  return fmt::format("{}{}", kWithBuildId, build_id);
}

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> out;
  MapsLine before;             // the last one of a file
  std::vector<Mapping> moved;  // right behind it: executable, of no file
  const auto end = [&] { return moved.empty() ? before.mapping.end : moved.back().end; };
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    MapsLine now;
    if (!read_line(line, now)) continue;
    if (!now.of_file && now.executable && before.of_file && now.mapping.begin == end()) {
      moved.push_back(now.mapping);
      continue;
    }
    if (!moved.empty() && goes_on(before, now, end() - before.mapping.end)) {
      for (Mapping& each : moved) {
        each.file_offset = before.mapping.file_offset + (each.begin - before.mapping.begin);
        each.path = before.mapping.path;
        each.file = before.mapping.file;
        out.push_back(each);
      }
    }
    moved.clear();
    if (now.of_file && now.executable) out.push_back(now.mapping);
    before = std::move(now);
  }
  std::ranges::sort(out, {}, &Mapping::begin);
  return out;
}

std::shared_ptr<const ElfCfi> FileTables::get(const std::string& file, const Paths& paths) {
  const auto known = tables_.find(file);
  if (known != tables_.end()) return known->second;
  if (tables_.size() >= kMost) return nullptr;
  std::shared_ptr<const ElfCfi> table;
  bool opened = false;
  for (const std::string& path : paths()) {
    auto read = read_elf_cfi(path);
    opened |= read.ok() || read.error().code == 0;
    if (!read) continue;
    table = std::make_shared<ElfCfi>(std::move(*read));
    break;
  }
  // One that this process cannot show any more, another one may.
  if (opened) tables_[file] = table;
  return table;
}

std::shared_ptr<FileArguments> FileTables::arguments(const std::string& file, const Paths& paths,
                                                     const std::shared_ptr<const ElfCfi>& table) {
  const auto known = arguments_.find(file);
  if (known != arguments_.end()) return known->second;
  if (arguments_.size() >= kMostArguments) return nullptr;
  return arguments_[file] = std::make_shared<FileArguments>(table, paths());
}

bool FileTables::may_index(std::size_t bytes, TimeNs now) {
  if (bytes <= kSmallTable) return true;
  if (index_since_ == kTimeMin || now - index_since_ >= kIndexInterval) {
    index_since_ = now;
    indexed_ = 0;
  }
  if (indexed_ + bytes > kMostIndexed) return false;
  indexed_ += bytes;
  return true;
}

bool ProcessCode::add_code(const RegisteredCode& code, std::string_view eh_frame, std::uint64_t address) {
  if (code.begin >= code.end) return true;
  const bool fits = eh_frame.size() <= kMostOfATable;
  if (!fits) eh_frame = {};
  auto at = registered_.lower_bound(code.begin);
  if (at != registered_.begin() && std::prev(at)->second.range.end > code.begin) --at;
  while (at != registered_.end() && at->first < code.end) at = forget(at);
  const std::size_t bytes = sizeof(Registered) + eh_frame.size();
  make_room(bytes);
  if (registered_.size() >= kMostRegistered || bytes_ + bytes > kMostBytes) return fits;
  registered_.emplace(code.begin, Registered{code, std::string(eh_frame), address, {}, bytes});
  begins_[code.id] = code.begin;
  bytes_ += bytes;
  return fits;
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

// NULL: no code was registered there. Without a table that may be indexed now, one without entries.
const CfiTable* ProcessCode::table_of(std::uint64_t address, TimeNs now) {
  const auto after = registered_.upper_bound(address);
  if (after == registered_.begin()) return nullptr;
  Registered& code = std::prev(after)->second;
  if (address >= code.range.end) return nullptr;
  if (!code.eh_frame.empty() && files_.may_index(code.eh_frame.size(), now)) {
    code.table = CfiTable::parse(std::as_bytes(std::span(code.eh_frame)), code.address);
    code.eh_frame = {};
  }
  return &code.table;
}

void ProcessCode::read_maps(TimeNs now) {
  if (now < next_look_) return;
  next_look_ = now + kLookInterval;
  const auto read = [this] {
    std::ifstream file(folder_ / "maps");
    std::stringstream text;
    text << file.rdbuf();
    return parse_maps(text.str());
  };
  std::vector<Mapping> mappings = read();
  if (mappings.empty()) {
    folder_ = os::living_folder(proc_, pid_);
    mappings = read();
  }
  if (!mappings.empty()) mapped_.replace(std::move(mappings));  // a process that has ended keeps what it had
}

void ProcessCode::map_anonymous(std::uint64_t begin, std::uint64_t end) {
  // It may be the text of a file that was moved: a look tells.
  if (mapped_.take_out(begin, end)) next_look_ = kTimeMin;
}

bool ProcessCode::step(Frame& frame, bool exact, const StackView& stack, bool& signal, TimeNs now) {
  const std::uint64_t address = frame.value[kReturnAddress] - (exact ? 0 : 1);
  if (const CfiTable* table = table_of(address, now))
    return table->step(frame, 0, exact, stack, signal, files_.work());
  Mapping* mapping = mapped_.at(address);
  if (mapping == nullptr) {
    read_maps(now);
    mapping = mapped_.at(address);
  }
  if (mapping == nullptr) return false;
  if (!mapping->asked) find_table(*mapping);
  if (mapping->table == nullptr) return false;
  const auto bias = mapping->table->bias(mapping->begin, mapping->file_offset);
  return bias && mapping->table->table.step(frame, *bias, exact, stack, signal, files_.work());
}

std::vector<std::string> ProcessCode::paths_of(const Mapping& mapping) const {
  const std::string direct = fmt::format("map_files/{:x}-{:x}", mapping.begin, mapping.end);
  std::vector<std::string> paths = {(folder_ / direct).string(), (folder_ / "root").string() + mapping.path};
  if (mapping.file.starts_with(kWithBuildId)) {
    // Another file may have taken its place since, there too.
    if (mapping.path.starts_with('/')) paths.push_back(mapping.path);
    const std::string_view build_id = std::string_view(mapping.file).substr(kWithBuildId.size());
    std::erase_if(paths, [&](const std::string& path) { return os::elf_build_id(path) != build_id; });
    return paths;
  }
  // The process may have ended already. Our file of that name may be another one.
  struct stat ours{};
  const bool same =
      mapping.path.starts_with('/') && ::stat(mapping.path.c_str(), &ours) == 0 &&
      file_of(::gnu_dev_major(ours.st_dev), ::gnu_dev_minor(ours.st_dev), ours.st_ino) == mapping.file;
  if (same) paths.push_back(mapping.path);
  return paths;
}

void ProcessCode::find_table(Mapping& mapping) {
  mapping.asked = true;
  mapping.table = files_.get(mapping.file, [&] { return paths_of(mapping); });
}

ProcessCode::Argument ProcessCode::argument_at(std::uint64_t address) {
  Mapping* mapping = registered_at(address) == nullptr ? mapped_.at(address) : nullptr;
  if (mapping == nullptr || mapping->table == nullptr) return {};
  const auto bias = mapping->table->bias(mapping->begin, mapping->file_offset);
  if (!bias) return {};
  if (!mapping->asked_for_arguments) {
    mapping->asked_for_arguments = true;
    mapping->arguments = files_.arguments(mapping->file, [&] { return paths_of(*mapping); }, mapping->table);
  }
  if (mapping->arguments == nullptr) return {};
  return {mapping->arguments->at(address - *bias), *bias};
}

}  // namespace tailor::unwind
