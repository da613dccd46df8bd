// The views as they are on terminals of 40, 80 and 200 columns: the texts in golden/. With
// TAILOR_WRITE_GOLDEN=1 the test writes these texts anew; look at what changed before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "daemon/query/reports/function_report.h"
#include "daemon/query/sums/memory_points.h"
#include "daemon/serve/views.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/region_accesses.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/cli/plain_terminal.h"
#include "tests/unit/cli/sample_view.h"
#include "viewer/cli/render.h"
#include "viewer/cli/render_memory.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

std::string report_text(std::size_t width) {
  const serve::View view = view_of(40);
  const auto report = query::plan_report(view.profile, view.selection);
  EXPECT_TRUE(report);
  return render(view.profile, *report, plain(width));
}

std::string timeline_text(std::size_t width) {
  const serve::View view = view_of(40);
  serve::TimelineRequest request;
  request.lanes = query::Lanes::kPipeline;
  request.buckets = static_cast<std::uint32_t>(timeline_buckets(plain(width)));
  const auto line = serve::timeline_of(view, request);
  EXPECT_TRUE(line);
  return render(view, *line, plain(width), 12);
}

std::string flame_text(std::size_t width) {
  const serve::View view = view_of(40);
  const auto report = query::flame_report(view.profile, view.selection, query::default_flame_order());
  EXPECT_TRUE(report);
  return render(*report, plain(width), 0.02);
}

// All operators cost half as much again.
std::string diff_text(std::size_t width) {
  const auto both = serve::comparison(view_of(40), view_of(60));
  EXPECT_TRUE(both);
  return render(*both, "before.tailor", "after.tailor", plain(width));
}

std::string memory_text(std::size_t width) {
  query::LoadOptions options;
  options.keep_samples = options.keep_activity = true;
  const query::Profile profile = test::load(test::profile_bytes(test::give_region_accesses), options);
  const auto report = query::memory_report(profile, {});
  EXPECT_TRUE(report);
  const query::MemoryPoints points =
      query::memory_points(profile, {}, report->source.index, query::kAllPoints, {});
  return render_regions(query::region_rows(profile, *report, points), plain(width)) +
         render_accesses(profile, points, test::kSampleStart, 2, plain(width)) + "\n" +
         render(profile, *report, plain(width));
}

// Functions with a name, and without one for each reason that no host has a part in.
void give_nameless(profile::ProfileSink& sink) {
  constexpr std::uint64_t kNamed = 0x4000'0000, kGone = 0x5000'0000, kNone = 0x6000'0000, kPart = 0x6800'0000,
                          kCode = 0x7000'0000;
  test::give_context(sink);
  const auto map = [&](std::uint64_t begin, const char* path, const char* build_id) {
    sink.on_mapping({test::kSampleProcess, test::kSampleStart, begin, 0x10000, 0, path, build_id});
  };
  map(kNamed, "/nowhere/libnamed.so", "b1");
  map(kGone, "/nowhere/libgone.so", "b2");
  map(kNone, "/nowhere/libnone.so", "");
  map(kPart, "/nowhere/libpart.so", "");
  sink.on_names({"/nowhere/libnamed.so", "b1", {{0x10, 0x100, 0x10, "hot_loop", ""}}});
  sink.on_names({"/nowhere/libnone.so", "", {}});
  sink.on_names({"/nowhere/libpart.so", "", {{0x1000, 0x100, 0x1000, "elsewhere", ""}}});
  v1::CodeObject code = test::sample_code();
  code.set_id(9);
  code.set_base(kCode);
  code.clear_name();
  sink.on_code(test::kSampleProcess, test::kSampleStart, code);
  TimeNs time = test::kSampleStart;
  const auto hit = [&](std::uint64_t address, int times, CodeId of = 0) {
    std::vector<profile::SampleRecord> samples;
    for (int i = 0; i < times; ++i) {
      samples.push_back(of == 0 ? test::unattributed_sample(++time, profile::Reason::kUnknownUserCode)
                                : test::ir_sample(++time, 1));
      samples.back().mode = profile::Mode::kUser;
      samples.back().attribution.code = of;
      samples.back().ip = samples.back().user_ip = address;
    }
    sink.on_samples(samples);
  };
  hit(kNamed + 0x20, 50);
  hit(kGone + 0x20, 20);
  hit(kNone + 0x20, 15);
  hit(kPart + 0x20, 12);
  hit(0x1000'0000, 10);
  hit(kCode + 0x20, 5, 9);
}

std::string functions_text(std::size_t width) {
  query::LoadOptions options;
  options.functions = true;
  const query::Profile profile = test::load(test::profile_bytes(give_nameless), options);
  const auto report = query::function_report(profile, {});
  EXPECT_TRUE(report);
  return render(profile, *report, {}, plain(width));
}

struct Picture {
  const char* name;
  std::string (*text)(std::size_t width);
};

class ViewsGolden : public testing::TestWithParam<std::tuple<Picture, std::size_t>> {};

TEST_P(ViewsGolden, IsAsItWas) {
  const auto& [picture, width] = GetParam();
  const std::string text = fit(picture.text(width), width, false);  // as print_text() does
  const std::string path =
      std::string(TAILOR_GOLDEN) + "/" + picture.name + "." + std::to_string(width) + ".txt";
  if (std::getenv("TAILOR_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), width) << line;
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {}));
}

INSTANTIATE_TEST_SUITE_P(
    All, ViewsGolden,
    testing::Combine(testing::Values(Picture{"report", report_text}, Picture{"timeline", timeline_text},
                                     Picture{"flame", flame_text}, Picture{"diff", diff_text},
                                     Picture{"memory", memory_text}, Picture{"functions", functions_text}),
                     testing::Values(40u, 80u, 200u)),
    [](const auto& each) { return std::get<0>(each.param).name + std::to_string(std::get<1>(each.param)); });

}  // namespace
}  // namespace tailor::cli
