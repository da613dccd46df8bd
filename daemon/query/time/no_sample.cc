#include "daemon/query/time/no_sample.h"

#include <fmt/format.h>

#include "daemon/query/load/damage.h"
#include "daemon/query/sums/drawn_total.h"
#include "daemon/query/time/pauses.h"
#include "proto/base/errors.h"

namespace tailor::query {

Error no_sample(const Profile& profile, const Selection& selection) {
  if (const auto pauses = pauses_of(profile, selection); !pauses.empty())
    return not_found("no sample in this selection: " + pauses_text(profile.recording(), pauses));
  if (const DrawnSum drawn = drawn_sum(profile, selection, 0); drawn.executions > 0 && drawn.drawn == 0)
    return not_found(
        "no sample in this selection: a share of the executions is sampled (--sample-executions), and none "
        "of these was drawn");
  if (is_damaged(profile))
    return not_found("no sample in this selection could be read. " + damage_text(profile));
  if (const std::size_t count = selection.executions.size(); count > 0)
    return not_found(fmt::format(
        "no sample in this selection: {} no sample, as most that are shorter than the time between two "
        "samples; `tailor list` shows which have samples, and --last N takes more executions together",
        count == 1 ? "its execution has" : fmt::format("its {} executions have", count)));
  return not_found(
      "no sample in this selection: it was too short, or nothing was sampled; `tailor list` shows what there "
      "is, --last N takes several executions together");
}

}  // namespace tailor::query
