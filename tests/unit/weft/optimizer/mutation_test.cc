// Broken and odd statements: whatever the text, planning ends with a sound plan or an error.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "compiler/weft/optimizer/planner.h"
#include "compiler/weft/plan/print.h"
#include "tests/support/tpch_catalog.h"
#include "tests/unit/weft/optimizer/plan_check.h"

namespace tailor::weft {
namespace {

std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  std::string current;
  bool quoted = false;
  for (char c : text) {
    bool word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || quoted;
    if (c == '\'') {
      quoted = !quoted;
      current += c;
      continue;
    }
    if (word) {
      current += c;
      continue;
    }
    if (!current.empty()) tokens.push_back(std::exchange(current, {}));
    bool continues =
        (c == '=' || c == '>') && !tokens.empty() && (tokens.back() == "<" || tokens.back() == ">");
    if (continues) {
      tokens.back() += c;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      tokens.push_back(std::string(1, c));
    }
  }
  if (!current.empty()) tokens.push_back(current);
  return tokens;
}

std::vector<std::vector<std::string>> all_queries() {
  std::vector<std::vector<std::string>> queries;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_QUERIES)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::string text, line;
    std::ifstream file(path);
    while (std::getline(file, line)) {
      if (!line.starts_with("--")) text += line + "\n";
    }
    queries.push_back(tokens_of(text));
  }
  return queries;
}

TEST(Mutations, EndInASoundPlanOrAnError) {
  auto catalog = tpch_catalog();
  auto queries = all_queries();
  ASSERT_GE(queries.size(), 24u);
  const char* rounds = std::getenv("WEFT_MUTATIONS");
  int count = rounds == nullptr ? 1500 : std::atoi(rounds);
  int planned = 0;
  for (int seed = 0; seed < count; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    auto pick = [&](std::size_t size) { return random() % size; };
    std::vector<std::string> tokens = queries[pick(queries.size())];
    for (std::size_t edits = 1 + pick(3); edits > 0; --edits) {
      const auto& donor = queries[pick(queries.size())];
      std::size_t at = pick(tokens.size());
      switch (pick(5)) {
        case 0:
          tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 1:
          tokens[at] = tokens[pick(tokens.size())];
          break;
        case 2:
          tokens[at] = donor[pick(donor.size())];
          break;
        case 3:
          std::swap(tokens[at], tokens[pick(tokens.size())]);
          break;
        default:
          tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), donor[pick(donor.size())]);
          break;
      }
    }
    std::string sql;
    for (const std::string& token : tokens) sql += token + " ";
    SCOPED_TRACE(sql);
    auto plan = plan_query(sql, *catalog);
    if (!plan) {
      EXPECT_FALSE(plan.error().message.empty());
      continue;
    }
    ++planned;
    EXPECT_EQ(broken_promise(*plan), "") << to_string(*plan);
  }
  // If nothing can be planned, nothing was tested.
  EXPECT_GT(planned, count / 50);
}

}  // namespace
}  // namespace tailor::weft
