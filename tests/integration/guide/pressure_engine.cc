// Scopes where a compiler has every reason to keep values of its own in the register of the tag: many values
// are alive across scopes, scopes nest, exceptions pass them, and the C library calls back from under them.
// It prints a sum that does not depend on tags, so every build must print the same.
#include <tailor/agent.h>
#include <tailor/tag_scope.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#ifndef TAGS
#define TAGS TAILOR_TAGS_R15
#endif

namespace {

using Word = std::uint64_t;

// The compiler does not know what these do.
[[gnu::noinline]] Word mix(Word a, Word b) {
  asm volatile("" : "+r"(a), "+r"(b));
  return (a ^ (a >> 29)) * 0x9E3779B97F4A7C15u + b;
}

[[gnu::noinline]] Word throws_if_odd(Word a) {
  tailor::TagScope scope(TAGS, a | 1);
  if (mix(a, 1) % 2 != 0) throw std::runtime_error("odd");
  return a;
}

int order(const void* left, const void* right) {
  const Word a = *static_cast<const Word*>(left), b = *static_cast<const Word*>(right);
  TAILOR_TAG_SCOPE(TAGS, a ^ b);
  return (mix(a, 0) > mix(b, 0)) - (mix(a, 0) < mix(b, 0));
}

// Twelve values live through it, more than there are registers to keep.
[[gnu::noinline]] Word many_values(Word n) {
  Word a = n, b = n + 1, c = n + 2, d = n + 3, e = n + 4, f = n + 5, g = n + 6, h = n + 7, i = n + 8,
       j = n + 9, k = n + 10, l = n + 11;
  for (Word round = 0; round < 8; ++round) {
    tailor::TagScope outer(TAGS, round + 1);
    a = mix(a, l), b = mix(b, a), c = mix(c, b), d = mix(d, c);
    {
      tailor::TagScope inner(TAGS, round + 2);
      e = mix(e, d), f = mix(f, e), g = mix(g, f), h = mix(h, g);
    }
    i = mix(i, h), j = mix(j, i), k = mix(k, j), l = mix(l, k);
  }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l;
}

[[gnu::noinline]] Word caught(Word n) {
  Word sum = n, odd = 0, even = 0, last = n ^ 5;
  for (Word each = 0; each < 16; ++each) {
    tailor::TagScope outer(TAGS, each + 100);
    try {
      tailor::TagScope keep(TAGS, tailor_tag_read(TAGS));
      even += throws_if_odd(n + each);
    } catch (const std::runtime_error&) {
      odd += mix(each, last);
    }
    last = mix(sum, last), sum += last;
  }
  return sum ^ odd ^ even ^ last;
}

// A scope by hand, and a write alone that is put back.
[[gnu::noinline]] Word by_hand(Word n) {
  const Word before = tailor_tag_read(TAGS), a = mix(n, 1), b = mix(n, 2), c = mix(n, 3), d = mix(n, 4),
             e = mix(n, 5);
  tailor_tag_write(TAGS, n);
  const Word middle = mix(a, b);
  tailor_tag_write(TAGS, before);
  const tailor_tag_scope scope = tailor_tag_enter(TAGS, n + 1);
  const Word end = mix(middle, c);
  tailor_tag_leave(&scope);
  return a ^ b ^ c ^ d ^ e ^ middle ^ end;
}

}  // namespace

int main() {
  tailor_agent_options options{};
  options.size = sizeof options;
  options.tag_strategy = TAGS;
  tailor_agent_start(&options);
  Word total = 0;
  std::array<Word, 64> words;
  for (Word n = 0; n < 200; ++n) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = mix(n, i);
    std::qsort(words.data(), words.size(), sizeof(Word), order);
    total = total * 31 + (words[n % words.size()] ^ many_values(n) ^ caught(n) ^ by_hand(n));
  }
  tailor_agent_stop(0);
  std::printf("%llu %s\n", static_cast<unsigned long long>(total),
              tailor_tag_is_kept(TAGS) ? "kept" : "not kept");
  for (std::uint32_t i = 0; const char* notice = tailor_agent_notice(i); ++i)
    std::fprintf(stderr, "%s\n", notice);
  return 0;
}
