// What the agent noticed about how its process uses it. Each kind is noticed once in a process, with the
// first case of it. The texts lie in static memory, so they stay valid.
//
// Any thread. Nothing here allocates or waits, and all of it is async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace tailor::agent {

enum class Notice : std::uint8_t {
  kOptionsSize,   // the options of a start say a size that they cannot have
  kTagStrategy,   // a strategy that does not exist
  kLogRecords,    // a log that is too small or too large
  kFlags,         // flags that do not exist, or do not go together
  kRegisterUsed,  // the compiler of a file with scopes uses the tag's register
  kComponentCut,  // an operator's number that no tag can hold
  kNoOwners,      // executions of a plan, and nothing that tells its operators
  kForked,        // a forked child, which has no agent
};
inline constexpr std::size_t kNotices = 8;

// Notes it. In the text, each "{}" stands for the next of `what`, of which a long one loses its beginning.
// True: it is the first of its kind.
bool notice(Notice kind, std::string_view text, std::initializer_list<std::string_view> what = {}) noexcept;
bool notice_number(Notice kind, std::string_view text, std::uint64_t number) noexcept;
// The text, NULL if it was not noticed.
const char* noticed(Notice kind) noexcept;

// Remembers that the compiler of `file` may use the register of this strategy. The text must stay valid.
void remember_not_kept(std::uint32_t strategy, const char* file) noexcept;
// Notes it if this strategy is one whose register some file's compiler may use.
bool notice_not_kept(std::uint32_t strategy) noexcept;

}  // namespace tailor::agent
