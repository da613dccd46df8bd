// Labels that a connection need not say again with each execution: a statement that runs again and again has
// the same text, user and database each time. Where the daemon keeps sets of labels (HelloAck.label_sets),
// labels that come a second time are said as a set, and from then on as the number of that set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tailor::agent {

// Of the thread that pumps.
class LabelSets {
 public:
  static constexpr std::uint32_t kMost = 64;
  // Of a set, as it is encoded: a daemon takes as many bytes of keys and values. Longer labels are said with
  // each execution.
  static constexpr std::size_t kMostBytes = 16 * 1024;

  // A daemon has accepted a new connection, and keeps this many sets; or (0) there is a new connection.
  void begin(std::uint32_t sets) noexcept;

  // The AgentMessage of an ExecutionBegin, as it is to be sent: shorter, or `message` itself. Stays until the
  // next call.
  std::span<const char> shorten(std::span<const char> message) noexcept;
  // The daemon gets what shorten() gave last. Without this call its set is said again.
  void sent() noexcept;

 private:
  struct Set {
    std::uint64_t hash = 0;
    std::uint64_t used = 0;  // when it was last; 0: the daemon does not have it
    std::string labels;      // encoded
  };

  // Puts what a set may have into `shared_`, as ExecutionBegin.set_labels. False: this is no message that we
  // wrote, or too long for a set.
  bool gather(std::string_view body);
  // Into `out_`; nothing where it is no packet.
  void write(std::uint64_t tsc, std::string_view body, std::uint32_t number, bool defines);
  Set* find(std::uint64_t hash) noexcept;
  Set& least_used() noexcept;
  bool was_seen(std::uint64_t hash) noexcept;

  std::uint32_t count_ = 0;  // how many the daemon keeps
  std::vector<Set> sets_;    // number - 1
  std::uint64_t uses_ = 0;
  // Hashes of labels that came once, by their lowest bits: those of a text that never comes again take no
  // set.
  std::array<std::uint64_t, 256> seen_{};
  std::string shared_;     // of the last message
  std::vector<char> out_;  // it, shortened
  std::size_t out_size_ = 0;
  Set* to_say_ = nullptr;  // the set that it defines
  std::uint64_t hash_ = 0;
};

}  // namespace tailor::agent
