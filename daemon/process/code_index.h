// The code objects of one process, found by (address, time).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "daemon/process/code_by_address.h"
#include "daemon/process/code_state.h"
#include "daemon/process/limits.h"
#include "daemon/process/retired_code.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::process {

// One that is loaded over another proves that the older one's unloading was not heard of, and ends it. So no
// two overlap at any time. Each piece of news counts from its own time, in whatever order it comes: a late
// message about an old object never ends a newer one. Those that ended stay until trim() has passed their
// end. One thread.
class CodeIndex {
 public:
  static constexpr std::uint32_t kRowNumbers = (1u << 31) - 1;
  // `row_numbers`: after this number of rows another numbering begins.
  explicit CodeIndex(const Limits& limits, std::uint32_t row_numbers = kRowNumbers)
      : limits_(limits), row_numbers_(row_numbers) {}

  // Fails, with the reason, for a live object of the same id, beyond the limits, and where many have ended
  // since it was loaded and others were as late before.
  Status add(CodeState code);
  // Ends the object of this id that was loaded last by then. Nothing changes for one that is over already,
  // but each that was added may be removed once. False: no such object is known.
  bool remove(CodeId id, TimeNs time);
  // Something else took the place of what was loaded before `loaded_before`, at `time`.
  void end_code(std::uint64_t begin, std::uint64_t end, TimeNs loaded_before, TimeNs time);
  // Ends every live object that the connection `seen` did not speak of; returns their ids.
  std::vector<CodeId> remove_unseen(std::uint64_t seen, TimeNs time);

  // The object that was at `address` at `time`, else NULL. Valid until the next change. No allocation.
  const CodeState* find(std::uint64_t address, TimeNs time) const {
    // Code of libraries lies far from generated code.
    if (address - lowest_ >= highest_ - lowest_) return nullptr;
    const CodeState* guess = std::atomic_ref(found_[found_at(address)]).load(std::memory_order_relaxed);
    if (guess != nullptr && guess->contains(address) && guess->loaded <= time) return guess;
    return search(address, time);
  }
  // Whether this is what something newer has ended, said again by a connection that came back. Its unloading
  // may be heard of there.
  bool says_again(CodeId id, TimeNs loaded, std::uint64_t seen);
  // The live object of this number, else NULL.
  CodeState* live(CodeId id);

  // Forgets objects that were unloaded before `watermark`.
  void trim(TimeNs watermark);

  std::size_t size() const { return live_.size() + retired_.size(); }
  std::size_t bytes() const { return bytes_; }
  // Nodes of trees, which take memory beside these bytes.
  std::size_t nodes() const { return live_.size() + 2 * retired_.size() + awaited_.size(); }
  // Whose unloading may still be heard of, though what took their place has ended them.
  std::size_t awaited() const { return awaited_.size(); }
  // Rows of different objects have different numbers, from 1 on, within one numbering.
  std::uint64_t row_numbering() const { return row_numbering_; }
  // Objects ended by what took their place.
  std::uint64_t replaced() const { return replaced_; }
  // Objects forgotten before the watermark had passed them, for lack of room; and mappings over more objects
  // than could be looked at.
  std::uint64_t forgotten_early() const { return forgotten_early_; }

 private:
  // Several objects are sampled at a time, and each keeps its place: pages of objects that lie side by side
  // have different ones.
  static constexpr std::size_t kFound = 64;
  static std::size_t found_at(std::uint64_t address) { return (address >> 12 ^ address >> 18) % kFound; }

  // What is told late looks at all newer objects that lie at its place, or did. Each message and mapping
  // earns some such looks, so a process whose objects all lie at one place cannot hold up the daemon.
  static constexpr std::size_t kEarnedLooks = 128, kMostLooks = 1 << 16;
  // One that something newer has ended.
  struct Awaited {
    TimeNs loaded;
    std::uint64_t seen;
    std::uint64_t base, end;
  };

  const CodeState* search(std::uint64_t address, TimeNs time) const;
  void earn_looks();
  bool spend_look();
  void number_rows(CodeState& code);
  // What something new ends: all there that was loaded by then. At `time`, which is not before that.
  struct Ending {
    std::uint64_t begin, end;
    TimeNs loaded_by, time;
  };
  // What lies there, or did.
  struct Overlap {
    std::vector<const CodeState*> older;          // live, and loaded by then
    std::vector<RetiredCode::Found> ended_later;  // loaded by then, and ended after `time`
    TimeNs newer = kTimeMax;                      // when the first of all others was loaded
    bool all = true;                              // false: there were too many others
  };
  Overlap look_at(const Ending& by);
  void end_older(const Overlap& there, const Ending& by);
  void shorten(CodeId id, const Awaited& of, TimeNs time);
  void insert(std::unique_ptr<CodeState> code, TimeNs end);
  void await(const CodeState& code);
  void end_live(const std::vector<const CodeState*>& codes, TimeNs time);
  void forget_guesses(const CodeState& code);
  void retire(std::unique_ptr<CodeState> code, TimeNs time);
  void forget_oldest();

  Limits limits_;
  std::uint32_t row_numbers_;
  std::map<CodeId, std::unique_ptr<CodeState>> live_;
  CodeByAddress by_address_;  // of live_
  RetiredCode retired_;
  std::map<CodeId, Awaited> awaited_;
  std::uint64_t lowest_ = 0, highest_ = 0;  // all that ever were lie in between
  // Live ones that were found last, by where: guesses, checked before use. Any thread may ask.
  mutable std::array<const CodeState*, kFound> found_{};
  std::size_t looks_ = kMostLooks;  // left
  std::size_t bytes_ = 0;
  std::uint32_t next_row_ = 1;
  std::uint64_t row_numbering_ = 0;
  std::uint64_t replaced_ = 0;
  std::uint64_t forgotten_early_ = 0;
};

}  // namespace tailor::process
