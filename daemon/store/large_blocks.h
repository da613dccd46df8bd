// Blocks of plans and code objects that are large. To encode and compress one takes some hundred
// milliseconds, which the thread that serves everybody does not have: a thread of their own does it.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "daemon/os/user_threads.h"
#include "daemon/store/block.h"
#include "daemon/store/catalogue.h"
#include "proto/base/ids.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::store {

// One thread, beside that of the blocks.
class LargeBlocks {
 public:
  struct Made {
    EntryKey key;
    std::string name;  // for the catalogue
    TimeNs loaded = 0;
    PackedBlock block;
    bool readable = true;  // readable_block.h
  };

  LargeBlocks();
  // Blocks that are not made yet are given up.
  ~LargeBlocks();
  LargeBlocks(const LargeBlocks&) = delete;
  LargeBlocks& operator=(const LargeBlocks&) = delete;

  // It is kept until its block is made: the giver bounds how many there are. All contents of
  // attachments are in the block.
  void add(ProcessId process, TimeNs loaded, std::shared_ptr<const v1::Plan> plan);
  void add(ProcessId process, TimeNs loaded, std::shared_ptr<const v1::CodeObject> code);

  // Those that are made, in the order in which they were given.
  std::vector<Made> take();
  // Whether one of that key was given, and not taken.
  bool has(const EntryKey& key) const { return keys_.contains(key); }
  // Until all are made.
  void wait() const;

 private:
  class State;
  template <typename Dictionary>
  void give(const EntryKey& key, TimeNs loaded, std::shared_ptr<const Dictionary> dictionary);

  std::multiset<EntryKey> keys_;
  std::shared_ptr<State> state_;  // of the thread too, which may live longer
  os::UserThreads thread_;
};

}  // namespace tailor::store
