#include "daemon/export/export_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/export/make_trace.h"
#include "tests/unit/export/loaded_sample_profile.h"

namespace tailor::exporter {
namespace {

formats::Trace trace_of_sources(std::size_t count) {
  const query::Profile profile = test::sample_profile();
  formats::Trace trace = *make_trace(profile, {}, {});
  const auto samples = trace.samples;
  for (std::size_t i = 1; i < count; ++i) {
    trace.sources.push_back({"source " + std::to_string(i), "count", 1});
    for (formats::TraceSample sample : samples) {
      sample.source = static_cast<std::uint16_t>(i);
      trace.samples.push_back(sample);
    }
  }
  std::ranges::stable_sort(trace.samples, {}, &formats::TraceSample::time);
  return trace;
}

bool is_text(const std::string& content) {
  return std::ranges::none_of(
      content, [](char c) { return c == '\0' || (c > 0 && c < ' ' && c != '\n' && c != '\r'); });
}

TEST(ExportFormats, EachIsFoundByItsNameInTheOrderOfNames) {
  EXPECT_TRUE(std::ranges::is_sorted(export_formats(), {}, &ExportFormat::name));
  for (const ExportFormat& format : export_formats())
    EXPECT_EQ(find_export_format(format.name), &format) << format.name;
  EXPECT_EQ(find_export_format("pcap"), nullptr);
  EXPECT_EQ(find_export_format(""), nullptr);
}

TEST(ExportFormats, TheTableSaysWhatIsWritten) {
  const formats::Trace trace = trace_of_sources(1);
  for (const ExportFormat& format : export_formats()) {
    ASSERT_EQ(format.write == nullptr, format.content == ExportFormat::Content::kTables) << format.name;
    if (format.write == nullptr) continue;
    const std::string content = format.write(trace);
    EXPECT_EQ(is_text(content), format.content != ExportFormat::Content::kBinary) << format.name;
    EXPECT_EQ(nlohmann::json::accept(content), format.content == ExportFormat::Content::kJson) << format.name;
  }
}

TEST(ExportFormats, AFormatOfOneSourceHoldsNoSampleOfAnother) {
  const formats::Trace one = trace_of_sources(1), two = trace_of_sources(2);
  for (const ExportFormat& format : export_formats()) {
    if (format.write == nullptr) continue;
    EXPECT_EQ(format.write(one) == format.write(two), format.sources == ExportFormat::Sources::kOne)
        << format.name;
  }
}

TEST(ExportFormats, OnlyATableHasAHeadWithoutSamples) {
  formats::Trace none = trace_of_sources(1);
  none.samples.clear();
  for (const ExportFormat& format : export_formats()) {
    if (!format.may_be_empty) continue;
    const std::string content = format.write(none);
    EXPECT_EQ(std::ranges::count(content, '\n'), 1) << format.name;
  }
  EXPECT_TRUE(find_export_format("csv")->may_be_empty);
}

}  // namespace
}  // namespace tailor::exporter
