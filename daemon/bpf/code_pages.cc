#include "daemon/bpf/code_pages.h"

#include "daemon/bpf/sampler_abi.h"

namespace tailor::bpf {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

}  // namespace

void CodePages::add(CodeId id, std::uint64_t begin, std::uint64_t size, bool of_plan, const Tell& tell) {
  if (size == 0 || size > TAILOR_BPF_CODE_PAGES * kPageBytes || begin + size < begin) return;
  const Code code{begin / kPageBytes, (begin + size - 1) / kPageBytes, of_plan};
  if (pages_.size() + (code.last - code.first) >= TAILOR_BPF_CODE_PAGES) return;
  if (!code_.try_emplace(id, code).second) return;
  for (std::uint64_t page = code.first; page <= code.last; ++page) change(page, of_plan, true, tell);
}

void CodePages::remove(CodeId id, const Tell& tell) {
  const auto node = code_.extract(id);
  if (node.empty()) return;
  const Code& code = node.mapped();
  for (std::uint64_t page = code.first; page <= code.last; ++page) change(page, code.of_plan, false, tell);
}

void CodePages::change(std::uint64_t page, bool of_plan, bool more, const Tell& tell) {
  Page& counts = pages_[page];
  const bool before = counts.is_one();
  std::uint32_t& count = of_plan ? counts.of_plans : counts.shared;
  count += more ? 1 : -1;
  const bool now = counts.is_one();
  if (counts.of_plans == 0 && counts.shared == 0) pages_.erase(page);
  if (now != before) tell(page, now);
}

void CodePages::for_each(const Tell& tell) const {
  for (const auto& [page, counts] : pages_) {
    if (counts.is_one()) tell(page, true);
  }
}

}  // namespace tailor::bpf
