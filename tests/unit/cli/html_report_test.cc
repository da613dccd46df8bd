#include "viewer/cli/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "daemon/query/reports/cost_columns.h"
#include "viewer/cli/compact_bundle.h"

namespace tailor::cli {
namespace {

using query::Json;
using testing::HasSubstr;
using testing::Not;

const std::string kPage =
    "<head></head><script type=\"application/json\" id=\"tailor-bundle\">null</script><script>x</script>";
const std::string kBefore = "<head></head><script type=\"application/gzip\" id=\"tailor-bundle\">";
const std::string kBehind = "</script><script>x</script>";

std::string from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t group = 0;
  int bits = 0;
  for (char c : text) {
    if (c == '=') break;
    group = group << 6 | static_cast<std::uint32_t>(digits.find(c));
    bits += 6;
    if (bits >= 8) out += static_cast<char>(group >> (bits -= 8) & 255);
  }
  return out;
}

std::string unpacked(const std::string& text) {
  const std::string bytes = from_base64(text);
  std::string out(1 << 20, '\0');
  z_stream stream{};
  EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::inflateEnd(&stream);
  return out;
}

std::string data_of(const std::string& page) {
  EXPECT_TRUE(page.starts_with(kBefore) && page.ends_with(kBehind)) << page;
  return page.substr(kBefore.size(), page.size() - kBefore.size() - kBehind.size());
}

TEST(HtmlReport, PutsTheDataInItsPlace) {
  const auto filled = html_report(kPage, {{"version", 1}, {"responses", {{"a", 1}}}});
  ASSERT_TRUE(filled);
  EXPECT_EQ(unpacked(data_of(*filled)), R"({"version":2,"responses":{"a":1}})");
}

TEST(HtmlReport, NoNameEndsTheElementThatHoldsTheData) {
  const std::string name = "</script><img src=x><!--<script>";
  const auto filled = html_report(kPage, {{"responses", {{"a", name}}}});
  ASSERT_TRUE(filled);
  EXPECT_THAT(data_of(*filled), Not(HasSubstr("<")));
  EXPECT_EQ(Json::parse(unpacked(data_of(*filled)))["responses"]["a"], name);
}

TEST(HtmlReport, WantsThePlaceOfTheDataOnce) {
  EXPECT_FALSE(html_report("<html></html>", {{"responses", Json::object()}}));
  EXPECT_FALSE(html_report(kPage + kPage, {{"responses", Json::object()}}));
}

TEST(HtmlReport, WithoutThePageItSaysWhatToDo) {
  const auto filled = html_report("", nullptr);
  ASSERT_FALSE(filled);
  EXPECT_THAT(filled.error().message, HasSubstr("./dev build"));
}

TEST(PackedText, EveryLengthComesBack) {
  for (const std::string& text : {std::string(), std::string("a"), std::string("ab"), std::string("abc"),
                                  std::string(100'000, 'x'), std::string("\0\xff", 2)})
    EXPECT_EQ(unpacked(*packed(text)), text);
}

// Ten lines, of which one has a cost.
Json bundled_listing(std::size_t dear, double weight) {
  Json out = {{"plan_key", "1.2.3"}, {"weight", weight}, {"lines", Json::array()}};
  for (std::size_t i = 0; i < 10; ++i) {
    Json line = {{"line", i + 1}, {"text", "a long line of a listing that every execution of the plan has"}};
    const double own = i == dear ? weight : 0;
    for (const query::CostColumn& column : query::cost_columns()) line[std::string(column.key)] = own;
    out["lines"].push_back(line);
  }
  Json code = {{"code", 7}, {"samples", weight}, {"instructions", Json::array()}};
  for (std::size_t i = 0; i < 10; ++i) code["instructions"].push_back({{"offset", i}, {"text", "nop"}});
  code["instructions"][dear]["weight"] = weight;
  out["assembly"] = {code};
  return out;
}

TEST(CompactBundle, WhatAnswersShareStandsOnce) {
  const Json all = bundled_listing(2, 100), one = bundled_listing(5, 30);
  Json other = bundled_listing(1, 1);
  other["plan_key"] = "1.2.4";
  const Json bundle =
      compact_bundle({{"format", "tailor-bundle"},
                      {"version", 1},
                      {"responses",
                       {{"executions/ab/listing", one},
                        {"executions/ab/listing?plan=1.2.3", one},
                        {"executions/all/listing", all},
                        {"executions/cd/listing", other},
                        {"executions/ab/listing?source=x", {{"error", {{"kind", "not_found"}}}}}}}});
  EXPECT_EQ(bundle["version"], 2);
  const Json& answers = bundle["responses"];
  const Json& whole = answers["executions/all/listing"];
  EXPECT_EQ(whole["lines"].size(), 10u);
  EXPECT_EQ(whole["lines"][2]["weight"], 100);
  for (const query::CostColumn& column : query::cost_columns())
    EXPECT_FALSE(whole["lines"][3].contains(std::string(column.key)))
        << column.key << ": a line without a cost has no keys of one";
  EXPECT_EQ(whole["lines"][3]["text"], all["lines"][3]["text"]);

  const Json& like = answers["executions/ab/listing"];
  EXPECT_EQ(like["like"], "executions/all/listing");
  EXPECT_EQ(like["lines"].size(), 2u) << "the line that has a cost, and the one that has none here";
  EXPECT_EQ(like["lines"]["5"]["weight"], 30);
  EXPECT_FALSE(like["lines"]["2"].contains("weight"));
  EXPECT_EQ(like["rest"]["weight"], 30);
  EXPECT_EQ(like["assembly"][0]["like"], 0);
  EXPECT_EQ(like["assembly"][0]["samples"], 30);
  EXPECT_EQ(like["assembly"][0]["instructions"].size(), 2u);
  EXPECT_EQ(like["assembly"][0]["instructions"]["5"]["weight"], 30);

  EXPECT_EQ(answers["executions/ab/listing?plan=1.2.3"], Json({{"same", "executions/ab/listing"}}));
  EXPECT_EQ(answers["executions/cd/listing"]["lines"].size(), 10u) << "another plan";
  EXPECT_EQ(answers["executions/ab/listing?source=x"]["error"]["kind"], "not_found");
}

TEST(CompactBundle, AListingOfOtherLinesStaysWhole) {
  Json longer = bundled_listing(5, 30);
  longer["lines"].push_back({{"line", 11}, {"text", "one more"}});
  const Json bundle = compact_bundle(
      {{"responses",
        {{"executions/all/listing", bundled_listing(2, 100)}, {"executions/ab/listing", longer}}}});
  EXPECT_EQ(bundle["responses"]["executions/ab/listing"]["lines"].size(), 11u);
}

}  // namespace
}  // namespace tailor::cli
