// What a thread works on by its marks, in memory of our own: the rules are those of the daemon that reads the
// log (daemon/process/thread_timeline.h), so that the slot and the log say the same.
#pragma once

#include <tailor/thread_area.h>

#include <array>
#include <cstdint>

namespace tailor::agent {

// Begin and end marks nest: an end closes the innermost open mark that it fits, with everything opened since.
// What fits none changes nothing, and neither does what begins too deep. One thread.
class OpenMarks {
 public:
  static constexpr std::uint32_t kMost = 64;

  void clear() noexcept { depth_ = 0; }
  // A record of the log. Kinds that are no marks of nesting are ignored.
  void add(std::uint16_t kind, std::uint32_t id, std::uint64_t a, std::uint64_t b) noexcept;
  // How many are open.
  std::uint32_t depth() const noexcept { return depth_; }
  struct Mark {
    std::uint64_t id = 0, plan = 0;  // of an execution its handle, and its plan
    std::uint16_t begin = 0;         // enum tailor_log_kind
  };
  // An open one; number 0 is the outermost.
  Mark at(std::uint32_t number) const noexcept {
    const Open& mark = open_[number];
    return {mark.id, mark.state.plan, mark.begin};
  }
  tailor_thread_state now() const noexcept {
    return depth_ == 0 ? tailor_thread_state{} : open_[depth_ - 1].state;
  }

 private:
  struct Open {
    std::uint64_t id;           // the handle of an execution
    tailor_thread_state state;  // from here on
    std::uint16_t begin;        // enum tailor_log_kind
  };

  void begin(std::uint16_t kind, std::uint64_t id, const tailor_thread_state& state) noexcept;
  void end(std::uint16_t begin, std::uint64_t id) noexcept;

  std::uint32_t depth_ = 0;
  // Only what is open has a value.
  std::array<Open, kMost> open_;
};

}  // namespace tailor::agent
