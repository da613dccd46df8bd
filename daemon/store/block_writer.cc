#include "daemon/store/block_writer.h"

#include <utility>

#include "daemon/store/memory_budget.h"
#include "daemon/store/readable_block.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {

void add(WriteStats& sum, const WriteStats& more) {
  sum.blocks += more.blocks;
  sum.bytes += more.bytes;
  sum.samples += more.samples;
  sum.activity += more.activity;
  sum.lost_blocks += more.lost_blocks;
  sum.lost_samples += more.lost_samples;
  sum.lost_activity += more.lost_activity;
  if (sum.loss_reason.empty()) sum.loss_reason = more.loss_reason;
}

BlockWriter::BlockWriter(std::unique_ptr<Output> output, const FileHeader& header)
    : output_(std::move(output)), header_(header) {}

Status BlockWriter::append(BlockType type, std::string_view raw) {
  PackedBlock block = pack_block(type, raw);
  return append(block);
}

Status BlockWriter::append(PackedBlock& block) {
  if (!header_written_) {
    const auto head = encode(header_);
    if (auto ok = output_->append({reinterpret_cast<const char*>(head.data()), head.size()}); !ok) return ok;
    header_written_ = true;
    stats_.bytes += head.size();
  }
  number_block(block, sequence_);
  if (auto ok = output_->append(block.bytes); !ok) return ok;
  ++sequence_;
  ++stats_.blocks;
  stats_.bytes += block.bytes.size();
  return Ok{};
}

std::string BlockWriter::loss_record() const {
  v1::MetaBlock meta;
  auto* loss = meta.add_records()->mutable_writer_loss();
  loss->set_samples(stats_.lost_samples);
  loss->set_activity(stats_.lost_activity);
  loss->set_blocks(stats_.lost_blocks);
  loss->set_reason(stats_.loss_reason);
  return meta.SerializeAsString();
}

Status BlockWriter::pay_owed() {
  while (!owed_.empty()) {
    if (auto ok = append(owed_.front()); !ok) return ok;
    owed_bytes_ -= owed_.front().header.raw_size;
    owed_.pop_front();
  }
  if (loss_unsaid_) {
    if (auto ok = append(BlockType::kMeta, loss_record()); !ok) return ok;
    loss_unsaid_ = false;
  }
  return Ok{};
}

bool BlockWriter::owe(PackedBlock block) {
  if (owed_bytes_ + block.header.raw_size > kMaxOwedBytes) return false;
  owed_bytes_ += block.header.raw_size;
  owed_.push_back(std::move(block));
  return true;
}

void BlockWriter::lose(BlockType type, std::string_view raw, const BlockContent& content,
                       const std::string& reason) {
  if (type == BlockType::kSums) return;  // the samples say it too
  const bool droppable = type == BlockType::kSamples || type == BlockType::kActivity;
  const bool may_be_owed = !droppable && owed_bytes_ + raw.size() <= kMaxOwedBytes;
  if (may_be_owed && owe(pack_block(type, raw))) {
    if (stats_.loss_reason.empty()) stats_.loss_reason = reason;
    return;
  }
  lose(content, reason);
}

void BlockWriter::lose(const BlockContent& content, const std::string& reason) {
  if (stats_.loss_reason.empty()) stats_.loss_reason = reason;
  ++stats_.lost_blocks;
  stats_.lost_samples += content.samples;
  stats_.lost_activity += content.activity;
  loss_unsaid_ = true;
}

// Whether a reader has room for all samples up to these, where their block has this many bytes. A segment is
// read with any others of its store, so that its samples are paid for by its own bytes alone.
bool BlockWriter::pays_for(const BlockContent& content, std::size_t bytes) const {
  constexpr std::uint64_t kOfSample = 128;  // what a reader that keeps each sample takes for it
  if (content.samples == 0) return true;
  const std::uint64_t all = stats_.bytes + bytes;
  const std::uint64_t room = header_.kind == FileKind::kDataSegment ? memory_paid(all) : memory_budget(all);
  return (stats_.samples + content.samples) * kOfSample <= room;
}

std::optional<std::uint64_t> BlockWriter::write(BlockType type, std::string_view raw,
                                                const BlockContent& content) {
  if (raw.size() > kMaxBlockBytes) {
    lose(type, raw, content, "a block would exceed 64 MiB");
    return std::nullopt;
  }
  PackedBlock block = pack_block(type, raw);
  if (!pays_for(content, block.bytes.size())) block = pack_block(type, raw, true);
  if (!is_readable(block.header, raw, stats_.bytes)) {
    if (type != BlockType::kSums) lose(content, kUnreadable);
    return std::nullopt;
  }
  Status ok = pay_owed();
  if (ok) ok = append(block);
  problem_ = ok ? std::string() : ok.error().message;
  if (!ok) {
    lose(type, raw, content, problem_);
    return std::nullopt;
  }
  stats_.samples += content.samples;
  stats_.activity += content.activity;
  return sequence_ - 1;
}

void BlockWriter::write(PackedBlock block, bool readable) {
  if (!readable) return lose({}, kUnreadable);
  Status ok = pay_owed();
  if (ok) ok = append(block);
  problem_ = ok ? std::string() : ok.error().message;
  if (!ok && !owe(std::move(block))) lose({}, problem_);
}

void BlockWriter::retry() {
  if (problem_.empty()) return;
  const Status paid = pay_owed();
  problem_ = paid ? std::string() : paid.error().message;
}

Status BlockWriter::end() {
  if (auto ok = pay_owed(); !ok) return ok;
  v1::EndBlock end;
  end.set_blocks(sequence_);
  end.set_samples(stats_.samples);
  end.set_activity(stats_.activity);
  return append(BlockType::kEnd, end.SerializeAsString());
}

Status BlockWriter::finish() {
  if (auto ok = end(); !ok) return ok;
  return output_->sync();
}

}  // namespace tailor::store
