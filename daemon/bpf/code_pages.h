// Pages of a process that hold generated code of plans and nothing else that was registered: a sample there
// says by itself whose it is. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "proto/base/ids.h"

namespace tailor::bpf {

// Callers take turns.
class CodePages {
 public:
  // Called with an address / 4096 for each page that now is one of them, or is not any more.
  using Tell = std::function<void(std::uint64_t page, bool is_one)>;

  // Code at [begin, begin + size); `of_plan`: else it works for its callers. Code of which it takes too
  // many pages is left out: its samples bring a stack that they may not need.
  void add(CodeId id, std::uint64_t begin, std::uint64_t size, bool of_plan, const Tell& tell);
  void remove(CodeId id, const Tell& tell);
  // All that are.
  void for_each(const Tell& tell) const;

 private:
  struct Code {
    std::uint64_t first, last;
    bool of_plan;
  };
  // How many code objects lie in it.
  struct Page {
    std::uint32_t of_plans = 0, shared = 0;
    bool is_one() const { return of_plans > 0 && shared == 0; }
  };
  void change(std::uint64_t page, bool of_plan, bool more, const Tell& tell);

  std::map<CodeId, Code> code_;
  std::map<std::uint64_t, Page> pages_;
};

}  // namespace tailor::bpf
