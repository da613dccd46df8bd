// An Output in memory that can run out of space.
#pragma once

#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>

#include "daemon/store/file_io.h"

namespace tailor::test {

class MemoryOutput : public store::Output {
 public:
  explicit MemoryOutput(std::string& bytes) : bytes_(bytes) {}

  Status append(std::string_view more) override {
    ++appends;
    if (appends == fail_append || bytes_.size() + more.size() > capacity) {
      return Error{"cannot write: No space left on device", ENOSPC};
    }
    bytes_.append(more);
    return Ok{};
  }
  Status sync() override { return Ok{}; }

  std::size_t capacity = std::numeric_limits<std::size_t>::max();
  std::uint64_t appends = 0;
  std::uint64_t fail_append = 0;  // the append of this number, from 1, fails

 private:
  std::string& bytes_;
};

}  // namespace tailor::test
