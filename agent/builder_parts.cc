#include "agent/builder_parts.h"

#include <algorithm>

#include "proto/base/sha256.h"

namespace tailor::agent {

std::uint32_t LinkSets::link_to(std::span<const std::uint32_t> ids) {
  std::vector<std::uint32_t> set(ids.begin(), ids.end());
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  std::erase(set, 0u);
  if (set.empty()) return 0;
  if (set.size() == 1) return set.front() << 1;
  auto [position, added] = numbers_.try_emplace(set, static_cast<std::uint32_t>(sets_.size()));
  if (added) sets_.push_back(std::move(set));
  return position->second << 1 | 1;
}

void write_attachment(GrowingWire& wire, std::uint32_t field, const AttachedDocument& document) {
  const Sha256Digest digest = sha256(document.content);
  std::size_t begin = wire.begin(field);
  wire.text(1, document.kind);
  wire.bytes(2, {reinterpret_cast<const char*>(digest.data()), digest.size()});
  wire.bytes(3, document.content);
  wire.end(begin);
}

void attach(std::vector<AttachedDocument>& documents, const char* kind, const void* content,
            std::size_t size) {
  AttachedDocument document{cut_text(kind, kMostNameBytes), {static_cast<const char*>(content), size}};
  auto same = std::find_if(documents.begin(), documents.end(),
                           [&](const AttachedDocument& other) { return other.kind == document.kind; });
  if (same != documents.end()) {
    *same = std::move(document);
  } else {
    documents.push_back(std::move(document));
  }
}

}  // namespace tailor::agent
