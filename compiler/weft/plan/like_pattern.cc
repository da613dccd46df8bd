#include <emmintrin.h>

#include <bit>
#include <cstring>
#include <string_view>

#include "compiler/weft/plan/expression.h"

namespace tailor::weft {
namespace {

bool part_matches_at(const LikePattern::Part& part, std::string_view input, std::size_t at) {
  for (std::size_t i = 0; i < part.bytes.size(); ++i) {
    if (!part.wild[i] && input[at + i] != part.bytes[i]) return false;
  }
  return true;
}

// Where the needle begins first, or npos. Not libc's: that has the tag's register in use while it searches.
// Sixteen places are tried at once by the needle's first and last byte.
std::size_t find(std::string_view input, std::string_view needle) {
  const std::size_t last = needle.size() - 1;
  const __m128i first_byte = _mm_set1_epi8(needle.front()), last_byte = _mm_set1_epi8(needle.back());
  std::size_t at = 0;
  for (; at + last + 16 <= input.size(); at += 16) {
    const auto load = [&](std::size_t i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(input.data() + i));
    };
    const __m128i both =
        _mm_and_si128(_mm_cmpeq_epi8(load(at), first_byte), _mm_cmpeq_epi8(load(at + last), last_byte));
    for (auto places = static_cast<unsigned>(_mm_movemask_epi8(both)); places != 0; places &= places - 1) {
      const std::size_t place = at + static_cast<std::size_t>(std::countr_zero(places));
      if (std::memcmp(input.data() + place, needle.data(), needle.size()) == 0) return place;
    }
  }
  for (; at + needle.size() <= input.size(); ++at) {
    if (std::memcmp(input.data() + at, needle.data(), needle.size()) == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace

LikePattern LikePattern::parse(std::string pattern) {
  LikePattern like;
  Part current;
  auto finish_part = [&] {
    if (!current.bytes.empty()) like.parts.push_back(std::move(current));
    current = {};
  };
  like.anchored_start = pattern.empty() || pattern.front() != '%';
  like.anchored_end = true;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    if (c == '%') {
      finish_part();
      like.anchored_end = i + 1 != pattern.size();
      continue;
    }
    bool wild = c == '_';
    if (c == '\\' && i + 1 < pattern.size()) c = pattern[++i];
    current.bytes += c;
    current.wild.push_back(wild);
    current.has_wild |= wild;
  }
  finish_part();
  like.text = std::move(pattern);
  return like;
}

bool LikePattern::matches(std::string_view input) const {
  if (parts.empty()) return !anchored_start || !anchored_end || input.empty();
  std::size_t first = 0, last = parts.size(), begin = 0, end = input.size();
  // One part anchored at both ends has to be the whole input.
  if (parts.size() == 1 && anchored_start && anchored_end) {
    return parts[0].bytes.size() == input.size() && part_matches_at(parts[0], input, 0);
  }
  if (anchored_start) {
    const Part& part = parts[first++];
    if (part.bytes.size() > end || !part_matches_at(part, input, 0)) return false;
    begin = part.bytes.size();
  }
  if (anchored_end) {
    const Part& part = parts[--last];
    if (part.bytes.size() > end - begin || !part_matches_at(part, input, end - part.bytes.size()))
      return false;
    end -= part.bytes.size();
  }
  // The parts in between match leftmost first: taking an earlier place never hurts a later part.
  for (; first < last; ++first) {
    const Part& part = parts[first];
    if (!part.has_wild) {
      const std::size_t found = find(input.substr(begin, end - begin), part.bytes);
      if (found == std::string_view::npos) return false;
      begin += found + part.bytes.size();
      continue;
    }
    while (begin + part.bytes.size() <= end && !part_matches_at(part, input, begin)) ++begin;
    if (begin + part.bytes.size() > end) return false;
    begin += part.bytes.size();
  }
  return true;
}

}  // namespace tailor::weft
