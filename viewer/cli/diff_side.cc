#include "viewer/cli/diff_side.h"

#include <fmt/format.h>

namespace tailor::cli {
namespace {

constexpr std::string_view kFingerprint = "fingerprint:";
constexpr std::string_view kRange = "..";

// What follows kFingerprint.
Status parse_runs(std::string_view text, DiffSide& side) {
  const std::size_t at = text.find('@');
  side.fingerprint = text.substr(0, at);
  const Error wrong = invalid(
      fmt::format("\"{}{}\": runs of a query are named fingerprint:DIGITS or fingerprint:DIGITS@SINCE..UNTIL",
                  kFingerprint, text));
  if (side.fingerprint.empty()) return wrong;
  if (at == std::string_view::npos) return Ok{};
  const std::string_view range = text.substr(at + 1);
  const std::size_t middle = range.find(kRange);
  if (middle == std::string_view::npos) return wrong;
  side.since = range.substr(0, middle);
  side.until = range.substr(middle + kRange.size());
  return side.since.empty() && side.until.empty() ? Status(wrong) : Status(Ok{});
}

}  // namespace

Result<DiffSide> parse_diff_side(std::string_view text) {
  DiffSide side;
  const std::size_t mark = text.starts_with(kFingerprint) ? 0 : text.rfind(fmt::format("#{}", kFingerprint));
  if (mark != std::string_view::npos) {
    side.what = text.substr(0, mark);
    const std::size_t begin = mark + kFingerprint.size() + (side.what.empty() && text[0] != '#' ? 0 : 1);
    if (Status done = parse_runs(text.substr(begin), side); !done.ok()) return done.error();
    return side;
  }
  const std::size_t hash = text.rfind('#');
  side.what = text.substr(0, hash);
  if (hash != std::string_view::npos) side.execution = text.substr(hash + 1);
  return side;
}

}  // namespace tailor::cli
