// Takes user stacks out of the records of a recording, and puts in what they tell: the call chain, how the
// search for it ended, and the tag where a library had put the register aside. It stands before the journal
// and the pipeline, so that no byte of a stack and no register but the tag's is kept anywhere.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/capture/decode/register_masks.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/os/os.h"
#include "daemon/registration/events.h"
#include "daemon/unwind/file_tables.h"
#include "daemon/unwind/object_counts.h"
#include "daemon/unwind/patience.h"
#include "daemon/unwind/process_code.h"
#include "daemon/unwind/stack_walk.h"

namespace tailor::unwind {

struct EnricherCounts {
  std::uint64_t stacks = 0;                     // samples that brought one
  std::uint64_t unwound = 0;                    // tags recovered by call frame information
  std::array<std::uint64_t, kWalkEnds> ends{};  // why their walks ended, by WalkEnd
  std::uint64_t unread = 0;    // callers or the object are missing, because a file was not read by then
  std::uint64_t left_out = 0;  // unwind tables of registered code, because they are too large
  ObjectCounts objects;
  std::uint64_t malformed = 0;  // records that went on as they are: the decoder counts them
};

// Of the process that says hello.
capture::AgentTag tag_word(const v1::Hello& hello);

// Control thread only.
class StackEnricher {
 public:
  // `run`: where files are read, see FileWork.
  explicit StackEnricher(os::Os& os, FileWork::Run run = {}) : os_(os), files_(std::move(run)) {}

  // What agents say.
  void connected(const registration::PeerConnected& event);
  void message(const registration::PeerMessage& event);
  // What a jitdump says of code of a process that has no agent. It is passed through like code of files: it
  // may be called from anywhere.
  void foreign_code(ProcessId process, const v1::CodeObject& code);
  // It stays known for a while: its last samples are still on their way.
  void gone(const registration::PeerGone& event);

  // The layout of what chunk() gives for the ring. A ring without stacks stays as it is. Of samples with
  // stacks only the registers stay where tags may live, and the others where they are for operands.
  capture::RingLayout layout(const capture::RingLayout& layout);
  // Takes the next chunk, after which finish() has to be called until it gives what became of the last one.
  void begin(capture::RingChunk&& chunk);
  // Nothing: a sample waits for a file, as long as `patience` lets it. NULL: it waits for none.
  std::optional<capture::RingChunk> finish(Patience* patience);
  bool is_busy() const { return taking_.has_value(); }  // a chunk is not finished
  // Both, without waiting.
  capture::RingChunk chunk(capture::RingChunk&& chunk);
  void closed(capture::RingIndex ring) { rings_.erase(ring); }

  // Processes that have mapped a jitdump since the last call: what it says of their code is awaited.
  std::vector<std::int32_t> take_dumpers() { return std::exchange(dumpers_, {}); }

  const EnricherCounts& counts() const { return counts_; }

 private:
  struct Process {
    ProcessId id;
    TimeNs gone = kTimeMax;
    std::shared_ptr<ProcessCode> code;
    capture::AgentTag tags;
    bool ended = false;  // its main thread has; the next one of this number is another
  };
  // A chunk, and what became of it.
  struct Taking {
    capture::RingChunk chunk;
    std::size_t done = 0;  // bytes of it
    std::vector<std::byte> out;
  };
  static std::uint64_t kept(const capture::RingLayout& layout) {
    return kTagAndIp | (layout.operands ? capture::kGeneralRegisters : 0);
  }
  Process& process(std::int32_t pid);
  void learn(std::span<const std::byte> record);
  void mapped(std::span<const std::byte> record);
  void forked(std::int32_t child, std::int32_t parent);
  std::uint64_t tag_by_object(const Process& owner, std::uint64_t slot, std::size_t object, bool hidden);
  bool enrich(const capture::RingLayout& layout, std::span<const std::byte> record, Patience* patience,
              std::vector<std::byte>& out);
  std::optional<Walked> walk_stack(const Frame& frame, const StackView& stack, const Process& owner,
                                   const Objects& objects, Patience* patience);

  static constexpr std::uint64_t kTagAndIp = capture::kTagRegisters | capture::register_bit(PERF_REG_X86_IP) |
                                             capture::register_bit(capture::kSlotPlace) |
                                             capture::kStatePlaces;
  os::Os& os_;
  FileTables files_;
  std::map<std::int32_t, Process> processes_;
  std::map<capture::RingIndex, capture::RingLayout> rings_;  // those with stacks, as they were
  std::optional<Taking> taking_;
  std::vector<std::int32_t> dumpers_;
  EnricherCounts counts_;
};

}  // namespace tailor::unwind
