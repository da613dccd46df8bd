#include "daemon/session/kept_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/capture/decode/mapping_record.h"
#include "daemon/capture/decode/record_scan.h"
#include "daemon/os/content_id.h"
#include "daemon/os/host_files.h"
#include "daemon/os/living_folder.h"
#include "daemon/os/regular_file.h"
#include "daemon/session/maps_lines.h"
#include "proto/base/unique_fd.h"

namespace tailor::session {

// What a file was mapped by.
struct MappedName {
  std::string path, build_id;
  auto operator<=>(const MappedName&) const = default;
};

// One mapping of a file.
struct FileMapping {
  MappedName name;
  std::int32_t pid = 0;
  std::uint64_t begin = 0, end = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;  // 0: not known
};

namespace {

constexpr std::size_t kMostFiles = 4096;  // that are known
constexpr std::size_t kMostHeld = 256;    // descriptors
constexpr std::size_t kMostWaiting = 4096;
constexpr int kMostTries = 16;  // for one file, by processes that have all ended before

std::string path_of(const UniqueFd& file) {
  return fmt::format("/proc/self/fd/{}", file.get());
}

// The mapping of just that range; without a number where there is none.
MapsLine line_of(const std::filesystem::path& folder, const FileMapping& mapped) {
  MapsLine found;
  for_each_mapping(folder, [&](const MapsLine& line) {
    if (line.begin == mapped.begin && line.end == mapped.end) found = line;
  });
  return found;
}

bool has_number(const struct stat& facts, const FileMapping& mapped) {
  return facts.st_ino == mapped.inode && ::gnu_dev_major(facts.st_dev) == mapped.device_major &&
         ::gnu_dev_minor(facts.st_dev) == mapped.device_minor;
}

// Files of an overlay have other numbers in the kernel's records than in stat(2).
bool is_overlay(const std::string& path) {
  struct statfs facts{};
  return ::statfs(path.c_str(), &facts) == 0 && facts.f_type == OVERLAYFS_SUPER_MAGIC;
}

// What changes when a file is written; a new name or mode leaves it.
using Content = std::tuple<off_t, time_t, long>;

Content content_of(const struct stat& facts) {
  return {facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

bool has_content(const UniqueFd& file, const Content& content) {
  struct stat facts{};
  return ::fstat(file.get(), &facts) == 0 && content_of(facts) == content;
}

struct Opened {
  UniqueFd file;                                // empty: the file was not found
  Content content = {};                         // when it was opened
  std::uint64_t inode = 0;                      // as the kernel's records have it, 0: not known
  bool lost = false;                            // the file at its path is another one for certain
  std::uint32_t user = UINT32_MAX;              // whose process has mapped it; UINT32_MAX: it was gone
  std::shared_ptr<const UniqueFd> within = {};  // its root directory, where that is not ours
};

// What a record of the kernel says, if it is of a file.
void add_mapping(std::span<const std::byte> record, std::vector<FileMapping>& to) {
  const auto told = capture::read_executable_mapping(record);
  if (!told || !told->path.starts_with('/') || told->path.starts_with("//")) return;
  to.push_back({{std::string(told->path), told->build_id},
                told->pid,
                told->begin,
                told->begin + told->size,
                told->device_major,
                told->device_minor,
                told->inode});
}

}  // namespace

// The root directories of processes that have another one than we, or other mounts: their files of debug
// information lie there. What is given out is shared by the files of all that have the same. One thread.
class OtherRoots {
 public:
  // NULL: it has ours, or is gone.
  std::shared_ptr<const UniqueFd> of(const std::filesystem::path& folder) {
    struct stat theirs{};
    if (::stat((folder / "root").c_str(), &theirs) != 0) return nullptr;
    Key key{theirs.st_dev, theirs.st_ino, mounts_of(folder)};
    if (key == ours_) return nullptr;
    std::erase_if(held_, [](const auto& each) { return each.second.expired(); });
    if (auto known = held_[key].lock()) return known;
    auto root =
        std::make_shared<const UniqueFd>(::open((folder / "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!*root) return nullptr;
    held_[key] = root;
    return root;
  }

 private:
  using Key = std::tuple<dev_t, ino_t, std::string>;

  // "": nobody may know.
  static std::string mounts_of(const std::filesystem::path& folder) {
    std::error_code none;
    return std::filesystem::read_symlink(folder / "ns/mnt", none).string();
  }
  static Key our_own() {
    struct stat facts{};
    (void)::stat("/", &facts);
    return {facts.st_dev, facts.st_ino, mounts_of("/proc/self")};
  }

  const Key ours_ = our_own();
  std::map<Key, std::weak_ptr<const UniqueFd>> held_;
};

namespace {

// As the process itself has it, where it was told by a path through its root (known_process.cc).
std::string path_inside(const FileMapping& mapped) {
  const std::string root = fmt::format("/proc/{}/root", mapped.pid);
  const std::string& path = mapped.name.path;
  return path.starts_with(root + "/") ? path.substr(root.size()) : path;
}

// Through the mapping, which needs a right (CAP_CHECKPOINT_RESTORE); by its path in the process's root; and
// by its path here, where the process has ended.
Opened open_mapped(const std::filesystem::path& proc, const FileMapping& mapped) {
  const std::filesystem::path folder = os::living_folder(proc, mapped.pid);
  const std::string& path = mapped.name.path;
  const std::string direct = folder / fmt::format("map_files/{:x}-{:x}", mapped.begin, mapped.end);
  const std::string root = (folder / "root").string() + path;
  const bool by_id = !mapped.name.build_id.empty();
  const MapsLine line = by_id ? MapsLine{} : line_of(folder, mapped);
  const bool still_there = line.inode != 0 && (mapped.inode == 0 || line.inode == mapped.inode);
  Opened out{{},
             {},
             mapped.inode != 0 ? mapped.inode : line.inode,
             false,
             os::owner_of(proc / std::to_string(mapped.pid)).value_or(UINT32_MAX)};
  for (const std::string& each : {direct, root, path}) {
    struct stat facts{};
    UniqueFd file = os::open_regular(each, facts);
    if (!file) continue;
    const bool leads_there = still_there && (each == direct || (each == root && line.name == path));
    const bool same =
        by_id ? os::has_id(path_of(file), mapped.name.build_id) : leads_there || has_number(facts, mapped);
    if (!same) continue;
    out.file = std::move(file);
    out.content = content_of(facts);
    return out;
  }
  out.lost = !by_id && mapped.inode != 0 && !is_overlay(path);
  return out;
}

}  // namespace

// What the two threads share.
class KeptFiles::Keeper {
 public:
  Keeper(std::filesystem::path proc, std::chrono::seconds patience, Full full)
      : proc_(std::move(proc)), patience_(patience), full_(full) {}

  void want(std::vector<FileMapping> mapped) {
    if (mapped.empty()) return;
    const std::lock_guard lock(mutex_);
    for (FileMapping& each : mapped) want_one(std::move(each));
    changed_.notify_all();
  }

  // Until end().
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (ending_) break;
      const FileMapping next = std::move(waiting_.front());
      waiting_.pop_front();
      opening_ = true;
      lock.unlock();
      Opened opened = open_mapped(proc_, next);
      if (opened.file) opened.within = roots_.of(os::living_folder(proc_, next.pid));
      const auto file = opened.file ? std::make_shared<UniqueFd>(std::move(opened.file)) : nullptr;
      lock.lock();
      opening_ = false;
      Entry& entry = files_[next.name];
      entry.waits = false;
      entry.note(opened.inode);
      entry.lost = opened.lost;
      entry.user = opened.user;
      if (file != nullptr) {
        hold(entry, file, opened.content);
        entry.within = std::move(opened.within);
        entry.within_as = path_inside(next);
      }
      Held gone = held_ > kMostHeld ? let_one_go() : Held{};
      changed_.notify_all();
      lock.unlock();
      gone = {};  // to close a file may take long
      lock.lock();
    }
  }

  query::KeptFile find(const MappedName& key) {
    std::unique_lock lock(mutex_);
    const auto enough = std::chrono::steady_clock::now() + patience_;
    patience_ends_ = full_ == Full::kReplace ? enough : std::min(patience_ends_, enough);
    const auto ends = patience_ends_;
    changed_.wait_until(lock, ends, [this] { return waiting_.empty() && !opening_; });
    using Is = query::KeptFile::Is;
    const auto found = files_.find(key);
    if (found == files_.end()) return {};
    const Entry& entry = found->second;
    if (key.build_id.empty() && entry.several) return {Is::kLost};
    if (!entry.file) return {entry.lost ? Is::kLost : Is::kNotKept};
    const Held held{entry.file, entry.within};
    const auto& [file, within] = held;
    const std::string within_as = entry.within_as;
    const Content content = entry.content;
    lock.unlock();  // a file system may not answer
    // Another one was written into it, and nothing says what it was: an id would.
    if (key.build_id.empty() && !has_content(*file, content)) return {Is::kLost};
    query::KeptFile kept{Is::kKept, path_of(*file), std::make_shared<const Held>(held)};
    if (within != nullptr) {
      kept.within = path_of(*within);
      kept.within_as = within_as;
    }
    return kept;
  }

  void end() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }

 private:
  // A file, and the root directory of its process.
  using Held = std::pair<std::shared_ptr<const UniqueFd>, std::shared_ptr<const UniqueFd>>;
  struct Entry {
    void note(std::uint64_t of_file) {
      several = several || (inode != 0 && of_file != 0 && inode != of_file);
      if (inode == 0) inode = of_file;
    }
    std::shared_ptr<const UniqueFd> file;    // of those that read it, too
    std::shared_ptr<const UniqueFd> within;  // as Opened has it
    std::string within_as;                   // its path there
    Content content = {};                    // of `file`, when it was opened
    std::uint64_t inode = 0;
    bool waits = false, several = false, lost = false;
    int tries = 0;
    std::uint32_t user = UINT32_MAX;  // who has mapped it last
    std::uint64_t wanted = 0;         // its turn
  };
  using Files = std::map<MappedName, Entry>;

  // For one more file that is known.
  bool has_room() {
    if (files_.size() < kMostFiles) return true;
    if (full_ == Full::kRefuse) return false;
    forget_some();
    return files_.size() < kMostFiles;
  }

  // Of those that nothing is held of, the quarter that was mapped longest ago.
  void forget_some() {
    std::vector<Files::iterator> old;
    for (auto each = files_.begin(); each != files_.end(); ++each) {
      if (!each->second.waits && !each->second.file) old.push_back(each);
    }
    const auto some = old.begin() + static_cast<std::ptrdiff_t>((old.size() + 3) / 4);
    std::ranges::nth_element(old, some, {}, [](const auto& each) { return each->second.wanted; });
    for (auto each = old.begin(); each != some; ++each) files_.erase(*each);
  }

  void want_one(FileMapping mapped) {
    if (!files_.contains(mapped.name) && !has_room()) return;
    Entry& entry = files_[mapped.name];
    entry.note(mapped.inode);
    take_turn(entry);
    if (entry.waits || entry.file || entry.tries >= kMostTries || waiting_.size() >= kMostWaiting) return;
    if (held_ >= kMostHeld && full_ == Full::kRefuse) return;
    entry.waits = true;
    ++entry.tries;
    waiting_.push_back(std::move(mapped));
  }

  // It was mapped last of all.
  void take_turn(Entry& entry) {
    const std::uint64_t before = std::exchange(entry.wanted, ++wanted_);
    if (!entry.file) return;
    auto turn = held_by_[entry.user].extract(before);
    turn.key() = entry.wanted;
    held_by_[entry.user].insert(std::move(turn));
  }

  void hold(Entry& entry, std::shared_ptr<const UniqueFd> file, const Content& content) {
    ++held_;
    held_by_[entry.user].emplace(entry.wanted, &entry);
    entry.file = std::move(file);
    entry.content = content;
  }

  // Nobody's files go for those of somebody who has more. Many wait for the lock meanwhile, so nothing is
  // searched but users.
  Held let_one_go() {
    const auto most =
        std::ranges::max_element(held_by_, {}, [](const auto& each) { return each.second.size(); });
    Entry& oldest = *most->second.begin()->second;
    most->second.erase(most->second.begin());
    if (most->second.empty()) held_by_.erase(most);
    oldest.tries = 0;
    --held_;
    return {std::exchange(oldest.file, nullptr), std::exchange(oldest.within, nullptr)};
  }

  std::filesystem::path proc_;
  OtherRoots roots_;  // of the thread that opens files
  std::chrono::seconds patience_;
  const Full full_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FileMapping> waiting_;
  Files files_;
  std::map<std::uint32_t, std::map<std::uint64_t, Entry*>> held_by_;  // users, by their turns
  std::size_t held_ = 0;
  std::uint64_t wanted_ = 0;
  bool opening_ = false, ending_ = false;
  std::chrono::steady_clock::time_point patience_ends_ = std::chrono::steady_clock::time_point::max();
};

// The thread may hang in a file system for ever, so nobody waits for it.
KeptFiles::KeptFiles(std::filesystem::path proc, std::chrono::seconds patience, Full full)
    : keeper_(std::make_shared<Keeper>(std::move(proc), patience, full)) {
  std::thread([keeper = keeper_] {
    ::pthread_setname_np(::pthread_self(), "tailor-kept");
    keeper->work();
  }).detach();
}

KeptFiles::~KeptFiles() {
  keeper_->end();
}

void KeptFiles::known(const pipeline::KnownProcess& process) {
  std::vector<FileMapping> mapped;
  for (const profile::MappingRecord& each : process.mappings) {
    if (!each.path.starts_with('/')) continue;
    mapped.push_back({{each.path, each.build_id}, process.process.pid, each.begin, each.begin + each.size});
  }
  keeper_->want(std::move(mapped));
}

void KeptFiles::chunk(const capture::RingChunk& chunk) {
  std::vector<FileMapping> mapped;
  capture::for_each_record(chunk.bytes,
                           [&](const perf_event_header& header, std::span<const std::byte> record) {
                             if (header.type == PERF_RECORD_MMAP2) add_mapping(record, mapped);
                           });
  keeper_->want(std::move(mapped));
}

query::KeptFile KeptFiles::find(const std::string& path, const std::string& build_id) {
  return keeper_->find({path, build_id});
}

query::FindKept KeptFiles::finder() const {
  return [keeper = keeper_](const std::string& path, const std::string& build_id) {
    return keeper->find({path, build_id});
  };
}

}  // namespace tailor::session
