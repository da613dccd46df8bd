#include "agent/builder_parts.h"

#include <algorithm>

#include "proto/base/sha256.h"

namespace tailor::agent {

std::uint32_t LinkSets::LinkTo(std::span<const std::uint32_t> ids) {
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

void WriteAttachment(GrowingWire& wire, std::uint32_t field, const AttachedDocument& document) {
  const Sha256Digest digest = Sha256(document.content);
  std::size_t begin = wire.Begin(field);
  wire.Text(1, document.kind);
  wire.Bytes(2, {reinterpret_cast<const char*>(digest.data()), digest.size()});
  wire.Bytes(3, document.content);
  wire.End(begin);
}

void Attach(std::vector<AttachedDocument>& documents, const char* kind, const void* content,
            std::size_t size) {
  AttachedDocument document{CutText(kind, kMostNameBytes), {static_cast<const char*>(content), size}};
  auto same = std::find_if(documents.begin(), documents.end(),
                           [&](const AttachedDocument& other) { return other.kind == document.kind; });
  if (same != documents.end()) {
    *same = std::move(document);
  } else {
    documents.push_back(std::move(document));
  }
}

}  // namespace tailor::agent
