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
      const void* found = ::memmem(input.data() + begin, end - begin, part.bytes.data(), part.bytes.size());
      if (found == nullptr) return false;
      begin = static_cast<std::size_t>(static_cast<const char*>(found) - input.data()) + part.bytes.size();
      continue;
    }
    while (begin + part.bytes.size() <= end && !part_matches_at(part, input, begin)) ++begin;
    if (begin + part.bytes.size() > end) return false;
    begin += part.bytes.size();
  }
  return true;
}

}  // namespace tailor::weft
