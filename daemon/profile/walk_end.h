// Why the search for the callers of a sample ended where it did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tailor::profile {

// Journalled: never renumber.
enum class WalkEnd : std::uint8_t {
  kKnown,       // it is known whose the sample is: the callers beyond are not looked for
  kBegin,       // the thread begins there
  kNoRule,      // neither call frame information nor a frame pointer tells the caller
  kGenerated,   // in code that was told of, without a table for this address
  kNoFile,      // in code that nobody told of, and no file is mapped there
  kShortStack,  // the copied piece of the stack ends below what the rule reads
  kNonsense,    // the rule makes no sense here: the frame does not grow, or what it needs is not known
  kUnread,      // what a file or a table says was not read in time
  kWork,        // to follow the tables costs too much
  kFrames,      // there are as many callers as a sample may have
};
inline constexpr std::size_t kWalkEnds = 10;

// The reason in `limits` of `tailor status --json`; "": that is no lack.
inline std::string_view key_of(WalkEnd end) {
  switch (end) {
    case WalkEnd::kKnown:
    case WalkEnd::kBegin:
      return "";
    case WalkEnd::kNoRule:
      return "unwind-rule";
    case WalkEnd::kGenerated:
      return "unwind-generated";
    case WalkEnd::kNoFile:
      return "unwind-no-file";
    case WalkEnd::kShortStack:
      return "unwind-short-stack";
    case WalkEnd::kNonsense:
      return "unwind-nonsense";
    case WalkEnd::kUnread:
      return "unwind-file";
    case WalkEnd::kWork:
      return "unwind-work";
    case WalkEnd::kFrames:
      return "unwind-frames";
  }
  return "";
}

// The stack has no begin, for this reason.
inline bool is_lack(WalkEnd end) {
  return end != WalkEnd::kKnown && end != WalkEnd::kBegin;
}

}  // namespace tailor::profile
