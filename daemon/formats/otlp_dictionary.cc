#include "daemon/formats/otlp_dictionary.h"

#include <algorithm>
#include <span>

#include "proto/base/hex.h"
#include "proto/base/utf8.h"

namespace tailor::formats {
namespace {

using protozero::pbf_writer;

enum OtlpTable : protozero::pbf_tag_type {
  kMappings = 1,
  kLocations = 2,
  kFunctions = 3,
  kLinks = 4,
  kStrings = 5,
  kAttributes = 6,
  kStacks = 7,
};

// An index of 0 is left out: an entry that says nothing has no bytes.
void add_index(pbf_writer& to, protozero::pbf_tag_type field, std::int32_t index) {
  if (index != 0) to.add_int32(field, index);
}

constexpr std::size_t kTraceIdBytes = 16, kSpanIdBytes = 8;

std::string_view otlp_kind(TraceFrame::Kind kind) {
  switch (kind) {
    case TraceFrame::Kind::kProcess:
      return "process";
    case TraceFrame::Kind::kPlan:
      return "plan";
    case TraceFrame::Kind::kOperator:
      return "operator";
    case TraceFrame::Kind::kEngine:
      return "engine";
    case TraceFrame::Kind::kNobody:
      return "unattributed";
    case TraceFrame::Kind::kKernel:
      return "kernel";
    case TraceFrame::Kind::kGenerated:
      return "generated";
    case TraceFrame::Kind::kFunction:
      break;
  }
  return "native";
}

bool is_of_code(TraceFrame::Kind kind) {
  return kind == TraceFrame::Kind::kFunction || kind == TraceFrame::Kind::kGenerated ||
         kind == TraceFrame::Kind::kKernel;
}

// The bytes that the digits of a text say; "": they are not two for each byte.
std::string bytes_of(std::string_view digits) {
  std::string out(digits.size() / 2, '\0');
  return read_hex(digits, std::as_writable_bytes(std::span(out))) ? out : "";
}

// An id of that size, "" if the text is none. Zeros are the id of nothing.
std::string id_bytes(std::string_view text, std::size_t size) {
  std::string out = bytes_of(text);
  const bool says_nothing = std::ranges::all_of(out, [](char each) { return each == 0; });
  return out.size() != size || says_nothing ? "" : out;
}

std::string link_bytes(const std::string& trace, const std::string& span) {
  std::string out;
  pbf_writer to(out);
  to.add_bytes(1, trace);
  to.add_bytes(2, span);
  return out;
}

}  // namespace

std::int32_t OtlpEntries::number(const std::string& entry) {
  const auto [at, fresh] = numbers_.try_emplace(entry, static_cast<std::int32_t>(entries_.size()));
  if (fresh) entries_.push_back(&at->first);
  return at->second;
}

void OtlpEntries::write(pbf_writer& to, protozero::pbf_tag_type table) const {
  for (const std::string* entry : entries_) to.add_message(table, *entry);
}

// Ids have their size here too: some readers want it.
std::string OtlpDictionary::no_link() {
  return link_bytes(std::string(kTraceIdBytes, '\0'), std::string(kSpanIdBytes, '\0'));
}

std::int32_t OtlpDictionary::text(std::string_view text) {
  return strings_.number(replace_non_utf8(text));
}

template <typename Set>
std::int32_t OtlpDictionary::attribute(std::string_view key, const Set& set) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_int32(1, text(key));
  {
    pbf_writer any(to, 2);
    set(any);
  }
  return attributes_.number(bytes);
}

std::int32_t OtlpDictionary::text_attribute(std::string_view key, std::string_view value) {
  return attribute(key, [&](pbf_writer& any) { any.add_string(1, replace_non_utf8(value)); });
}

std::int32_t OtlpDictionary::number_attribute(std::string_view key, std::int64_t value) {
  return attribute(key, [&](pbf_writer& any) { any.add_int64(3, value); });
}

std::int32_t OtlpDictionary::stack(std::uint32_t node) {
  const auto known = stacks_of_.find(node);
  if (known != stacks_of_.end()) return known->second;
  std::vector<std::int32_t> locations;  // the innermost first
  for (std::uint32_t at = node; at != 0; at = trace_.nodes[at].parent)
    locations.push_back(location(trace_.nodes[at].frame));
  std::string bytes;
  pbf_writer(bytes).add_packed_int32(1, locations.begin(), locations.end());
  return stacks_of_[node] = stacks_.number(bytes);
}

std::int32_t OtlpDictionary::link(const TraceRun& run) {
  const std::string trace = id_bytes(run.trace_id, kTraceIdBytes);
  const std::string span = id_bytes(run.span_id, kSpanIdBytes);
  return trace.empty() || span.empty() ? 0 : links_.number(link_bytes(trace, span));
}

std::int32_t OtlpDictionary::mapping(const TraceFrame& frame) {
  if (frame.object.empty()) return 0;
  std::string bytes;
  pbf_writer to(bytes);
  to.add_int32(4, text(frame.object));
  if (!bytes_of(frame.build_id).empty()) {
    const std::int32_t id = text_attribute("process.executable.build_id.gnu", frame.build_id);
    to.add_packed_int32(5, &id, &id + 1);
  }
  return mappings_.number(bytes);
}

std::int32_t OtlpDictionary::location(std::uint32_t number) {
  const auto known = locations_of_.find(number);
  if (known != locations_of_.end()) return known->second;
  const TraceFrame& frame = trace_.frames[number];
  std::string function, bytes;
  pbf_writer of_function(function);
  add_index(of_function, 1, text(frame.name));
  pbf_writer to(bytes);
  add_index(to, 1, mapping(frame));
  {
    pbf_writer line(to, 3);
    add_index(line, 1, functions_.number(function));
  }
  const std::int32_t kind = text_attribute(
      is_of_code(frame.kind) ? "profile.frame.type" : "tailor.frame.type", otlp_kind(frame.kind));
  to.add_packed_int32(4, &kind, &kind + 1);
  return locations_of_[number] = locations_.number(bytes);
}

void OtlpDictionary::write(pbf_writer& to) const {
  mappings_.write(to, kMappings);
  locations_.write(to, kLocations);
  functions_.write(to, kFunctions);
  links_.write(to, kLinks);
  strings_.write(to, kStrings);
  attributes_.write(to, kAttributes);
  stacks_.write(to, kStacks);
}

}  // namespace tailor::formats
