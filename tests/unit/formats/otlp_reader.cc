#include "tests/unit/formats/otlp_reader.h"

#include <gtest/gtest.h>

#include <protozero/pbf_reader.hpp>

namespace tailor::formats {
namespace {

using protozero::pbf_reader;

OtlpIndices otlp_indices(pbf_reader& from) {
  const auto range = from.get_packed_int32();
  return {range.begin(), range.end()};
}

// With a number as text.
std::string otlp_value(pbf_reader any) {
  std::string out;
  while (any.next()) {
    if (any.tag() == 1) {
      out = any.get_string();
    } else if (any.tag() == 3) {
      out = std::to_string(any.get_int64());
    } else {
      ADD_FAILURE() << "a value has the field " << any.tag();
      any.skip();
    }
  }
  return out;
}

OtlpSampleRead otlp_sample(pbf_reader in) {
  OtlpSampleRead out;
  while (in.next()) {
    if (in.tag() == 1)
      out.stack = in.get_int32();
    else if (in.tag() == 2)
      out.attributes = otlp_indices(in);
    else if (in.tag() == 3)
      out.link = in.get_int32();
    else if (in.tag() == 4)
      for (const std::int64_t each : in.get_packed_int64()) out.values.push_back(each);
    else if (in.tag() == 5)
      for (const std::uint64_t each : in.get_packed_fixed64()) out.times.push_back(each);
    else
      in.skip();
  }
  return out;
}

OtlpProfileRead otlp_profile(pbf_reader in) {
  OtlpProfileRead out;
  while (in.next()) {
    if (in.tag() == 2) {
      out.samples.push_back(otlp_sample(in.get_message()));
    } else if (in.tag() == 7) {
      out.id = in.get_string();
    } else if (in.tag() == 1) {
      pbf_reader type = in.get_message();
      while (type.next()) {
        std::int32_t& index = type.tag() == 1 ? out.type : out.unit;
        index = type.get_int32();
      }
    } else {
      in.skip();
    }
  }
  return out;
}

std::map<std::string, std::string> otlp_resource(pbf_reader in) {
  std::map<std::string, std::string> out;
  while (in.next(1)) {
    std::string key;
    pbf_reader pair = in.get_message();
    while (pair.next()) {
      if (pair.tag() == 1)
        key = pair.get_string();
      else
        out[key] = otlp_value(pair.get_message());
    }
  }
  return out;
}

void read_scope(pbf_reader in, OtlpRead& out) {
  while (in.next()) {
    if (in.tag() != 2) {
      in.skip();
      continue;
    }
    out.profiles.push_back(otlp_profile(in.get_message()));
    out.profiles.back().resource = out.resources.size() - 1;
  }
}

OtlpRead::Location otlp_location(pbf_reader in) {
  OtlpRead::Location out;
  while (in.next()) {
    if (in.tag() == 1) {
      out.mapping = in.get_int32();
    } else if (in.tag() == 3) {
      pbf_reader line = in.get_message();
      while (line.next(1)) out.function = line.get_int32();
    } else {
      out.attributes = otlp_indices(in);
    }
  }
  return out;
}

void read_entry(int table, pbf_reader in, OtlpRead& out) {
  OtlpRead::Mapping mapping;
  OtlpRead::Attribute attribute;
  std::int32_t function = 0;
  OtlpIndices stack;
  if (table == 2) out.locations.push_back(otlp_location(in));
  while (in.next()) {
    if (table == 1 && in.tag() == 4)
      mapping.file = in.get_int32();
    else if (table == 1 && in.tag() == 5)
      mapping.attributes = otlp_indices(in);
    else if (table == 3 && in.tag() == 1)
      function = in.get_int32();
    else if (table == 6 && in.tag() == 1)
      attribute.key = in.get_int32();
    else if (table == 6 && in.tag() == 2)
      attribute.value = otlp_value(in.get_message());
    else if (table == 7 && in.tag() == 1)
      stack = otlp_indices(in);
    else
      in.skip();
  }
  if (table == 1) out.mappings.push_back(mapping);
  if (table == 3) out.functions.push_back(function);
  if (table == 6) out.attributes.push_back(attribute);
  if (table == 7) out.stacks.push_back(stack);
}

void read_tables(pbf_reader in, OtlpRead& out) {
  while (in.next()) {
    const int table = static_cast<int>(in.tag());
    const std::string bytes = in.get_string();
    out.entries[table].push_back(bytes);
    if (table == 5)
      out.strings.push_back(bytes);
    else if (table == 4)
      out.links.push_back(bytes);
    else
      read_entry(table, pbf_reader(bytes), out);
  }
}

}  // namespace

OtlpRead read_otlp(const std::string& bytes) {
  OtlpRead out;
  for (pbf_reader in(bytes); in.next();) {
    if (in.tag() == 2) {
      read_tables(in.get_message(), out);
      continue;
    }
    pbf_reader part = in.get_message();
    out.resources.emplace_back();
    while (part.next()) {
      if (part.tag() == 1)
        out.resources.back() = otlp_resource(part.get_message());
      else
        read_scope(part.get_message(), out);
    }
  }
  return out;
}

std::set<std::string> otlp_strays(const OtlpRead& read) {
  std::set<std::string> out;
  const auto follow = [&](const char* where, std::int32_t index, std::size_t size) {
    if (index < 0 || static_cast<std::size_t>(index) >= size) out.insert(where);
  };
  const auto follow_all = [&](const char* where, const OtlpIndices& indices, std::size_t size) {
    for (const std::int32_t index : indices) follow(where, index, size);
  };
  for (const OtlpProfileRead& profile : read.profiles) {
    follow("type", profile.type, read.strings.size());
    follow("unit", profile.unit, read.strings.size());
    for (const OtlpSampleRead& sample : profile.samples) {
      follow("stack", sample.stack, read.stacks.size());
      follow("link", sample.link, read.links.size());
      follow_all("attribute of a sample", sample.attributes, read.attributes.size());
    }
  }
  for (const OtlpIndices& stack : read.stacks) follow_all("location", stack, read.locations.size());
  for (const OtlpRead::Location& location : read.locations) {
    follow("mapping", location.mapping, read.mappings.size());
    follow("function", location.function, read.functions.size());
    follow_all("attribute of a location", location.attributes, read.attributes.size());
  }
  for (const OtlpRead::Mapping& mapping : read.mappings) {
    follow("file", mapping.file, read.strings.size());
    follow_all("attribute of a mapping", mapping.attributes, read.attributes.size());
  }
  follow_all("name", read.functions, read.strings.size());
  for (const OtlpRead::Attribute& attribute : read.attributes)
    follow("key", attribute.key, read.strings.size());
  return out;
}

}  // namespace tailor::formats
