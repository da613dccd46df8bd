#include "viewer/cli/render.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/query/time/elapsed_time.h"
#include "tests/support/called_profile.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/walked_stacks.h"
#include "tests/unit/cli/plain_terminal.h"
#include "viewer/cli/cost_table.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string rendered(const query::Profile& profile, const Terminal& terminal) {
  auto report = query::plan_report(profile, {});
  EXPECT_TRUE(report);
  return render(profile, *report, terminal);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

query::Profile sample(int rounds = 11) {
  return test::make_profile([&](profile::ProfileSink& sink) { test::give_profile(sink, rounds); });
}

TEST(RenderPlan, TheTreeWithItsCosts) {
  const std::string text = rendered(sample(), plain(110));
  EXPECT_THAT(text,
              HasSubstr("figure-9 · weft 0.1.0 (pid 4242) · 1 execution · own time 143 ms CPU time in 143"));
  // Parts of the plan's own 143 samples, not of all 176.
  EXPECT_THAT(text, HasSubstr("  30.8 %  23.8–38.8 %       44    0.0 %  "));
  EXPECT_THAT(text, HasSubstr("  Group by             keys: l_orderkey\n"));
  EXPECT_THAT(text, HasSubstr("└─ Hash join         o_orderkey = l_orderkey\n"));
  EXPECT_THAT(text, HasSubstr("   ├─ Filter         o_orderdate < '1995-01-01'\n"));
  EXPECT_THAT(text, HasSubstr("   │  └─ Table scan  orders; ~15,000 rows\n"));
  EXPECT_THAT(text, HasSubstr("   └─ Table scan     lineitem\n"));
  EXPECT_THAT(text, HasSubstr("pipeline 2 lineitem (after 1)\n"));
  EXPECT_THAT(text, testing::ContainsRegex("7\\.7 %[^\n]* 11 [^\n]* no operator: set-up code"));
  EXPECT_THAT(text, testing::ContainsRegex("100\\.0 %[^\n]* 143 [^\n]* = the plan's own time\n"));
  EXPECT_THAT(text, HasSubstr("Everything in this report: 176 ms CPU time in 176 samples\n"));
  EXPECT_THAT(text, testing::ContainsRegex("68\\.8 %[^\n]* 121 [^\n]* operators\n"));
  EXPECT_THAT(text, testing::ContainsRegex("12\\.5 %[^\n]* 22 [^\n]* engine components\n"));
  EXPECT_THAT(text, testing::ContainsRegex("6\\.2 %[^\n]* 11 [^\n]*   compile\n"));
  EXPECT_THAT(text, HasSubstr("kernel, on"));
  EXPECT_THAT(text, HasSubstr("lost 0 samples (0.0 %); location inferred 0.0 %; shared by several\n"));
  EXPECT_THAT(
      text,
      HasSubstr("Links of 132 samples in generated code: exact 83.3 %, shared 8.3 %, set-up code 8.3 %.\n"));
}

TEST(RenderPlan, ExecutionsWithoutASampleStandBesideThoseThatHaveSome) {
  const query::Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    for (ExecutionHandle handle = 100; handle < 1300; ++handle) {
      profile::ExecutionRecord execution;
      execution.process = test::kSampleProcess;
      execution.handle = handle;
      execution.plan = test::kSamplePlan;
      execution.begin = test::kSampleStart;
      execution.end = test::kSampleStart + 1;
      sink.on_execution(execution);
    }
  });
  EXPECT_THAT(rendered(profile, plain(200)),
              HasSubstr("· 1 execution, 1,200 more without a sample · own time"));
  EXPECT_THAT(rendered(sample(), plain(200)), Not(HasSubstr("without a sample")));
}

// One thread works all the time, and one a tenth of it.
query::ElapsedTime elapsed_of_two_threads() {
  query::LoadOptions options;
  options.keep_samples = true;
  const std::string bytes = test::profile_bytes([](profile::ProfileSink& sink) {
    test::give_profile(sink, 20);
    for (TimeNs ms = 101; ms <= 132; ++ms) {
      auto sample = test::ir_sample(test::kSampleStart + ms * 1'000'000, 6);
      sample.tid = 9;
      sink.on_samples({&sample, 1});
    }
  });
  const query::Profile profile = test::load(bytes, options);
  auto time = query::elapsed_time(profile, {});
  EXPECT_TRUE(time) << (time ? "" : time.error().message);
  return std::move(*time);
}

TEST(RenderPlan, ElapsedTimeHasAColumnOfThreads) {
  query::ElapsedTime time = elapsed_of_two_threads();
  time.sum.too_short = 2;
  const auto report = query::plan_report(time);
  ASSERT_TRUE(report);
  for (const std::size_t width : {80, 120}) {
    const std::string text = render(time.profile, *report, plain(width));
    EXPECT_THAT(text, HasSubstr("samples threads  skew")) << width;
    EXPECT_THAT(text, testing::ContainsRegex(" 1\\.1 [^\n]*= a thread worked\n")) << width;
    EXPECT_THAT(text, HasSubstr("2 executions are left out")) << width;
    EXPECT_THAT(text, HasSubstr("elapsed time in 352 samples")) << width;
    EXPECT_THAT(text, HasSubstr("no thread worked")) << width;
    for (const std::string& line : lines_of(text)) EXPECT_LE(columns(line), width) << line;
  }
  EXPECT_THAT(rendered(sample(), plain(120)), Not(HasSubstr("threads")));
}

TEST(RenderPlan, ColumnsOfElapsedTimeGoWhereTheTerminalIsNarrow) {
  const query::ElapsedTime time = elapsed_of_two_threads();
  const auto report = query::plan_report(time);
  ASSERT_TRUE(report);
  const std::vector<std::pair<std::size_t, std::string>> headings = {
      {59, "   share  samples  "},
      {60, "   share   95 % range  samples threads  "},
      {69, "   share   95 % range  samples threads  "},
      {70, "   share   95 % range  samples threads  skew  "},
      {89, "   share   95 % range  samples threads  skew  "},
      {90, "   share   95 % range  samples threads  skew   kernel" + std::string(14, ' ')},
  };
  for (const auto& [width, columns] : headings) {
    const std::string heading = CostTable(time.profile, *report, plain(width)).heading("operator");
    EXPECT_EQ(heading.substr(0, columns.size()), columns) << width;
    EXPECT_EQ(heading.substr(columns.size(), 1), "o") << width;
  }
}

TEST(RenderPlan, ASkewThatChanceExplainsIsNoNumber) {
  const query::ElapsedTime time = elapsed_of_two_threads();
  const auto report = query::plan_report(time);
  ASSERT_TRUE(report);
  const Terminal terminal = plain(80);
  const CostTable table(time.profile, *report, terminal);
  query::Share95 cost;
  cost.amount.weight = cost.amount.cpu = 10;
  EXPECT_THAT(table.cells(cost), testing::EndsWith("     1.0" + std::string(8, ' ')));
  cost.skew = query::Skew{.busiest = 3, .mean = 2, .least = 2.5};
  EXPECT_THAT(table.cells(cost), testing::EndsWith("     1.0   1.5  "));
  cost.skew->least = 2;
  EXPECT_THAT(table.cells(cost), testing::EndsWith("     1.0     -  "));
}

// The sample's plan with its first `levels` levels and without pipelines, and a sample on level `level`.
std::string rendered_without_pipelines(int levels, LevelIndex level) {
  const query::Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
    test::give_context(sink);
    v1::Plan plan = test::sample_plan();
    plan.clear_pipelines();
    plan.mutable_levels()->DeleteSubrange(levels, plan.levels_size() - levels);
    sink.on_plan(test::kSampleProcess, 0, plan);
    profile::SampleRecord sample = test::tag_sample(1, 2);
    sample.attribution.level = level;
    sample.attribution.pipeline = 0;
    sink.on_samples({&sample, 1});
  });
  return rendered(profile, plain(110));
}

TEST(RenderPlan, SaysNothingOfPipelinesWhereThePlanHasNone) {
  const std::string of_operator = rendered_without_pipelines(1, 0);
  EXPECT_THAT(of_operator, HasSubstr("Hash join"));
  EXPECT_THAT(of_operator, Not(HasSubstr("pipeline")));
  EXPECT_THAT(of_operator, Not(HasSubstr("task")));
  const std::string of_task = rendered_without_pipelines(3, 1);
  EXPECT_THAT(of_task, Not(HasSubstr("pipeline")));
  EXPECT_THAT(of_task, HasSubstr("filter  (Filter)\n"));
}

TEST(RenderPlan, TheAccountingOfTheWholeRecording) {
  const query::Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 11);
    profile::Accounting nobodys;
    nobodys.received = 20;
    nobodys.filtered = 12;
    nobodys.late = 8;
    nobodys.lost_ring = 1005;
    nobodys.of_cpu(3).lost_ring = 5;
    nobodys.of_cpu(1).lost_ring = 1000;
    nobodys.throttled = 2;
    nobodys.gap_ns = 8'000'000;
    sink.on_accounting(nobodys);
  });
  EXPECT_THAT(rendered(profile, plain(2000)),
              HasSubstr("The whole recording: received 196 samples = 165 attributed + 11 unattributed + "
                        "12 filtered + 8 late; lost 1,005 (CPU 1: 1,000, CPU 3: 5); throttled 2 times for "
                        "8.00 ms."));
}

TEST(RenderPlan, StacksWithoutABeginAreSaidByReason) {
  const auto text_of = [](std::uint64_t samples) {
    return rendered(test::make_profile([&](profile::ProfileSink& sink) {
                      test::give_profile(sink, 1);
                      sink.on_accounting(test::walked_stacks(16, samples));
                    }),
                    plain(2000));
  };
  EXPECT_THAT(text_of(100),
              HasSubstr(" 12.0 % of the samples have a stack without a begin: a stack longer than its copy "
                        "8.0 %, no rule for the address 4.0 %. `tailor doctor FILE` says what to do."));
  EXPECT_THAT(text_of(1200), HasSubstr(" 1.0 % of the samples have a stack without a begin"));
  EXPECT_THAT(text_of(1201), Not(HasSubstr("without a begin"))) << "less than one in a hundred";
  EXPECT_THAT(rendered(sample(), plain(2000)), Not(HasSubstr("without a begin")));
}

TEST(RenderPlan, KernelTimeThatWasNotSampledIsNotZero) {
  const query::Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
    test::give_context(sink);
    profile::RecordingInfo info;
    info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false});
    info.cpu_used_ns = 800'000'000;
    info.kernel_not_sampled = true;
    info.kernel_unsampled_ns = 200'000'000;
    sink.on_recording(info);
    sink.on_samples(std::vector{test::ir_sample(1, 3), test::ir_sample(1, 4)});
  });
  const std::string text = rendered(profile, plain(120));
  EXPECT_TRUE(
      text.starts_with("Kernel time was not sampled: it was 200 ms of the 1.00 s CPU time that they used "
                       "(20.0 %)"))
      << text;
  EXPECT_THAT(text, testing::ContainsRegex(" 2 +\\?  [^\n]*= everything\n"));
  EXPECT_THAT(rendered(sample(), plain(120)), Not(HasSubstr("not sampled")));
}

TEST(RenderPlan, CodeThatNobodyRegisteredIsSaid) {
  for (const std::uint64_t count : {0, 1, 2, 18}) {
    const query::Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
      test::give_profile(sink, 10);
      profile::SampleRecord forgotten = test::ir_sample(1, 3);
      forgotten.attribution = {};
      forgotten.attribution.reason = profile::Reason::kUnregisteredCode;
      forgotten.ip = forgotten.user_ip = 0x40000;
      sink.on_samples(std::vector(count, forgotten));
    });
    const std::string text = rendered(profile, plain(2000));
    // Below one in a hundred the row is enough.
    EXPECT_EQ(text.find("that nobody registered, so") != std::string::npos, count >= 2) << text;
    if (count == 0) continue;
    EXPECT_THAT(text, testing::ContainsRegex(std::to_string(count) +
                                             " [^\n]* generated code that nobody registered\n"));
    if (count != 18) continue;
    EXPECT_TRUE(text.starts_with(
        "18 samples of this report (10.1 %) are in generated code that nobody registered, so "
        "no operator has them. Process 4242: it has registered other code, but not this"))
        << text;
    EXPECT_THAT(text, HasSubstr("`tailor doctor FILE` says what to do."));
  }
}

TEST(RenderPlan, AsciiFallback) {
  const std::string text = rendered(sample(), plain(110, true));
  for (char c : text) ASSERT_LT(static_cast<unsigned char>(c), 0x80);
  EXPECT_THAT(text, HasSubstr("`- Hash join"));
  EXPECT_THAT(text, HasSubstr("###"));
}

TEST(RenderPlan, NoLineIsWiderThanTheTerminal) {
  const query::Profile profile = sample();
  for (std::size_t width : {60, 80, 100, 200}) {
    for (const std::string& line : lines_of(rendered(profile, plain(width)))) {
      EXPECT_LE(columns(line), width) << line;
      EXPECT_FALSE(line.ends_with(' ')) << '"' << line << '"';
    }
  }
}

// Numbers end where their heading ends.
TEST(RenderPlan, AMillionSamplesKeepTheirColumns) {
  const query::Profile profile = sample(70'000);  // 1,120,000
  std::size_t end = 0, rows = 0;
  for (const std::string& line : lines_of(rendered(profile, plain(100, true)))) {
    const std::size_t heading = line.find("samples  ");
    if (line.starts_with("   share") && heading != std::string::npos) end = heading + 7;
    if (end == 0 || line.size() < end || line.substr(0, 8).find(" %") == std::string::npos) continue;
    ++rows;
    EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(line[end - 1])) != 0 && line[end] == ' ') << line;
    EXPECT_LE(columns(line), 100u) << line;
  }
  EXPECT_GE(rows, 8u);
  EXPECT_THAT(rendered(profile, plain(100, true)), HasSubstr(" 1,120,000"));
}

TEST(RenderPlan, ColoursOnlyWhereAsked) {
  EXPECT_THAT(rendered(sample(), plain(100)), Not(HasSubstr("\x1b")));
  Terminal coloured = plain(100);
  coloured.colour = true;
  EXPECT_THAT(rendered(sample(), coloured), HasSubstr("\x1b[1m"));
}

TEST(RenderPlan, HostileNamesCannotWriteToTheTerminal) {
  const query::Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    const std::string evil = "\x1b]0;owned\x07\n\xE2\x80\xAEtxt";
    test::give_profile(sink, 2);
    profile::ProcessRecord process;
    process.process = test::kSampleProcess;
    process.engine_name = process.engine_version = process.comm = evil;
    sink.on_process(process);
    sink.on_component(test::kSampleProcess, 1, evil);
    v1::Plan plan = test::sample_plan();
    plan.set_name(evil);
    for (v1::Level& level : *plan.mutable_levels()) {
      for (v1::Component& component : *level.mutable_components()) {
        component.set_name(evil);
        component.set_kind(evil);
        for (v1::Attribute& attribute : *component.mutable_attributes()) attribute.set_key(evil);
      }
    }
    for (v1::Pipeline& pipeline : *plan.mutable_pipelines()) pipeline.set_name(evil);
    plan.mutable_attachments(0)->set_content(evil);
    plan.mutable_attachments(0)->set_sha256(std::string(32, 'q'));
    sink.on_plan(test::kSampleProcess, 0, plan);
    profile::RecordingInfo info;
    info.sources.push_back({0, evil, profile::Unit::kNsOnCpu, 1'000'000, false});
    info.clock_source = evil;
    sink.on_recording(info);
  });
  auto plan = query::plan_report(profile, {});
  auto tasks = query::level_report(profile, {}, "task");
  ASSERT_TRUE(plan && tasks);
  for (const std::string& text : {render(profile, *plan, plain(100)), render(profile, *tasks, plain(100))}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\x07")));
    EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xAE")));
    EXPECT_THAT(text, HasSubstr("\\x1b]0;owned"));
  }
}

TEST(RenderPlan, DamageIsSaid) {
  std::string bytes = test::profile_bytes([](profile::ProfileSink& sink) { test::give_profile(sink, 50); });
  bytes.resize(bytes.size() - 10);  // the END block is torn
  EXPECT_THAT(rendered(test::load(bytes), plain(100)), HasSubstr("The profile ends early"));
}

TEST(RenderLevel, TasksWithTheirOperators) {
  const query::Profile profile = sample();
  auto report = query::level_report(profile, {}, "task");
  ASSERT_TRUE(report);
  const std::string text = render(profile, *report, plain(100));
  EXPECT_THAT(text, HasSubstr("aggregate  (Group by)\n"));
  EXPECT_THAT(text, HasSubstr("no task known\n"));
}

TEST(RenderAnnotate, LinesAndBlockSums) {
  const query::Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_context(sink);
    v1::Plan plan = test::sample_plan();
    v1::Attachment& ir = *plan.add_attachments();
    ir.set_kind("ir");
    ir.set_content(
        "define void @main() {\nloop:  ; preds = %loop\n  %1 = load i64, ptr %0\n  %2 = add i64 %1, 1\n}\n"
        "define void @cold() {\n  ret void\n}\n");
    sink.on_plan(test::kSampleProcess, 0, plan);
    sink.on_samples(std::vector{test::ir_sample(1, 3), test::ir_sample(1, 3), test::ir_sample(1, 3),
                                test::ir_sample(1, 4)});
  });
  auto report = query::annotate_report(profile, {}, 0);
  ASSERT_TRUE(report) << report.error().message;
  const std::string text = render(profile, *report, plain(100), {}).text;
  EXPECT_THAT(text, HasSubstr("(Hash join 75.0 %, Table scan 25.0 %)"));
  EXPECT_THAT(text, HasSubstr("   3  75.0 %    %1 = load i64, ptr %0"));
  EXPECT_THAT(text, HasSubstr("Hash join · build"));
  EXPECT_THAT(text, Not(HasSubstr("@cold"))) << "functions without cost are left out";
  EXPECT_THAT(render(profile, *report, plain(100), {.all = true}).text, HasSubstr("@cold"));
}

// Line i of a text, from 1.
std::string line_at(const std::string& text, std::size_t number) {
  std::istringstream lines(text);
  std::string line;
  for (std::size_t i = 0; i < number; ++i) std::getline(lines, line);
  return line;
}

// A block of twenty lines, of which line 30 has nearly all samples, behind one of as many lines without any,
// and before one.
TEST(RenderAnnotate, HotBlocksFirstAndColdOnesFolded) {
  query::AnnotateReport report;
  report.level = "ir";
  const auto add = [&](query::AnnotatedLine::Kind kind, const std::string& text, double samples) {
    query::AnnotatedLine& line = report.lines.emplace_back();
    line.number = static_cast<std::uint32_t>(report.lines.size());
    line.kind = kind;
    line.text = text;
    line.cost.amount.weight = line.cost.amount.samples = samples;
    line.cost.share = samples / 100;
  };
  using Kind = query::AnnotatedLine::Kind;
  add(Kind::kFunction, "define void @main() {", 100);
  for (const char* block : {"before", "hot", "warm", "after"}) {
    const bool hot = std::string_view(block) == "hot", warm = std::string_view(block) == "warm";
    add(Kind::kBlock, std::string(block) + ":", hot ? 97 : warm ? 3 : 0);
    report.lines.back().hot = hot;
    for (int i = 0; i < 20; ++i)
      add(Kind::kInstruction, fmt::format("  %{}{} = add", block, i), i != 7 ? 0 : hot ? 97 : warm ? 3 : 0);
  }
  const query::Profile profile =
      test::make_profile([](profile::ProfileSink& sink) { test::give_profile(sink, 1); });
  auto summary = query::plan_report(profile, {});
  ASSERT_TRUE(summary);
  report.summary = *std::move(summary);
  report.process = test::kSampleProcess;
  const ListingText shown = render(profile, report, plain(100), {});
  const std::string& text = shown.text;
  EXPECT_LT(text.find("hot block\n"), text.find("define void @main"));
  EXPECT_THAT(text, HasSubstr("  23  97.0 %  hot:"));
  EXPECT_THAT(text, HasSubstr("⋯ 21 lines without cost (--all)")) << "before it";
  EXPECT_THAT(text, HasSubstr("⋯ 6 lines without cost (--all)"))
      << "of the warm block, before the line beside its dear one";
  EXPECT_THAT(text, HasSubstr("⋯ 32 lines without cost (--all)"))
      << "behind it, and the block without any cost";
  EXPECT_THAT(text, Not(HasSubstr("%before")));
  EXPECT_THAT(text, HasSubstr("%hot0")) << "a hot block is whole";
  EXPECT_THAT(text, HasSubstr("%hot19"));
  EXPECT_THAT(text, HasSubstr("3.0 %    %warm7"));
  EXPECT_THAT(text, HasSubstr("%warm6"));
  EXPECT_THAT(text, Not(HasSubstr("%warm5")));
  EXPECT_THAT(line_at(text, shown.hottest + 8), HasSubstr("97.0 %    %hot7"))
      << "eight lines are in sight above it";
  const ListingText all = render(profile, report, plain(100), {.all = true});
  EXPECT_THAT(all.text, HasSubstr("%before0"));
  EXPECT_THAT(line_at(all.text, all.hottest + 8), HasSubstr("97.0 %    %hot7"));
}

// Ten of the addresses; the others are counted.
TEST(RenderFunctions, AddressesOfALibraryWithoutSymbols) {
  query::LoadOptions options;
  options.functions = true;
  const auto text_of = [&](std::uint64_t addresses) {
    const query::Profile profile =
        test::load(test::profile_bytes([&](profile::ProfileSink& sink) {
                     test::give_called(sink);
                     for (std::uint64_t i = 1; i < addresses; ++i) {
                       profile::SampleRecord sample = test::tag_sample(test::kSampleStart + 9, 1);
                       sample.ip = sample.user_ip = test::kCalledLibrary + 0x100 * i;
                       sink.on_samples(std::vector{sample});
                     }
                   }),
                   options);
    const auto report = query::function_report(profile, {});
    EXPECT_TRUE(report);
    return render(profile, *report, {}, plain(100), {});
  };
  const std::string few = text_of(1);
  EXPECT_THAT(few, HasSubstr("  75.0 %        3  libx.so+0x10\n"));
  EXPECT_THAT(few, Not(HasSubstr("more addresses")));
  const std::string many = text_of(16);  // of 15 beside the first, nine are shown
  EXPECT_THAT(many, HasSubstr("  libx.so+0x900\n"));
  EXPECT_THAT(many, Not(HasSubstr("libx.so+0xa00")));
  EXPECT_THAT(many, HasSubstr("at 6 more addresses (--json"));
}

}  // namespace
}  // namespace tailor::cli
