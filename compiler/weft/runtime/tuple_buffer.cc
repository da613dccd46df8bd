#include "compiler/weft/runtime/tuple_buffer.h"

#include <algorithm>

namespace tailor::weft {
namespace {

constexpr std::uint64_t kFirstChunkBytes = 4096;
constexpr std::uint64_t kLargestChunkBytes = std::uint64_t{256} << 10;

}  // namespace

TupleBuffer::~TupleBuffer() {
  for (TupleChunk* chunk = first_; chunk != nullptr;) {
    TupleChunk* next = chunk->next;
    account_->free(chunk, chunk->bytes, sizeof(TupleChunk));
    chunk = next;
  }
}

void TupleBuffer::grow() {
  std::uint64_t bytes = last_ == nullptr ? kFirstChunkBytes : std::min(last_->bytes * 2, kLargestChunkBytes);
  bytes = std::max<std::uint64_t>(bytes, sizeof(TupleChunk) + row_bytes_);
  auto* chunk = static_cast<TupleChunk*>(account_->allocate(bytes, kind_, sizeof(TupleChunk)));
  chunk->next = nullptr;
  chunk->bytes = bytes;
  chunk->end = nullptr;
  if (last_ == nullptr) {
    first_ = chunk;
  } else {
    last_->end = next_;
    last_->next = chunk;
  }
  last_ = chunk;
  next_ = chunk->rows();
  limit_ = next_ + (bytes - sizeof(TupleChunk)) / row_bytes_ * row_bytes_;
}

std::uint64_t TupleBuffer::rows() const {
  std::uint64_t rows = 0;
  for_each_chunk([&](std::byte* begin, std::byte* end) {
    rows += static_cast<std::uint64_t>(end - begin) / row_bytes_;
  });
  return rows;
}

}  // namespace tailor::weft

void* weft_rt_grow(tailor::weft::TupleBuffer* buffer) {
  return buffer->append();
}
