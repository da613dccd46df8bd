#include "viewer/cli/compact_bundle.h"

#include <fmt/format.h>
#include <zlib.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/query/reports/cost_columns.h"
#include "proto/base/errors.h"

namespace tailor::cli {
namespace {

using query::Json;

constexpr std::size_t kWorthSharing = 512;  // bytes of an answer

bool is_listing(const std::string& key, const Json& answer) {
  return key.find("/listing") != std::string::npos && answer.contains("lines") && answer["lines"].is_array();
}

// A line without a cost says so by having none.
void drop_empty_costs(Json& lines) {
  for (Json& line : lines) {
    if (line.value("weight", 1.0) != 0) continue;
    for (const query::CostColumn& column : query::cost_columns()) line.erase(std::string(column.key));
  }
}

// What of `rows` differs from `base`, by place. Null: they have not the same number, or most of them differ.
Json changed_rows(const Json& base, const Json& rows) {
  if (!base.is_array() || !rows.is_array() || base.size() != rows.size()) return nullptr;
  Json out = Json::object();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != base[i]) out[std::to_string(i)] = rows[i];
  }
  return 2 * out.size() > rows.size() ? Json() : out;
}

// Of each code object the instructions that differ from those of the object of the same number in `base`.
Json changed_code(const Json& base, const Json& code) {
  Json out = Json::array();
  for (Json object : code) {
    for (std::size_t i = 0; i < base.size(); ++i) {
      if (base[i].value("code", Json()) != object.value("code", Json())) continue;
      Json changed =
          changed_rows(base[i].value("instructions", Json()), object.value("instructions", Json()));
      if (changed.is_null()) break;
      object["like"] = i;
      object["instructions"] = std::move(changed);
      break;
    }
    out.push_back(std::move(object));
  }
  return out;
}

// Null: it has too little in common with the listing `base`, which has this key.
Json as_changes(const std::string& key, const Json& base, const Json& listing) {
  Json lines = changed_rows(base["lines"], listing["lines"]);
  if (lines.is_null()) return nullptr;
  Json out = {{"like", key}, {"lines", std::move(lines)}};
  const Json none = Json::array();
  if (listing.contains("assembly"))
    out["assembly"] = changed_code(base.contains("assembly") ? base["assembly"] : none, listing["assembly"]);
  Json rest = listing;
  rest.erase("lines");
  rest.erase("assembly");
  out["rest"] = std::move(rest);
  return out;
}

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// RFC 4648, 4.
std::string in_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace

Json compact_bundle(Json bundle) {
  std::map<std::string, std::string> seen;      // text of an answer > its key
  std::map<std::string, std::string> listings;  // plan > key of its first listing
  Json& responses = bundle["responses"];
  Json out = Json::object();
  // Those of all executions first: single ones are like these.
  std::vector<std::string> order;
  for (const bool whole : {true, false}) {
    for (const auto& [key, answer] : responses.items()) {
      if (key.starts_with("executions/all/") == whole) order.push_back(key);
    }
  }
  for (const std::string& key : order) {
    Json& answer = responses[key];
    const bool listing = is_listing(key, answer);
    if (listing) drop_empty_costs(answer["lines"]);
    std::string text = answer.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() >= kWorthSharing) {
      const auto [at, fresh] = seen.try_emplace(std::move(text), key);
      if (!fresh) {
        out[key] = {{"same", at->second}};
        continue;
      }
    }
    if (listing) {
      const auto [first, fresh] = listings.try_emplace(answer.value("plan_key", std::string()), key);
      if (Json changes = fresh ? Json() : as_changes(first->second, responses[first->second], answer);
          !changes.is_null()) {
        out[key] = std::move(changes);
        continue;
      }
    }
    out[key] = listing ? answer : std::move(answer);
  }
  responses = std::move(out);
  bundle["version"] = 2;
  return bundle;
}

Result<std::string> packed(const std::string& text) {
  constexpr int kGzip = 15 + 16, kMemory = 8;
  constexpr std::size_t kMost = std::size_t{1} << 29;  // as much as the page opens (data/packed.ts)
  if (text.size() > kMost)
    return exhausted(
        fmt::format("the report has {} MB, and the page opens {} MiB at most: choose one execution, "
                    "or a part of its time",
                    text.size() / 1'000'000, kMost >> 20));
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    return internal("the report cannot be compressed: zlib did not begin");
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int done = ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (done != Z_STREAM_END) return internal("the report cannot be compressed");
  return in_base64(out);
}

}  // namespace tailor::cli
