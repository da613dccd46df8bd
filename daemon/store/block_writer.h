// Writes numbered blocks to an Output and keeps count of what it could not write.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/store/block.h"
#include "daemon/store/file_io.h"
#include "daemon/store/process_weights.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::store {

// What a block holds, for the counts and the catalogue.
struct BlockContent {
  std::uint64_t samples = 0;
  std::uint64_t activity = 0;
  TimeNs first = kTimeMax;  // of samples and activity
  TimeNs last = kTimeMin;
  BytesOfProcesses weights = {};  // what makes it large, by process
};

struct WriteStats {
  std::uint64_t blocks = 0, bytes = 0, samples = 0, activity = 0;  // written
  std::uint64_t lost_blocks = 0, lost_samples = 0, lost_activity = 0;
  std::string loss_reason;  // of the first loss
};
// Adds those of `more` to `sum`.
void add(WriteStats& sum, const WriteStats& more);

// When the disk is full, samples and activity are dropped and counted, sums are dropped; everything else
// (without it later samples could not be read) is kept back, up to kMaxOwedBytes, and written first once
// there is room again. A block that follows a loss says how much was lost so far. Samples that are much
// alike compress to few bytes, which may pay for less memory than the samples take (memory_budget.h). Such a
// block is not compressed. In a data segment its own bytes alone count, without the base that a file has. One
// thread.
class BlockWriter {
 public:
  static constexpr std::size_t kMaxOwedBytes = 16u << 20;

  BlockWriter(std::unique_ptr<Output> output, const FileHeader& header);

  // Failures are counted in stats(), and tried again for what may not be dropped. A block that no reader
  // could read (readable_block.h) is lost, and its reason said. Gives the sequence number of a block that was
  // written.
  std::optional<std::uint64_t> write(BlockType type, std::string_view raw, const BlockContent& content = {});

  // The same of a block that may not be dropped and was packed before; and whether it is_readable().
  void write(PackedBlock block, bool readable);

  // Tries again what could not be written, if anything; what may not be dropped need not wait for another
  // block.
  void retry();

  // Writes what is owed and the END block. Fails if any of that did; no write may follow.
  Status end();
  // The same, and syncs.
  Status finish();
  // To be synced by any thread.
  const std::shared_ptr<Output>& output() const { return output_; }

  const WriteStats& stats() const { return stats_; }
  // Why the last write or retry failed; empty: it did not.
  const std::string& problem() const { return problem_; }

 private:
  bool pays_for(const BlockContent& content, std::size_t bytes) const;
  Status append(PackedBlock& block);
  Status append(BlockType type, std::string_view raw);
  Status pay_owed();
  bool owe(PackedBlock block);
  void lose(BlockType type, std::string_view raw, const BlockContent& content, const std::string& reason);
  void lose(const BlockContent& content, const std::string& reason);
  std::string loss_record() const;

  std::shared_ptr<Output> output_;
  FileHeader header_;
  bool header_written_ = false;
  bool loss_unsaid_ = false;
  std::uint64_t sequence_ = 0;
  std::deque<PackedBlock> owed_;
  std::size_t owed_bytes_ = 0;  // of what is in them
  std::string problem_;
  WriteStats stats_;
};

}  // namespace tailor::store
