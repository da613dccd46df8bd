#include "daemon/session/known_process.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/os/elf_build_id.h"
#include "daemon/os/living_folder.h"
#include "daemon/os/vdso.h"
#include "daemon/process/process_state.h"
#include "daemon/profile/mapped_kind.h"
#include "daemon/session/maps_lines.h"

namespace tailor::session {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The path under which we see the file that the process sees as `path`: its own where both see the same, else
// one through its root, which leads to no other file when the process has ended.
std::string path_here(const std::filesystem::path& folder, const std::string& path) {
  const std::string inside = (folder / "root").string() + path;
  struct stat theirs{}, ours{};
  if (::stat(inside.c_str(), &theirs) != 0) return path;
  const bool same =
      ::stat(path.c_str(), &ours) == 0 && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
  return same ? path : inside;
}

// Of the file that is mapped, also where its name leads to another one by now. Without the right to open that
// (CAP_CHECKPOINT_RESTORE) the name must do: it is marked where the file was removed.
std::string build_id_of(const std::filesystem::path& folder, const MapsLine& line) {
  const std::filesystem::path direct = folder / fmt::format("map_files/{:x}-{:x}", line.begin, line.end);
  if (std::string id = os::elf_build_id(direct); !id.empty()) return id;
  return os::elf_build_id((folder / "root").string() + line.name);
}

// The files that one process has mapped: each is looked at once, however often it is mapped. A process may
// map as many as it likes, so the build ids of those beyond the limit stay unknown.
class FilesOfMappings {
 public:
  struct File {
    std::string path, build_id;
  };

  explicit FilesOfMappings(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const File& of(const MapsLine& line) {
    // Subvolumes of btrfs have files of the same number on one device. Their names differ.
    const auto [at, fresh] = files_.try_emplace({line.name, line.device, line.inode});
    if (fresh) {
      at->second.path = path_here(folder_, line.name);
      if (files_.size() <= kMostRead) at->second.build_id = build_id_of(folder_, line);
    }
    return at->second;
  }

 private:
  static constexpr std::size_t kMostRead = 1024;

  std::filesystem::path folder_;
  std::map<std::tuple<std::string, std::string, std::uint64_t>, File> files_;
};

// The executable mappings of one process, from its lines in their order.
class CodeOfMappings {
 public:
  CodeOfMappings(ProcessId process, const std::filesystem::path& folder)
      : process_(process), folder_(folder), files_(folder) {}

  void see(const MapsLine& line) {
    const bool of_file = line.name.starts_with('/');
    if (of_file) end_nameless(&line);
    if (line.protection[2] != 'x') return;
    if (line.name.empty()) return keep(nameless_, line, {pipeline::kNamelessCode, ""});
    keep(code_, line, of_file ? files_.of(line) : FilesOfMappings::File{line.name, id_of_memory(line)});
  }
  std::vector<profile::MappingRecord> take() {
    end_nameless(nullptr);
    return std::move(code_);
  }

 private:
  using Mappings = std::vector<profile::MappingRecord>;

  std::string id_of_memory(const MapsLine& line) const {
    return line.name == profile::kVdsoPath ? os::vdso_id(folder_, line.begin, line.end) : std::string();
  }
  void keep(Mappings& to, const MapsLine& line, const FilesOfMappings::File& file) {
    if (to.size() >= kMostMappings) return;
    const std::uint64_t size = line.end - line.begin;
    to.push_back({process_, kTimeMin, line.begin, size, line.offset, file.path, file.build_id});
  }
  // Some programs move their text to memory of no file, at its own address. What fills the gap between two
  // mappings of one file, at those very offsets, is that file's code. `behind`: none where no file follows.
  void end_nameless(const MapsLine* behind) {
    if (!nameless_.empty() && behind != nullptr && before_ && goes_on(*before_, *behind)) {
      const FilesOfMappings::File& file = files_.of(*before_);
      for (profile::MappingRecord& each : nameless_) {
        each.file_offset = before_->offset + (each.begin - before_->begin);
        each.path = file.path;
        each.build_id = file.build_id;
      }
    }
    const std::size_t room = kMostMappings - std::min(kMostMappings, code_.size());
    const auto end = nameless_.begin() + static_cast<std::ptrdiff_t>(std::min(room, nameless_.size()));
    code_.insert(code_.end(), nameless_.begin(), end);
    nameless_.clear();
    before_.reset();
    if (behind != nullptr) before_ = *behind;
  }
  bool goes_on(const MapsLine& before, const MapsLine& behind) const {
    std::uint64_t end = before.end;
    for (const profile::MappingRecord& each : nameless_) {
      if (each.begin != end) return false;
      end += each.size;
    }
    const bool same = before.name == behind.name && std::string_view(before.device) == behind.device &&
                      before.inode == behind.inode;
    return same && end == behind.begin && behind.offset - before.offset == behind.begin - before.begin;
  }

  ProcessId process_;
  std::filesystem::path folder_;
  FilesOfMappings files_;
  Mappings code_;
  Mappings nameless_;               // behind the last file
  std::optional<MapsLine> before_;  // the last one of a file
};

}  // namespace

std::string comm_of(const std::filesystem::path& proc, std::int32_t pid) {
  std::string name = content(proc / std::to_string(pid) / "comm");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

std::string cgroup_of(const std::filesystem::path& proc, std::int32_t pid) {
  constexpr std::string_view kUnified = "0::";
  std::istringstream lines(content(proc / std::to_string(pid) / "cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kUnified)) return line.substr(kUnified.size());
  }
  return {};
}

std::vector<pipeline::MemoryMapping> memory_of(const std::filesystem::path& proc, std::int32_t pid) {
  std::vector<pipeline::MemoryMapping> all;
  for_each_mapping(os::living_folder(proc, pid), [&](const MapsLine& line) {
    if (all.size() >= kMostMemory) return;
    all.push_back({line.begin, line.end - line.begin, line.protection[0] == 'r', line.protection[1] == 'w',
                   line.protection[2] == 'x', line.protection[3] == 's', line.name});
  });
  return all;
}

std::vector<profile::MappingRecord> mappings_of(const std::filesystem::path& proc, ProcessId process) {
  const std::filesystem::path folder = os::living_folder(proc, process.pid);
  CodeOfMappings code(process, folder);
  for_each_mapping(folder, [&](const MapsLine& line) { code.see(line); });
  return code.take();
}

std::int32_t agent_thread_of(const std::filesystem::path& proc, std::int32_t pid) {
  std::int32_t found = 0;
  std::error_code gone;
  std::filesystem::directory_iterator task(proc / std::to_string(pid) / "task", gone);
  for (; !gone && task != std::filesystem::directory_iterator(); task.increment(gone)) {
    if (content(task->path() / "comm") != std::string(process::kAgentThreadName) + "\n") continue;
    found = std::atoi(task->path().filename().c_str());
  }
  return found;
}

pipeline::KnownProcess known_process(const std::filesystem::path& proc, ProcessId process) {
  return {process, comm_of(proc, process.pid), cgroup_of(proc, process.pid), mappings_of(proc, process),
          agent_thread_of(proc, process.pid)};
}

}  // namespace tailor::session
