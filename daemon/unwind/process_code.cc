#include "daemon/unwind/process_code.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "daemon/os/content_id.h"
#include "daemon/os/host_files.h"
#include "daemon/os/living_folder.h"
#include "daemon/os/maps_path.h"
#include "daemon/registration/proc_files.h"

namespace tailor::unwind {
namespace {

constexpr TimeNs kLookInterval = 100'000'000;
constexpr std::size_t kMostOfMaps = std::size_t{16} << 20;  // bytes of text
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
  mapping.path = os::path_of_maps(line);
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

namespace {

// Where the file of a mapping may be found, by a folder of the process.
std::vector<std::string> paths_of(const Mapping& mapping, const std::filesystem::path& folder) {
  const std::string direct = fmt::format("map_files/{:x}-{:x}", mapping.begin, mapping.end);
  std::vector<std::string> paths = {(folder / direct).string(), (folder / "root").string() + mapping.path};
  if (mapping.file.starts_with(kWithBuildId)) {
    // Another file may have taken its place since, there too.
    if (mapping.path.starts_with('/')) paths.push_back(mapping.path);
    const std::string_view id = std::string_view(mapping.file).substr(kWithBuildId.size());
    std::erase_if(paths, [&](const std::string& path) { return !os::has_id(path, id); });
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

// The same, to be asked when the file is read.
FileTables::Paths places_of(const Mapping& mapping, const std::filesystem::path& folder) {
  Mapping place;
  place.begin = mapping.begin;
  place.end = mapping.end;
  place.path = mapping.path;
  place.file = mapping.file;
  return [place = std::move(place), folder] { return paths_of(place, folder); };
}

}  // namespace

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

bool ProcessCode::add_code(const RegisteredCode& code, std::string_view eh_frame, std::uint64_t address) {
  if (code.begin >= code.end) return true;
  const bool fits = eh_frame.size() <= kMostOfATable;
  if (!fits) eh_frame = {};
  forget_code(code.begin, code.end);
  const std::size_t bytes = sizeof(Registered) + eh_frame.size();
  make_room(bytes);
  if (registered_.size() >= kMostRegistered || bytes_ + bytes > kMostBytes) return fits;
  registered_.emplace(code.begin, Registered{code, std::string(eh_frame), address, {}, bytes});
  begins_[code.id] = code.begin;
  bytes_ += bytes;
  return fits;
}

void ProcessCode::forget_code(std::uint64_t begin, std::uint64_t end) {
  auto at = registered_.lower_bound(begin);
  if (at != registered_.begin() && std::prev(at)->second.range.end > begin) --at;
  while (at != registered_.end() && at->first < end) at = forget(at);
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

void ProcessCode::begin_walk(TimeNs now) {
  files_.work().begin_walk();
  files_.files().begin_walk(now);
}

// Who may have made it slow to read its files. It may have become another user's since the last time.
std::uint32_t ProcessCode::user() {
  const auto status = os::read_text(proc_ / std::to_string(pid_) / "status");
  if (!status) return user_;
  const auto uid = registration::parse_effective_uid(*status);
  if (uid) user_ = *uid;
  return user_;
}

ProcessCode::Look ProcessCode::look(const std::filesystem::path& folder, const std::filesystem::path& proc,
                                    std::int32_t pid) {
  const auto read = [](const std::filesystem::path& from) {
    const auto text = os::read_text(from / "maps", kMostOfMaps);
    std::vector<Mapping> mapped = text ? parse_maps(*text) : std::vector<Mapping>();
    if (mapped.size() > MappedFiles::kMostOfAProcess) mapped.resize(MappedFiles::kMostOfAProcess);
    return mapped;
  };
  Look found{read(folder), folder};
  if (!found.mapped.empty()) return found;
  found.folder = os::living_folder(proc, pid);
  found.mapped = read(found.folder);
  return found;
}

void ProcessCode::read_maps(TimeNs now) {
  if (look_ != nullptr && look_->is_done()) take_look();
  if (look_ == nullptr && now >= next_look_) {
    next_look_ = now + kLookInterval;
    told_before_look_ = told_;
    look_ = files_.files().begin<Look>(
        user(), [folder = folder_, proc = proc_, pid = pid_] { return look(folder, proc, pid); });
  }
  if (look_ != nullptr && look_->is_done()) take_look();
  // What is looked at again is known already but for what nobody has told: nothing waits for that.
  if (must_look_) files_.files().lack(look_);
}

void ProcessCode::take_look() {
  const std::shared_ptr<Awaited<Look>> done = std::exchange(look_, nullptr);
  if (done->refused) return;
  if (told_ != told_before_look_) {  // what was told since is newer
    if (must_look_) next_look_ = kTimeMin;
    return;
  }
  must_look_ = false;
  folder_ = done->value.folder;
  // A process that has ended keeps what it had.
  if (!done->value.mapped.empty()) mapped_.replace(std::move(done->value.mapped));
}

void ProcessCode::map(Mapping mapping) {
  ++told_;
  mapped_.map(std::move(mapping));
}

void ProcessCode::map_anonymous(std::uint64_t begin, std::uint64_t end) {
  ++told_;
  // It may be the text of a file that was moved: a look tells.
  if (!mapped_.take_out(begin, end)) return;
  next_look_ = kTimeMin;
  must_look_ = true;
}

void ProcessCode::forget_files() {
  ++told_;
  mapped_.clear();
}

void ProcessCode::inherit_files(const ProcessCode& parent) {
  ++told_;
  mapped_.share(parent.mapped_);
  must_look_ = parent.must_look_;
  if (user_ == kNoUser) user_ = parent.user_;
}

// What a table that is not indexed yet would say is not known.
bool ProcessCode::step_in_generated(const CfiTable& table, Frame& frame, bool exact, const StackView& stack,
                                    bool& signal) {
  const std::uint64_t address = frame.value[kReturnAddress] - (exact ? 0 : 1);
  CfiWork& work = files_.work();
  if (table.step(frame, 0, exact, stack, signal, work)) return true;
  const Registered* code = registered_at(address);
  if (code != nullptr && !code->eh_frame.empty())
    work.refuse(WalkEnd::kUnread);
  else if (work.why() == WalkEnd::kNoRule)
    work.refuse(WalkEnd::kGenerated);
  return false;
}

bool ProcessCode::step(Frame& frame, bool exact, const StackView& stack, bool& signal, TimeNs now) {
  const std::uint64_t address = frame.value[kReturnAddress] - (exact ? 0 : 1);
  if (const CfiTable* table = table_of(address, now))
    return step_in_generated(*table, frame, exact, stack, signal);
  Mapping* mapping = mapped_.at(address);
  if (mapping == nullptr) {
    read_maps(now);
    mapping = mapped_.at(address);
  }
  files_.work().refuse(mapping == nullptr ? WalkEnd::kNoFile : WalkEnd::kNoRule);
  if (mapping == nullptr || !find_table(*mapping) || mapping->table == nullptr) return false;
  const auto bias = mapping->table->bias(mapping->begin, mapping->file_offset);
  return bias && mapping->table->table.step(frame, *bias, exact, stack, signal, files_.work());
}

// False: it is not known yet.
bool ProcessCode::find_table(Mapping& mapping) {
  // Another process of the user, which has ended, may have asked for the file before.
  constexpr int kMostTries = 2;
  if (mapping.asked) return true;
  const auto found_at = places_of(mapping, folder_);
  const std::uint32_t whose = user();
  while (!mapping.asked) {
    const auto found = files_.get(mapping.file, whose, found_at);
    if (!found) return false;
    mapping.table = found->table;
    mapping.asked = found->opened || ++mapping.tries >= kMostTries;
  }
  return true;
}

ProcessCode::Argument ProcessCode::argument_at(std::uint64_t address) {
  Mapping* mapping = registered_at(address) == nullptr ? mapped_.at(address) : nullptr;
  if (mapping == nullptr || mapping->table == nullptr) return {};
  const auto bias = mapping->table->bias(mapping->begin, mapping->file_offset);
  if (!bias) return {};
  if (!mapping->asked_for_arguments) {
    mapping->asked_for_arguments = true;
    mapping->arguments =
        files_.arguments(mapping->file, user(), places_of(*mapping, folder_), mapping->table);
  }
  if (mapping->arguments == nullptr) return {};
  return {mapping->arguments->at(address - *bias), *bias};
}

}  // namespace tailor::unwind
