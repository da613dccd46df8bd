// What lies in the code cache and since when, as far as the JVM has said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace tailor::jvm {

// Callers take turns.
class CodeCacheMap {
 public:
  // Code that nothing was unloaded before can have been there since `start`.
  explicit CodeCacheMap(std::uint64_t start) : start_(start) {}

  struct Live {
    std::uint64_t id = 0;  // of the agent's code object
    std::uint32_t size = 0;
    bool sent = false;  // the agent was told of it
  };
  struct Added {
    std::uint64_t since = 0;       // the last time that anything in the range was unloaded
    std::optional<Live> replaced;  // what lay there under the same base, whose unloading was not heard of
  };
  // Its load was heard of just now. (The JVM says so late: the code may have run for a while.)
  Added add(std::uint64_t base, std::uint32_t size, std::uint64_t id);
  // It was unloaded at `time`. Nothing where it is not known.
  std::optional<Live> remove(std::uint64_t base, std::uint64_t time);
  // The agent has been told of the code object. False: it is not there any more.
  bool mark_sent(std::uint64_t base, std::uint64_t id);

  // It is known under another id from now on. False: it is not there any more.
  bool renumber(std::uint64_t base, std::uint64_t from, std::uint64_t to);

  std::size_t size() const { return live_.size(); }
  std::size_t freed() const { return freed_.size(); }

 private:
  struct Freed {
    std::uint64_t end = 0, time = 0;
  };
  std::uint64_t take(std::uint64_t base, std::uint64_t end);

  std::uint64_t start_;
  std::map<std::uint64_t, Live> live_;
  std::map<std::uint64_t, Freed> freed_;  // by begin; they do not overlap
};

}  // namespace tailor::jvm
