#include "compiler/weft/workflow/tuples.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace tailor::weft::workflow {
namespace {

std::uint64_t values_of_tuple(const Input& input) {
  std::uint64_t values = 0;
  for (const Field& field : input.fields) values += field.values();
  return values;
}

template <typename T>
void put_value(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(value));
}

// A number of a file: a double, or a whole number.
struct FileNumber {
  bool whole = false;
  double real = 0;
  std::int64_t integer = 0;
};

// Writes `number` as a value of type `scalar`. False: it would not be the same number.
bool store_number(const FileNumber& number, Scalar scalar, std::byte* at) {
  constexpr std::int64_t kMostExact = std::int64_t{1} << 53;  // what a double holds exactly, with all below
  constexpr auto kExact = static_cast<double>(kMostExact);
  const double real = number.whole ? static_cast<double>(number.integer) : number.real;
  if (scalar == Scalar::kF64 || scalar == Scalar::kF32) {
    if (number.whole && (number.integer > kMostExact || number.integer < -kMostExact)) return false;
    if (scalar == Scalar::kF64) return put_value(at, real), true;
    // A real number is rounded to the nearest float, as a compiler rounds it; a whole one is kept or refused.
    const auto rounded = static_cast<float>(real);
    if (number.whole && static_cast<double>(rounded) != real) return false;
    return put_value(at, rounded), true;
  }
  std::int64_t integer = number.integer;
  if (!number.whole) {
    if (!(std::abs(real) <= kExact) || real != std::trunc(real)) return false;
    integer = static_cast<std::int64_t>(real);
  }
  if (scalar == Scalar::kI64) return put_value(at, integer), true;
  using Int32 = std::numeric_limits<std::int32_t>;
  if (integer < Int32::min() || integer > Int32::max()) return false;
  return put_value(at, static_cast<std::int32_t>(integer)), true;
}

// Takes the values of one tuple after the other.
class TupleWriter {
 public:
  TupleWriter(const Input& input, const Tuples& tuples) : input_(input), tuples_(tuples) {}

  // False: the number does not fit the field.
  bool add(const FileNumber& number) {
    const Field& field = input_.fields[field_];
    std::byte* at = tuples_.column(field_) + row_ * field.bytes() + value_ * scalar_bytes(field.scalar);
    if (!store_number(number, field.scalar, at)) return false;
    if (++value_ < field.values()) return true;
    value_ = 0;
    if (++field_ < input_.fields.size()) return true;
    field_ = 0;
    ++row_;
    return true;
  }
  const Field& field() const { return input_.fields[field_]; }

 private:
  const Input& input_;
  const Tuples& tuples_;
  std::uint64_t row_ = 0, value_ = 0;
  std::size_t field_ = 0;
};

// ---- .csv

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::optional<FileNumber> read_number(std::string_view text) {
  text = trimmed(text);
  FileNumber number;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  auto read = std::from_chars(begin, end, number.integer);
  number.whole = read.ec == std::errc() && read.ptr == end && !text.empty();
  if (number.whole) return number;
  read = std::from_chars(begin, end, number.real);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// The next line of `text`, which loses it.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

Result<Tuples> read_csv(const Input& input, std::string_view text, const std::vector<RegionKind>& regions,
                        MemoryAccount& account) {
  std::uint64_t line_number = 0;
  std::string_view rest = text;
  if (!read_number(take_line(rest).substr(0, text.find_first_of(",\n")))) {
    text = rest;  // a heading
    line_number = 1;
  }
  std::uint64_t rows = 0;
  for (rest = text; !rest.empty();)
    if (!trimmed(take_line(rest)).empty()) ++rows;
  Tuples tuples = Tuples::allocate(input, rows, regions, account);
  TupleWriter writer(input, tuples);
  const std::uint64_t values = values_of_tuple(input);
  while (!text.empty()) {
    std::string_view line = take_line(text);
    ++line_number;
    if (trimmed(line).empty()) continue;
    for (std::uint64_t i = 0; i < values; ++i) {
      const std::size_t comma = line.find(',');
      const bool last = i + 1 == values;
      if (last != (comma == std::string_view::npos)) {
        return invalid(fmt::format("{}:{}: a tuple of {} has {} numbers, and this line has {}", input.path,
                                   line_number, input.name, values, last ? "more" : "fewer"));
      }
      const std::string_view word = line.substr(0, comma);
      const auto number = read_number(word);
      if (!number || !writer.add(*number)) {
        return invalid(fmt::format("{}:{}: '{}' is no {} for the field {}", input.path, line_number,
                                   trimmed(word.substr(0, 40)), scalar_name(writer.field().scalar),
                                   writer.field().name));
      }
      if (!last) line.remove_prefix(comma + 1);
    }
  }
  return tuples;
}

// ---- .npy

struct NpyHeader {
  Scalar scalar = Scalar::kF64;
  std::uint64_t rows = 0, values = 1;
  std::string_view data;
};

// What stands behind "'key':" in the header.
std::string_view after_key(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size());
  const std::size_t value = header.find_first_not_of(": ");
  return value == std::string_view::npos ? std::string_view() : header.substr(value);
}

std::optional<Scalar> scalar_of_npy(std::string_view description) {
  if (description.starts_with("'<f8'")) return Scalar::kF64;
  if (description.starts_with("'<f4'")) return Scalar::kF32;
  if (description.starts_with("'<i8'")) return Scalar::kI64;
  if (description.starts_with("'<i4'")) return Scalar::kI32;
  return std::nullopt;
}

// "(100, 2)" or "(100,)".
bool read_shape(std::string_view shape, NpyHeader& out) {
  if (!shape.starts_with('(')) return false;
  const char* end = shape.data() + shape.size();
  auto read = std::from_chars(shape.data() + 1, end, out.rows);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != ',') return false;
  const char* at = read.ptr + 1;
  while (at != end && *at == ' ') ++at;
  if (at != end && *at == ')') return true;
  read = std::from_chars(at, end, out.values);
  return read.ec == std::errc() && read.ptr != end && *read.ptr == ')' && out.values > 0;
}

// The format of numpy.lib.format: magic, version, length of the header, the header as a Python dictionary,
// the data.
Result<NpyHeader> read_npy_header(const Input& input, std::string_view bytes) {
  const auto bad = [&](const char* what) { return invalid(fmt::format("{}: {}", input.path, what)); };
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return bad("this is no .npy file");
  const unsigned version = static_cast<unsigned char>(bytes[6]);
  const std::size_t width = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i)
    length |= std::size_t{static_cast<unsigned char>(bytes[8 + i])} << (8 * i);
  if (length > bytes.size() - 8 - width) return bad("the file ends within its header");
  const std::string_view header = bytes.substr(8 + width, length);
  NpyHeader out;
  const auto scalar = scalar_of_npy(after_key(header, "'descr'"));
  if (!scalar) return bad("its numbers are none of <f8, <f4, <i8, <i4: convert the array before it is saved");
  if (!after_key(header, "'fortran_order'").starts_with("False"))
    return bad("the array is in Fortran order: save numpy.ascontiguousarray(...) of it");
  if (!read_shape(after_key(header, "'shape'"), out)) return bad("the array must have one or two dimensions");
  out.scalar = *scalar;
  out.data = bytes.substr(8 + width + length);
  const std::uint64_t tuple = out.values * scalar_bytes(out.scalar);
  if (out.values > bytes.size() || (tuple != 0 && out.rows > out.data.size() / tuple))
    return bad("the file ends before its data do");
  return out;
}

FileNumber number_of_npy(Scalar scalar, const char* at) {
  FileNumber number;
  number.whole = scalar == Scalar::kI64 || scalar == Scalar::kI32;
  float single = 0;
  std::int32_t narrow = 0;
  switch (scalar) {
    case Scalar::kF64:
      std::memcpy(&number.real, at, sizeof(number.real));
      break;
    case Scalar::kF32:
      std::memcpy(&single, at, sizeof(single));
      number.real = static_cast<double>(single);
      break;
    case Scalar::kI64:
      std::memcpy(&number.integer, at, sizeof(number.integer));
      break;
    case Scalar::kI32:
      std::memcpy(&narrow, at, sizeof(narrow));
      number.integer = narrow;
      break;
  }
  return number;
}

Result<Tuples> read_npy(const Input& input, std::string_view bytes, const std::vector<RegionKind>& regions,
                        MemoryAccount& account) {
  auto header = read_npy_header(input, bytes);
  if (!header.ok()) return std::move(header).error();
  const std::uint64_t values = values_of_tuple(input);
  if (header->values != values) {
    return invalid(fmt::format("{}: a row has {} numbers, and a tuple of {} has {}", input.path,
                               header->values, input.name, values));
  }
  Tuples tuples = Tuples::allocate(input, header->rows, regions, account);
  TupleWriter writer(input, tuples);
  const char* at = header->data.data();
  for (std::uint64_t i = 0; i < header->rows * values; ++i, at += scalar_bytes(header->scalar)) {
    if (writer.add(number_of_npy(header->scalar, at))) continue;
    return invalid(fmt::format("{}: number {} of row {} is no {} for the field {}", input.path,
                               i % values + 1, i / values + 1, scalar_name(writer.field().scalar),
                               writer.field().name));
  }
  return tuples;
}

}  // namespace

Tuples::Tuples(Tuples&& other) noexcept
    : account_(other.account_), rows_(other.rows_), columns_(std::move(other.columns_)) {
  other.columns_.clear();
}

Tuples::~Tuples() {
  for (const Column& column : columns_) account_->free(column.memory, column.bytes);
}

Tuples Tuples::allocate(const Input& input, std::uint64_t rows, const std::vector<RegionKind>& regions,
                        MemoryAccount& account) {
  Tuples tuples;
  tuples.account_ = &account;
  tuples.rows_ = rows;
  for (std::size_t i = 0; i < input.fields.size(); ++i) {
    // No product of a tuple's bytes and of the rows that a file of any size can have wraps: limits.h has
    // both.
    const std::size_t bytes = std::max<std::size_t>(input.fields[i].bytes() * rows, 1);
    tuples.columns_.push_back({static_cast<std::byte*>(account.allocate(bytes, regions[i])), bytes});
  }
  return tuples;
}

Result<Tuples> read_tuples(const Input& input, const std::string& bytes,
                           const std::vector<RegionKind>& regions, MemoryAccount& account) {
  return input.path.ends_with(".npy") ? read_npy(input, bytes, regions, account)
                                      : read_csv(input, bytes, regions, account);
}

}  // namespace tailor::weft::workflow
