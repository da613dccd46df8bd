#include "tests/integration/enrich/access_programs.h"

#include <immintrin.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>

extern "C" const std::byte __start_access_programs[], __stop_access_programs[], __start_access_tables[],
    __stop_access_tables[];

#define PROGRAM_IN(name) extern "C" __attribute__((section(name), noinline, noclone, used))
#define PROGRAM PROGRAM_IN("access_programs")

namespace tailor {
namespace {

constexpr std::size_t kRows = 600;

struct Node {
  Node* next;
  std::uint64_t key, value;
};

// The compiler may not know what a program was given.
template <typename T>
T* hidden(T* pointer) {
  asm volatile("" : "+r"(pointer));
  return pointer;
}

thread_local std::uint64_t of_thread = 0;
volatile std::uint64_t result = 0;  // so that the compiler leaves nothing out

}  // namespace

PROGRAM std::uint64_t chase(const Node* node, std::uint64_t count) {
  for (; count != 0; --count) node = node->next;
  return node->key;
}

// One instruction of the loop accesses memory.
PROGRAM void chase_bare(const Node* node, std::uint64_t count) {
  asm volatile("1: mov (%0), %0\n dec %1\n jne 1b" : "+r"(node), "+r"(count) : : "cc", "memory");
}

PROGRAM std::uint64_t probe(Node* const* directory, const std::uint64_t* keys, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (const Node* at = directory[keys[i] * 0x9E3779B97F4A7C15u >> 56]; at != nullptr; at = at->next) {
      if (at->key != keys[i]) continue;
      sum += at->value;
      break;
    }
  }
  return sum;
}

PROGRAM std::uint64_t gather(const std::uint64_t* values, const std::uint32_t* indexes, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += values[indexes[i]];
  return sum;
}

PROGRAM void scatter(std::uint64_t* values, const std::uint32_t* indexes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[indexes[i]] += i;
}

PROGRAM void push_pop(const std::uint64_t* values, std::uint64_t count) {
  asm volatile(
      "1: push %0\n push (%0)\n mov 8(%0), %%rax\n pop %%rdx\n nop\n pop %%rcx\n add $8, %0\n"
      "push %%rax\n mov (%%rsp), %%rdx\n lea 8(%%rsp), %%rsp\n dec %1\n jne 1b"
      : "+r"(values), "+r"(count)
      :
      : "rax", "rcx", "rdx", "cc", "memory");
}

// Calls itself: frames, saved registers, returns.
PROGRAM std::uint64_t recurse(const std::uint64_t* values, std::uint64_t depth) {
  if (depth < 2) return values[depth];
  const std::uint64_t left = recurse(values, depth - 1);
  return left + recurse(values, depth - 2) + values[depth];
}

PROGRAM void copy_strings(std::byte* to, const std::byte* from, std::uint64_t count) {
  asm volatile(
      "1: mov (%1), %%rax\n push %0\n push %1\n mov $5, %%ecx\n rep movsq\n mov %%rdi, %%rdx\n pop %1\n pop "
      "%0\n"
      "mov (%0), %%rdx\n push %0\n mov $9, %%ecx\n rep stosb\n nop\n pop %0\n movsb\n nop\n dec %2\n jne 1b"
      : "+D"(to), "+S"(from), "+r"(count)
      :
      : "rax", "rcx", "rdx", "cc", "memory");
}

PROGRAM __attribute__((target("avx2"))) std::uint64_t vector_gather(const std::uint64_t* values,
                                                                    const std::uint32_t* indexes,
                                                                    std::size_t count) {
  __m256i sum = _mm256_setzero_si256();
  for (std::size_t i = 0; i + 4 <= count; i += 4) {
    const __m128i at = _mm_loadu_si128(reinterpret_cast<const __m128i*>(indexes + i));
    sum = _mm256_add_epi64(sum, _mm256_i32gather_epi64(reinterpret_cast<const long long*>(values), at, 8));
  }
  alignas(32) std::array<std::uint64_t, 4> parts;
  _mm256_store_si256(reinterpret_cast<__m256i*>(parts.data()), sum);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

// Through a table of jumps, with cases that fall through.
PROGRAM_IN("access_tables")
std::uint64_t interpret(const std::uint8_t* program, const std::uint64_t* values, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    switch (program[i]) {
      case 0:
        sum += values[i];
        [[fallthrough]];
      case 1:
        sum ^= values[0];
        break;
      case 2:
        sum *= 3;
        break;
      case 3:
        sum -= values[1];
        [[fallthrough]];
      case 4:
        of_thread += sum;
        break;
      case 5:
        sum += sum >> 7;
        break;
      case 6:
        sum = values[sum % 8];
        break;
      default:
        sum += 2;
        break;
    }
  }
  return sum;
}

PROGRAM void sort_rows(std::uint64_t* values, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t moved = values[i];
    std::size_t at = i;
    for (; at > 0 && values[at - 1] > moved; --at) values[at] = values[at - 1];
    values[at] = moved;
  }
}

std::vector<AccessProgram> access_programs() {
  static std::array<Node, 512> nodes;
  static std::array<Node*, 256> directory;
  static std::array<std::uint64_t, kRows> keys, values;
  static std::array<std::uint32_t, kRows> indexes;
  static std::array<std::uint8_t, kRows> program;
  static std::array<std::byte, 4096> from, to;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = {&nodes[(i * 167 + 91) % nodes.size()], i * 7, i};
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    keys[i] = i % 600 * 7, values[i] = i * 2654435761u % 1000;
    indexes[i] = static_cast<std::uint32_t>(i * 389 % kRows);
    program[i] = static_cast<std::uint8_t>(i * 31 / 7 % 8);
  }
  const auto make_chains = [] {
    directory.fill(nullptr);
    for (Node& node : nodes) {
      Node*& head = directory[node.key * 0x9E3779B97F4A7C15u >> 56];
      node.next = head;
      head = &node;
    }
  };
  const auto entry = [](auto function) { return reinterpret_cast<const void*>(function); };
  const std::span programs(__start_access_programs, __stop_access_programs);
  const std::span tables(__start_access_tables, __stop_access_tables);
  std::vector<AccessProgram> all = {
      {"pointer chase", entry(chase), programs, [] { result = chase(hidden(nodes.data()), kRows); }},
      {"bare pointer chase", entry(chase_bare), programs, [] { chase_bare(hidden(nodes.data()), kRows); }},
      {"hash probe", entry(probe), programs,
       [make_chains] {
         make_chains();
         result = probe(directory.data(), keys.data(), kRows);
       }},
      {"gather", entry(gather), programs, [] { result = gather(values.data(), indexes.data(), kRows); }},
      {"scatter", entry(scatter), programs, [] { scatter(values.data(), indexes.data(), kRows); }},
      {"push and pop", entry(push_pop), programs, [] { push_pop(values.data(), kRows / 2); }},
      {"recursion", entry(recurse), programs, [] { result = recurse(values.data(), 11); }},
      {"string instructions", entry(copy_strings), programs,
       [] { copy_strings(to.data(), from.data(), 80); }},
      {"table of jumps", entry(interpret), tables,
       [] { result = interpret(program.data(), values.data(), kRows); }},
      {"sorting", entry(sort_rows), programs, [] { sort_rows(values.data(), 60); }},
  };
  if (__builtin_cpu_supports("avx2"))
    all.push_back({"vector gather", entry(vector_gather), programs,
                   [] { result = vector_gather(values.data(), indexes.data(), kRows); }});
  return all;
}

}  // namespace tailor
