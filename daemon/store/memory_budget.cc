#include "daemon/store/memory_budget.h"

#include <new>

namespace tailor::store {
namespace {

// protobuf's allocation function gets nothing but a size.
thread_local std::uint64_t t_left = 0;

void* allocate(std::size_t bytes) {
  if (bytes > t_left) throw std::bad_alloc();
  t_left -= bytes;
  return ::operator new(bytes);
}

void deallocate(void* memory, std::size_t /*bytes*/) {
  ::operator delete(memory);
}

google::protobuf::ArenaOptions options(std::uint64_t limit) {
  t_left = limit;
  google::protobuf::ArenaOptions out;
  out.block_alloc = allocate;
  out.block_dealloc = deallocate;
  out.max_block_size = 1u << 20;
  return out;
}

}  // namespace

BoundedArena::BoundedArena(std::uint64_t limit) : arena_(options(limit)) {}

}  // namespace tailor::store
