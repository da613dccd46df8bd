#include "daemon/session/read_mark.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace tailor::session {
namespace {

constexpr std::size_t kHead = 64;  // the header of a jitdump, with its time
constexpr std::size_t kTail = 256;

bool is_at(int file, std::uint64_t offset, const std::string& bytes) {
  std::string there(bytes.size(), '\0');
  const ssize_t n = ::pread(file, there.data(), there.size(), static_cast<off_t>(offset));
  return n == static_cast<ssize_t>(there.size()) && there == bytes;
}

}  // namespace

void ReadMark::took(std::string_view bytes) {
  at_ += bytes.size();
  head_.append(bytes.substr(0, kHead - std::min(kHead, head_.size())));
  tail_.append(bytes.substr(bytes.size() - std::min(kTail, bytes.size())));
  tail_.erase(0, tail_.size() - std::min(kTail, tail_.size()));
}

bool ReadMark::follow(int file) {
  struct stat info{};
  if (::fstat(file, &info) != 0) return true;
  const bool same = at_ == 0 || (info.st_dev == device_ && info.st_ino == inode_ && holds(file));
  if (!same) *this = {};
  device_ = info.st_dev;
  inode_ = info.st_ino;
  return same;
}

bool ReadMark::holds(int file) const {
  return is_at(file, 0, head_) && is_at(file, at_ - tail_.size(), tail_);
}

}  // namespace tailor::session
