#include "daemon/session/thread_spans.h"

namespace tailor::session {

std::uint32_t ThreadSpans::number(const ProcessEntry& entry, std::uint16_t source,
                                  const process::ThreadContext& context) {
  const std::uint64_t rows = entry.state.code().row_numbering();
  const std::uint64_t mixed = context.execution * 31 + context.pipeline * 7 + context.component + source;
  Numbered& known = numbered_[mixed % kNumbered];
  const bool same = known.number != 0 && known.entry == &entry && known.rows == rows &&
                    known.source == source && known.context == context;
  if (same) return known.number;
  if (last_ == UINT32_MAX) return 0;
  known = {&entry, rows, context, ++last_, source};
  return known.number;
}

void ThreadSpans::forget_all() {
  spans_.fill({});
  numbered_.fill({});
}

}  // namespace tailor::session
