// Files whose code is mapped, held open: so that the functions in them can be named at the end of a
// recording, when their paths lead to other files, or nowhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/pipeline/input.h"
#include "daemon/query/load/hit_functions.h"

namespace tailor::session {

// A file is opened when it is mapped, on a thread of its own: a file system may be slow, or never answer.
// Calls come from one thread, and none waits but find(). Bounded. With each file the root directory of its
// process is held, where that is another one than ours, or has other mounts: debug files lie there. When the
// process has ended, this shows no other mounts below it.
class KeptFiles {
 public:
  // What becomes of a file beyond the limits.
  enum class Full : std::uint8_t {
    kRefuse,   // it is not held
    kReplace,  // it takes the place of the one that was mapped longest ago, of the user who has most files
               // held
  };
  // `proc`: where /proc is. `patience`: how long find() waits: all calls together, with kReplace each.
  explicit KeptFiles(std::filesystem::path proc, std::chrono::seconds patience = std::chrono::seconds(1),
                     Full full = Full::kRefuse);
  ~KeptFiles();
  KeptFiles(const KeptFiles&) = delete;
  KeptFiles& operator=(const KeptFiles&) = delete;

  // What the process has mapped.
  void known(const pipeline::KnownProcess& process);
  // What the kernel's records in it say (perf_event_open(2), PERF_RECORD_MMAP2).
  void chunk(const capture::RingChunk& chunk);

  // The file that was mapped by that path. Waits for those that are being opened.
  query::KeptFile find(const std::string& path, const std::string& build_id);
  // The same, for any thread and for longer than this lives.
  query::FindKept finder() const;

 private:
  class Keeper;

  std::shared_ptr<Keeper> keeper_;  // its thread's too
};

}  // namespace tailor::session
