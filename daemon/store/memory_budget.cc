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

std::uint64_t memory_of(const profile::FileNames& names) {
  constexpr std::uint64_t kNodes = 256;  // of maps, with the keys that are kept twice
  std::uint64_t bytes = kNodes + 2 * (names.path.size() + names.build_id.size() + names.file_id.size());
  for (const profile::FileNames::Function& each : names.functions)
    bytes += sizeof each + each.name.size() + each.origin.size();
  return bytes;
}

std::uint64_t functions_left_out_with(const profile::FileNames& names) {
  return std::max<std::uint64_t>(1, names.functions.size());
}

BoundedArena::BoundedArena(std::uint64_t limit) : left_of_other_(t_left), arena_(options(limit)) {}

BoundedArena::~BoundedArena() {
  t_left = left_of_other_;
}

}  // namespace tailor::store
