// The tables of an OTLP message, to which its profiles refer by index.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/formats/trace.h"

namespace tailor::formats {

// Entries of one table by their bytes, each once. The first says "none".
class OtlpEntries {
 public:
  explicit OtlpEntries(const std::string& none = "") { (void)number(none); }
  OtlpEntries(const OtlpEntries&) = delete;
  OtlpEntries& operator=(const OtlpEntries&) = delete;

  std::int32_t number(const std::string& entry);
  void write(protozero::pbf_writer& to, protozero::pbf_tag_type table) const;

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<const std::string*> entries_;
};

class OtlpDictionary {
 public:
  explicit OtlpDictionary(const Trace& trace) : trace_(trace) {}

  std::int32_t text(std::string_view text);
  std::int32_t text_attribute(std::string_view key, std::string_view value);
  std::int32_t number_attribute(std::string_view key, std::int64_t value);
  std::int32_t stack(std::uint32_t node);
  // 0 unless the run has both ids as tracing has them: 32 and 16 hexadecimal digits, not all of them zeros.
  std::int32_t link(const TraceRun& run);

  void write(protozero::pbf_writer& to) const;

 private:
  template <typename Set>
  std::int32_t attribute(std::string_view key, const Set& set);
  std::int32_t location(std::uint32_t frame);
  std::int32_t mapping(const TraceFrame& frame);

  const Trace& trace_;
  OtlpEntries mappings_, locations_, functions_, links_{no_link()}, strings_, attributes_, stacks_;
  std::unordered_map<std::uint32_t, std::int32_t> locations_of_, stacks_of_;

  static std::string no_link();
};

}  // namespace tailor::formats
