#include "daemon/session/jitdump_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/os/maps_path.h"
#include "daemon/session/own_file.h"
#include "proto/base/errors.h"

namespace tailor::session {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;
// Of one look: bytes that are read, and symbols from which on it ends.
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
constexpr std::size_t kEnoughSymbols = 1024;

}  // namespace

// What is mapped, whatever lies under its name now; only the privileged may open it that way.
JitDumpFile::JitDumpFile(const std::filesystem::path& directory, const foreign::MappedDump& mapped,
                         std::int32_t pid, std::uint32_t uid)
    : path_(os::path_of_maps(mapped.path)), pid_(pid) {
  std::uint64_t size = 0;
  file_ = open_own_file(directory / "map_files" / mapped.range, uid, 0, size);
  if (!file_) file_ = open_own_file(directory.string() + "/root" + path_, uid, O_NOFOLLOW, size);
}

JitDumpFile::JitDumpFile(int root, const std::string& path, std::int32_t pid, std::uint32_t uid)
    : path_(path), pid_(pid) {
  std::uint64_t size = 0;
  file_ = open_own_file_at(root, path, uid, O_NOFOLLOW, size);
}

bool JitDumpFile::is_same_file(const JitDumpFile& other) const {
  struct stat ours{}, theirs{};
  return ::fstat(file_.get(), &ours) == 0 && ::fstat(other.file_.get(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

Result<std::vector<formats::JitSymbol>> JitDumpFile::read() {
  goes_on_ = false;
  if (file_ && !mark_.follow(file_.get())) begin_again();
  struct stat info{};
  if (!file_ || refused_ || ::fstat(file_.get(), &info) != 0) return std::vector<formats::JitSymbol>{};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size <= mark_.at()) return std::vector<formats::JitSymbol>{};
  Status taken = taken_ < kMaxBytes
                     ? take(std::min(size, mark_.at() + (kMaxBytes - taken_)))
                     : exhausted(fmt::format("{}: no more than {} bytes of it are read", path_, kMaxBytes));
  refused_ = !taken.ok();
  if (refused_) return taken.error();
  return parser_.take();
}

void JitDumpFile::begin_again() {
  malformed_before_ += parser_.malformed();
  parser_ = {};
  refused_ = refused_ && taken_ >= kMaxBytes;
}

Status JitDumpFile::take(std::uint64_t end) {
  const std::uint64_t enough = mark_.at() + kMostBytes;
  std::vector<char> piece(std::min<std::uint64_t>(kPiece, end - mark_.at()));
  while (mark_.at() < end && mark_.at() < enough && parser_.waiting_symbols() < kEnoughSymbols) {
    const ssize_t got =
        ::pread(file_.get(), piece.data(), std::min<std::uint64_t>(piece.size(), end - mark_.at()),
                static_cast<off_t>(mark_.at()));
    if (got <= 0) return Ok{};
    const auto bytes = std::span(piece).first(static_cast<std::size_t>(got));
    mark_.took({bytes.data(), bytes.size()});
    taken_ += bytes.size();
    Status fed = parser_.feed(std::as_bytes(bytes));
    if (!fed.ok()) return in_context(path_ + ": ", fed.error());
    if (parser_.has_header() && parser_.pid() != static_cast<std::uint32_t>(pid_))
      return invalid(fmt::format("{}: it is the jitdump of process {}", path_, parser_.pid()));
  }
  goes_on_ = mark_.at() < end;
  return Ok{};
}

}  // namespace tailor::session
