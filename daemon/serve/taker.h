// The parameters of a request over HTTP, as the one who makes a request of them takes them. Any bytes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/result.h"

namespace tailor::serve {

// Whether all of the text is a number; then it is in `out`.
template <typename Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The parameters of one request: each is taken once, and what nobody took is wrong. One thread.
class Taker {
 public:
  // As they came, decoded.
  explicit Taker(const std::vector<std::pair<std::string, std::string>>& parameters) {
    for (const auto& [name, value] : parameters) {
      if (value.size() > kLongest) {
        fail(fmt::format("the parameter {} is longer than {} bytes", name, kLongest));
      } else if (!values_[name].empty() && name != "label") {
        fail(fmt::format("the parameter {} is given more than once", name));
      }
      values_[name].push_back(value);
    }
  }

  // Null where it was not given.
  const std::string* text(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) return nullptr;
    taken_.insert(name);
    return &found->second.front();
  }

  // Of a parameter that may be given several times.
  std::vector<std::string> all(const std::string& name) {
    if (text(name) == nullptr) return {};
    return values_[name];
  }

  // Nothing where it was not given, or is no number from `least` to `most`: then that is what is wrong.
  template <typename Number>
  std::optional<Number> number(const std::string& name, Number least, Number most) {
    const std::string* value = text(name);
    if (value == nullptr) return std::nullopt;
    Number out{};
    if (parse_number(*value, out) && out >= least && out <= most) return out;
    fail(fmt::format("{} is a number from {} to {}, not \"{}\"", name, least, most, *value));
    return std::nullopt;
  }

  // The index of the choice that was given; `otherwise` if none was.
  std::size_t choice(const std::string& name, const std::vector<std::string_view>& choices,
                     std::size_t otherwise) {
    const std::string* value = text(name);
    if (value == nullptr) return otherwise;
    const auto found = std::find(choices.begin(), choices.end(), *value);
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
    fail(fmt::format("{} is one of {}, not \"{}\"", name, fmt::join(choices, ", "), *value));
    return otherwise;
  }

  // What is wrong; the first thing counts.
  void fail(std::string message) {
    if (problem_.empty()) problem_ = std::move(message);
  }

  // Invalid where something was wrong, or a parameter is there that nobody took.
  Status finish() {
    for (const auto& [name, value] : values_) {
      if (!taken_.contains(name)) fail(fmt::format("there is no parameter \"{}\" here", name));
    }
    if (!problem_.empty()) return invalid(problem_);
    return Ok{};
  }

 private:
  static constexpr std::size_t kLongest = 400;  // bytes of a parameter's value

  std::map<std::string, std::vector<std::string>> values_;
  std::set<std::string> taken_;
  std::string problem_;
};

}  // namespace tailor::serve
