#include "viewer/cli/doctor_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/profile/walk_end.h"
#include "daemon/query/sums/terms.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using profile::WalkEnd;

constexpr std::string_view kStacksCheck = "stacks";

std::string_view stacks_remedy(WalkEnd end) {
  switch (end) {
    case WalkEnd::kKnown:
    case WalkEnd::kBegin:
      return "";
    case WalkEnd::kNoRule:
      return "build that code with -fasynchronous-unwind-tables, with -g or with -fno-omit-frame-pointer "
             "(docs/any-process.md)";
    case WalkEnd::kGenerated:
      return "give generated code an unwind table when it is registered, or let the runtime write call frame "
             "information into its jitdump (docs/any-process.md)";
    case WalkEnd::kNoFile:
      return "register the code with an unwind table (docs/integrate-your-engine.md), or let the runtime "
             "write a jitdump with call frame information (docs/any-process.md)";
    case WalkEnd::kShortStack:
      return "record with --callchain --stacks always: a sample then brings 16 KiB of its stack, and not "
             "4 KiB. If that is too short, build with -fno-omit-frame-pointer and record with --call-graph "
             "fp "
             "(docs/any-process.md)";
    case WalkEnd::kNonsense:
      return "nothing, if the code runs on a stack of its own: a coroutine or a signal handler; else a build "
             "with -fno-omit-frame-pointer and --call-graph fp (docs/any-process.md)";
    case WalkEnd::kUnread:
      return "record for longer: files are read when the first sample needs them (docs/any-process.md)";
    case WalkEnd::kWork:
      return "build that code with -fno-omit-frame-pointer and record with --call-graph fp "
             "(docs/any-process.md)";
    case WalkEnd::kFrames:
      return "nothing: a sample has at most 127 callers, and the innermost ones are kept";
  }
  return "";
}

}  // namespace

std::vector<Finding> look_at_stacks(const query::Accounting& account) {
  if (account.stacks_walked() == 0) return {};
  std::vector<WalkEnd> reasons;
  for (std::size_t i = 0; i < profile::kWalkEnds; ++i) {
    const auto end = static_cast<WalkEnd>(i);
    if (profile::is_lack(end) && account.share_of(end) >= query::kStacksMatter) reasons.push_back(end);
  }
  std::ranges::stable_sort(reasons, std::ranges::greater{},
                           [&](WalkEnd end) { return account.share_of(end); });
  std::vector<Finding> out;
  // Nothing wrong is shown: the callers beyond are missing.
  for (const WalkEnd end : reasons)
    out.push_back({Finding::State::kNote, std::string(kStacksCheck),
                   fmt::format("{} of the samples have a stack without a begin: {}",
                               percent(account.share_of(end)), query::term(end).text),
                   std::string(stacks_remedy(end))});
  if (out.empty())
    out.push_back({Finding::State::kOk, std::string(kStacksCheck),
                   fmt::format("{} of the samples have a stack without a begin",
                               percent(account.share_without_begin())),
                   ""});
  return out;
}

}  // namespace tailor::cli
