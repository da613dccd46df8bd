// Reads an OTLP message of profiles by the numbers of the protocol's fields, so that traces can be judged
// that no recording gives. tests/e2e/otlp.py reads by the published descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tailor::formats {

using OtlpIndices = std::vector<std::int32_t>;

struct OtlpSampleRead {
  std::int32_t stack = 0, link = 0;
  OtlpIndices attributes;
  std::vector<std::int64_t> values;
  std::vector<std::uint64_t> times;
};

struct OtlpProfileRead {
  std::size_t resource = 0;
  std::int32_t type = 0, unit = 0;
  std::vector<OtlpSampleRead> samples;
  std::string id;
};

struct OtlpRead {
  struct Mapping {
    std::int32_t file = 0;
    OtlpIndices attributes;
  };
  struct Location {
    std::int32_t mapping = 0, function = 0;
    OtlpIndices attributes;
  };
  struct Attribute {
    std::int32_t key = 0;
    std::string value;
  };
  std::vector<std::map<std::string, std::string>> resources;
  std::vector<OtlpProfileRead> profiles;
  std::vector<Mapping> mappings;
  std::vector<Location> locations;
  OtlpIndices functions;  // their names
  std::vector<std::string> links, strings;
  std::vector<Attribute> attributes;
  std::vector<OtlpIndices> stacks;
  std::map<int, std::vector<std::string>> entries;  // of the tables, by their field: as they are written
};

OtlpRead read_otlp(const std::string& bytes);

// Where an index stands that leads to no entry.
std::set<std::string> otlp_strays(const OtlpRead& read);

}  // namespace tailor::formats
