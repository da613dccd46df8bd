#include "daemon/registration/label_sets.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "daemon/registration/limits.h"

namespace tailor::registration {

Status LabelSets::put_in(v1::ExecutionBegin& begin) {
  if (begin.label_set() == 0) return Ok{};
  const std::size_t at = begin.label_set() - 1;
  if (begin.set_labels_size() > 0) {
    if (sets_.size() <= at) sets_.resize(at + 1);
    sets_[at] = begin.set_labels();
  }
  if (at >= sets_.size() || sets_[at].empty())
    return invalid(
        fmt::format("execution {}: set {} of labels is not known", begin.handle(), begin.label_set()));
  if (sets_[at].size() + begin.labels_size() > kMaxLabels)
    return exhausted(fmt::format("execution {}: too many labels", begin.handle()));
  Labels all = sets_[at];
  all.MergeFrom(begin.labels());
  *begin.mutable_labels() = std::move(all);
  begin.clear_set_labels();
  begin.clear_label_set();
  return Ok{};
}

}  // namespace tailor::registration
