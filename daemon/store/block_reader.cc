#include "daemon/store/block_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/store/crc32c.h"

namespace tailor::store {

Result<std::span<const std::uint8_t>> BlockReader::fetch(std::uint64_t offset, std::size_t size,
                                                         std::size_t most) {
  const bool inside = offset >= buffer_offset_ && offset + size <= buffer_offset_ + buffer_.size();
  if (!inside) {
    buffer_.resize(std::max(size, most));
    auto got = input_.read_at(offset, buffer_);
    if (!got) {
      buffer_.clear();
      return got.error();
    }
    buffer_.resize(*got);
    buffer_offset_ = offset;
  }
  const std::size_t start = static_cast<std::size_t>(offset - buffer_offset_);
  return std::span<const std::uint8_t>(buffer_).subspan(start, std::min(size, buffer_.size() - start));
}

void BlockReader::problem(std::uint64_t offset, const std::string& what) {
  if (report_.first_problem.empty()) report_.first_problem = fmt::format("at byte {}: {}", offset, what);
}

void BlockReader::seek(std::uint64_t offset) {
  position_ = offset;
  expected_.reset();
}

Result<FileHeader> BlockReader::open() {
  auto bytes = fetch(0, kFileHeaderSize);
  if (!bytes) return bytes.error();
  auto header = decode_file_header(*bytes);
  if (!header) return header;
  position_ = kFileHeaderSize;
  report_.bytes = kFileHeaderSize;
  return header;
}

Result<std::optional<std::uint64_t>> BlockReader::find_header(std::uint64_t from) {
  for (std::uint64_t offset = from;;) {
    auto window = fetch(offset, kChunk);
    if (!window) return window.error();
    if (window->size() < kBlockHeaderSize) return std::optional<std::uint64_t>();
    // Headers that begin in the last bytes of the window are whole in the next one.
    const std::size_t starts = window->size() - kBlockHeaderSize + 1;
    auto search_end = window->begin() + static_cast<std::ptrdiff_t>(starts + kBlockMagic.size() - 1);
    for (auto at = window->begin();; ++at) {
      at = std::search(at, search_end, kBlockMagic.begin(), kBlockMagic.end());
      if (at == search_end) break;
      BlockHeader header;
      const auto index = static_cast<std::size_t>(at - window->begin());
      if (decode_block_header(window->subspan(index), header)) return std::optional(offset + index);
    }
    if (window->size() < kChunk) return std::optional<std::uint64_t>();
    offset += starts;
  }
}

Result<std::uint64_t> BlockReader::count_rest(std::uint64_t from) {
  std::uint64_t end = from;
  for (;;) {
    auto bytes = fetch(end, kChunk);
    if (!bytes) return bytes.error();
    if (bytes->empty()) return end - from;
    end += bytes->size();
  }
}

Result<bool> BlockReader::resynchronise(std::uint64_t search_from, const char* what) {
  auto found = find_header(search_from);
  if (!found) return found.error();
  if (!found->has_value()) {
    auto rest = count_rest(position_);
    if (!rest) return rest.error();
    report_.tail_bytes = *rest;
    return false;
  }
  problem(position_, what);
  ++report_.damaged_spots;
  report_.skipped_bytes += **found - position_;
  position_ = **found;
  return true;
}

Result<bool> BlockReader::is_boundary(std::uint64_t offset) {
  auto bytes = fetch(offset, kBlockHeaderSize);
  if (!bytes) return bytes.error();
  BlockHeader header;
  return bytes->empty() || decode_block_header(*bytes, header);
}

bool BlockReader::in_sequence(const BlockHeader& header) {
  // A number that was passed already comes from a copy of a block inside damaged bytes, not from the writer.
  if (expected_ && header.sequence < *expected_) return false;
  if (expected_) report_.missing_blocks += header.sequence - *expected_;
  expected_ = header.sequence + 1;
  return true;
}

Result<bool> BlockReader::pass_over(const BlockHeader& header) {
  const bool in_order = !expected_ || header.sequence >= *expected_;
  const Leave leave = leave_ && in_order ? leave_(header) : Leave::kNothing;
  if (leave == Leave::kNothing) return false;
  const std::size_t size = kBlockHeaderSize + header.stored_size;
  // Little more than headers is read of what is left out as a whole.
  const std::size_t unread = leave == Leave::kAll ? size : 0;
  const std::size_t wanted = size - unread + kBlockHeaderSize;
  auto bytes = fetch(position_ + unread, wanted, wanted);
  if (!bytes) return bytes.error();
  BlockHeader following;
  if (bytes->size() < wanted || !decode_block_header(bytes->last(kBlockHeaderSize), following)) return false;
  if (leave == Leave::kContents &&
      crc32c(bytes->subspan(kBlockHeaderSize, header.stored_size)) != header.payload_crc) {
    problem(position_, "a block's checksum does not fit");
    ++report_.damaged_spots;
    report_.skipped_bytes += size;
  } else {
    in_sequence(header);
    report_.bytes += size;
    ++report_.blocks;
  }
  position_ += size;
  return true;
}

Result<std::optional<Block>> BlockReader::next() {
  for (;;) {
    auto head = fetch(position_, kBlockHeaderSize);
    if (!head) return head.error();
    if (head->empty()) return std::optional<Block>();
    Block block;
    block.offset = position_;
    if (!decode_block_header(*head, block.header)) {
      auto more = resynchronise(position_ + 1, "no block header where one is due");
      if (!more) return more.error();
      if (!*more) return std::optional<Block>();
      continue;
    }
    auto passed = pass_over(block.header);
    if (!passed) return passed.error();
    if (*passed) continue;
    const std::size_t size = kBlockHeaderSize + block.header.stored_size;
    auto whole = fetch(position_, size);
    if (!whole) return whole.error();
    if (whole->size() < size) {
      report_.tail_bytes = whole->size();
      problem(position_,
              fmt::format("{} of the {} bytes of a block are missing", size - whole->size(), size));
      return std::optional<Block>();
    }
    const auto payload = whole->subspan(kBlockHeaderSize);
    if (crc32c(payload) != block.header.payload_crc) {
      // Where a block follows as the header says, only the payload is damaged; else bytes came in or went.
      auto boundary = is_boundary(position_ + size);
      if (!boundary) return boundary.error();
      auto more = resynchronise(*boundary ? position_ + size : position_ + kBlockHeaderSize,
                                "a block's checksum does not fit");
      if (!more) return more.error();
      if (!*more) return std::optional<Block>();
      continue;
    }
    position_ += size;
    if (!in_sequence(block.header)) {
      ++report_.malformed_blocks;
      problem(block.offset, "a block's sequence number goes back");
      continue;
    }
    report_.bytes += size;
    auto raw = unpack(block.header, payload);
    if (!raw) {
      ++report_.malformed_blocks;
      problem(block.offset, raw.error().message);
      continue;
    }
    ++report_.blocks;
    block.payload = std::move(*raw);
    return std::optional(std::move(block));
  }
}

}  // namespace tailor::store
