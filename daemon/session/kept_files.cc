#include "daemon/session/kept_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/capture/decode/byte_cursor.h"
#include "daemon/os/elf_build_id.h"
#include "daemon/os/living_folder.h"
#include "proto/base/hex.h"
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

constexpr std::size_t kHeader = sizeof(perf_event_header);
constexpr std::size_t kMostFiles = 4096;  // that are known
constexpr std::size_t kMostHeld = 256;    // descriptors
constexpr std::size_t kMostWaiting = 4096;
constexpr int kMostTries = 16;  // for one file, by processes that have all ended before
constexpr std::chrono::seconds kPatience{1};

std::string path_of(const UniqueFd& file) {
  return fmt::format("/proc/self/fd/{}", file.get());
}

UniqueFd open_regular(const std::string& path) {
  // Without O_NONBLOCK a FIFO of that name would wait for a writer.
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts{};
  if (file && (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))) file.reset();
  return file;
}

// `direct`: the file was reached through the mapping itself. File systems on others (overlayfs) have another
// device in the kernel's records than in stat(2).
bool is_that(const UniqueFd& file, const FileMapping& mapped, bool direct) {
  if (!mapped.name.build_id.empty()) return os::elf_build_id(path_of(file)) == mapped.name.build_id;
  if (mapped.inode == 0) return direct;
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0 || facts.st_ino != mapped.inode) return false;
  return direct || (::gnu_dev_major(facts.st_dev) == mapped.device_major &&
                    ::gnu_dev_minor(facts.st_dev) == mapped.device_minor);
}

// Through the mapping, which needs a right (CAP_CHECKPOINT_RESTORE); by its path in the process's root; and
// by its path here, where the process has ended.
UniqueFd open_mapped(const std::filesystem::path& proc, const FileMapping& mapped) {
  const std::filesystem::path folder = os::living_folder(proc, mapped.pid);
  const std::string direct = folder / fmt::format("map_files/{:x}-{:x}", mapped.begin, mapped.end);
  const std::string root = (folder / "root").string() + mapped.name.path;
  for (const std::string& path : {direct, root, mapped.name.path}) {
    UniqueFd file = open_regular(path);
    if (file && is_that(file, mapped, path == direct)) return file;
  }
  return {};
}

}  // namespace

// What the two threads share.
class KeptFiles::Keeper {
 public:
  explicit Keeper(std::filesystem::path proc) : proc_(std::move(proc)) {}

  void want(FileMapping mapped) {
    const std::lock_guard lock(mutex_);
    if (!files_.contains(mapped.name) && files_.size() >= kMostFiles) return;
    Entry& entry = files_[mapped.name];
    if (entry.inode != 0 && mapped.inode != 0 && mapped.name.build_id.empty() && entry.inode != mapped.inode)
      entry.several = true;
    if (entry.inode == 0) entry.inode = mapped.inode;
    if (entry.waits || entry.file || entry.tries >= kMostTries || waiting_.size() >= kMostWaiting) return;
    if (held_ >= kMostHeld) return;
    entry.waits = true;
    ++entry.tries;
    waiting_.push_back(std::move(mapped));
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
      UniqueFd file = open_mapped(proc_, next);
      lock.lock();
      opening_ = false;
      Entry& entry = files_[next.name];
      entry.waits = false;
      held_ += file ? 1 : 0;
      entry.file = std::move(file);
      changed_.notify_all();
    }
  }

  query::KeptFile find(const MappedName& key) {
    std::unique_lock lock(mutex_);
    patience_ends_ = std::min(patience_ends_, std::chrono::steady_clock::now() + kPatience);
    changed_.wait_until(lock, patience_ends_, [this] { return waiting_.empty() && !opening_; });
    const auto entry = files_.find(key);
    if (entry == files_.end()) return {};
    if (entry->second.several) return {query::KeptFile::Is::kSeveral};
    if (!entry->second.file) return {};
    return {query::KeptFile::Is::kKept, path_of(entry->second.file)};
  }

  void end() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }

 private:
  struct Entry {
    UniqueFd file;
    std::uint64_t inode = 0;
    bool waits = false, several = false;
    int tries = 0;
  };

  std::filesystem::path proc_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FileMapping> waiting_;
  std::map<MappedName, Entry> files_;
  std::size_t held_ = 0;
  bool opening_ = false, ending_ = false;
  std::chrono::steady_clock::time_point patience_ends_ = std::chrono::steady_clock::time_point::max();
};

// The thread may hang in a file system for ever, so nobody waits for it.
KeptFiles::KeptFiles(std::filesystem::path proc) : keeper_(std::make_shared<Keeper>(std::move(proc))) {
  std::thread([keeper = keeper_] { keeper->work(); }).detach();
}

KeptFiles::~KeptFiles() {
  keeper_->end();
}

void KeptFiles::known(const pipeline::KnownProcess& process) {
  for (const profile::MappingRecord& each : process.mappings) {
    if (!each.path.starts_with('/')) continue;
    keeper_->want({{each.path, each.build_id}, process.process.pid, each.begin, each.begin + each.size});
  }
}

void KeptFiles::chunk(const capture::RingChunk& chunk) {
  std::span<const std::byte> rest(chunk.bytes);
  while (rest.size() >= kHeader) {
    perf_event_header header;
    std::memcpy(&header, rest.data(), sizeof header);
    if (header.size < kHeader || header.size > rest.size()) return;
    if (header.type == PERF_RECORD_MMAP2) mapped(rest.first(header.size));
    rest = rest.subspan(header.size);
  }
}

void KeptFiles::mapped(std::span<const std::byte> record) {
  constexpr std::size_t kFile = 24, kMostOfABuildId = 20;  // bytes
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof header);
  capture::ByteCursor fields(record.subspan(kHeader));
  FileMapping out;
  out.pid = fields.i32();
  fields.take(sizeof(std::uint32_t));
  out.begin = fields.u64();
  out.end = out.begin + fields.u64();
  fields.take(sizeof(std::uint64_t));
  capture::ByteCursor file(fields.take(kFile));
  const std::uint32_t protection = fields.u32();
  fields.take(sizeof(std::uint32_t));
  if (!fields.ok() || (protection & PROT_EXEC) == 0) return;
  if ((header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0) {
    const std::size_t size = file.u32() & 0xFF;
    out.name.build_id = hex_text(file.take(std::min(size, kMostOfABuildId)));
  } else {
    out.device_major = file.u32();
    out.device_minor = file.u32();
    out.inode = file.u64();
  }
  const auto text = fields.take(fields.remaining());
  const std::string_view path(reinterpret_cast<const char*>(text.data()), text.size());
  out.name.path = std::string(path.substr(0, path.find('\0')));
  if (out.name.path.starts_with('/') && !out.name.path.starts_with("//")) keeper_->want(std::move(out));
}

query::KeptFile KeptFiles::find(const std::string& path, const std::string& build_id) {
  return keeper_->find({path, build_id});
}

}  // namespace tailor::session
