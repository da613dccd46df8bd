#include "compiler/weft/exec/result_set.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace tailor::weft {
namespace {

std::string csv_text(const Value& value) {
  if (value.null) return "";
  std::string text = plain_text(value);
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string json_text(const Value& value) {
  if (value.null) return "null";
  if (value.type.is_numeric() || value.type.id == TypeId::kBool) return plain_text(value);
  return nlohmann::json(plain_text(value)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_json(std::ostream& out, const ResultSet& result) {
  out << "[";
  for (std::size_t row = 0; row < result.rows; ++row) {
    out << (row == 0 ? "\n {" : ",\n {");
    for (std::size_t i = 0; i < result.names.size(); ++i) {
      if (i > 0) out << ", ";
      out << nlohmann::json(result.names[i]).dump() << ": " << json_text(result.at(row, i));
    }
    out << "}";
  }
  out << "\n]\n";
}

}  // namespace

std::string plain_text(const Value& value) {
  if (value.null) return "null";
  switch (value.type.id) {
    case TypeId::kString:
      return value.text;
    case TypeId::kChar1:
      return std::string(1, static_cast<char>(value.integer));
    case TypeId::kDate:
      return date_to_string(static_cast<std::int32_t>(value.integer));
    case TypeId::kBool:
      return value.integer != 0 ? "true" : "false";
    default:
      return to_string(value.integer, value.type.scale);
  }
}

void print(std::ostream& out, const ResultSet& result, ResultFormat format) {
  if (format == ResultFormat::kJson) return print_json(out, result);
  const char* separator = format == ResultFormat::kCsv ? "," : "|";
  for (std::size_t i = 0; i < result.names.size(); ++i) out << (i == 0 ? "" : separator) << result.names[i];
  out << "\n";
  for (std::uint64_t row = 0; row < result.rows; ++row) {
    for (std::size_t i = 0; i < result.names.size(); ++i) {
      out << (i == 0 ? "" : separator)
          << (format == ResultFormat::kCsv ? csv_text(result.at(row, i)) : plain_text(result.at(row, i)));
    }
    out << "\n";
  }
}

}  // namespace tailor::weft
