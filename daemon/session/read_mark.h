// How far a file was read that its writer goes on with, and whether it is still that file: a runtime may
// write it again, or put another one in its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tailor::session {

// One thread.
class ReadMark {
 public:
  std::uint64_t at() const { return at_; }  // bytes that were read
  // These bytes were read, behind the others.
  void took(std::string_view bytes);
  // Whether `file` is the one that was read: its device and inode, its first bytes, and the last of those
  // that were read. False: it is another one, of which nothing was read yet.
  bool follow(int file);

 private:
  bool holds(int file) const;

  std::uint64_t at_ = 0;
  std::uint64_t device_ = 0, inode_ = 0;
  std::string head_, tail_;
};

}  // namespace tailor::session
