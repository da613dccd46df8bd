#include "agent/notices.h"

#include <tailor/agent.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>

namespace tailor::agent {

namespace {

enum class State : std::uint8_t { kNone, kWriting, kReady };

constexpr std::size_t kTextBytes = 640;
constexpr std::size_t kMostOfName = 200;

struct Place {
  std::atomic<State> state{State::kNone};
  char text[kTextBytes]{};
};

constinit std::array<Place, kNotices> g_places{};

// By strategy: the first file whose compiler may use its register.
constinit std::array<std::atomic<const char*>, 4> g_not_kept{};

Place& place(Notice kind) {
  return g_places[static_cast<std::size_t>(kind)];
}

// Takes text as long as there is room.
class Writer {
 public:
  explicit Writer(char (&text)[kTextBytes]) : to_(text) {}
  void add(std::string_view text) {
    const std::size_t length = std::min(text.size(), kTextBytes - 1 - used_);
    std::memcpy(to_ + used_, text.data(), length);
    used_ += length;
  }

 private:
  char* to_;  // zeroes, so that the text ends
  std::size_t used_ = 0;
};

}  // namespace

bool notice(Notice kind, std::string_view text, std::initializer_list<std::string_view> what) noexcept {
  Place& mine = place(kind);
  State none = State::kNone;
  if (!mine.state.compare_exchange_strong(none, State::kWriting, std::memory_order_acq_rel)) return false;
  constexpr std::string_view kPlace = "{}";
  Writer writer(mine.text);
  for (const std::string_view each : what) {
    const std::size_t at = std::min(text.find(kPlace), text.size());
    writer.add(text.substr(0, at));
    writer.add(each.substr(each.size() - std::min(each.size(), kMostOfName)));
    text.remove_prefix(std::min(at + kPlace.size(), text.size()));
  }
  writer.add(text);
  mine.state.store(State::kReady, std::memory_order_release);
  return true;
}

bool notice_number(Notice kind, std::string_view text, std::uint64_t number) noexcept {
  std::array<char, 20> digits;
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return notice(kind, text, {std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()))});
}

const char* noticed(Notice kind) noexcept {
  Place& mine = place(kind);
  return mine.state.load(std::memory_order_acquire) == State::kReady ? mine.text : nullptr;
}

void remember_not_kept(std::uint32_t strategy, const char* file) noexcept {
  if (strategy >= g_not_kept.size() || file == nullptr) return;
  const char* none = nullptr;
  g_not_kept[strategy].compare_exchange_strong(none, file);
}

bool notice_not_kept(std::uint32_t strategy) noexcept {
  if (strategy != TAILOR_TAGS_R15 && strategy != TAILOR_TAGS_SWIFTSELF) return false;
  const char* file = g_not_kept[strategy].load();
  if (file == nullptr) return false;
  const std::string_view reg = strategy == TAILOR_TAGS_R15 ? "r15" : "r13";
  return notice(
      Notice::kRegisterUsed,
      "{} includes <tailor/tag_scope.h>, and its compiler may use {}, the register of the tags, for other "
      "values. Results are right, but there a sample may find no tag, or the tag of a scope that has ended. "
      "Compile all code that runs under tags with gcc and -ffixed-{} (with -flto, give it to the linker "
      "too), or choose TAILOR_TAGS_MEMORY_SLOT.",
      {file, reg, reg});
}

}  // namespace tailor::agent
