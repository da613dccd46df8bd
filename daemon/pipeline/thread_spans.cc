#include "daemon/pipeline/thread_spans.h"

#include <algorithm>

namespace tailor::pipeline {

std::uint32_t ThreadSpans::number(const ProcessEntry& entry, std::uint16_t source,
                                  const process::ThreadContext& context) {
  const std::uint64_t rows = entry.state.code().row_numbering();
  const std::uint64_t mixed = (context.execution * 8191 + context.pipeline * 31 + context.component * 7 +
                               source + static_cast<std::uint32_t>(entry.id().pid)) *
                              0x9E3779B97F4A7C15;
  Numbered& known = numbered_[(mixed >> 32) % kNumbered];
  const bool same = known.number != 0 && known.entry == &entry && known.rows == rows &&
                    known.source == source && known.context == context;
  if (same) return known.number;
  if (last_ == UINT32_MAX) return 0;
  known = {&entry, rows, context, ++last_, source};
  return known.number;
}

void ThreadSpans::forget_numbers() {
  std::ranges::fill(numbered_, Numbered{});
}

}  // namespace tailor::pipeline
