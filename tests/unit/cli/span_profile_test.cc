// What `tailor record -p` takes out of the store of a daemon carries names, also of a file that is gone.
#include "viewer/cli/span_profile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "daemon/store/store_writer.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_sink.h"
#include "tests/unit/query/symbols/elf_image.h"

namespace tailor::cli {
namespace {

namespace fs = std::filesystem;
using query::ElfImage;

constexpr std::uint64_t kMapped = 0x7f00'0000'0000;

class SpanProfileTest : public testing::Test {
 protected:
  SpanProfileTest() {
    fs::create_directories(folder_);
    ElfImage<true> image;
    image.code(".text", 0x1000, std::string(0x200, '\x90')).build_id("\x12\x34");
    image.symbols(SHT_SYMTAB, {{"hot", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x100},
                               {"cold", STB_GLOBAL, STT_FUNC, 1, 0x1100, 0x100}});
    query::write_image(held_, image.bytes());
    hit_ = query::read_elf_functions(held_)->segments.at(0).offset + 0x10;
    auto writer = store::StoreWriter::open(store_, {}, 1'700'000'000'000'000'000);
    EXPECT_TRUE(writer.ok());
    test::give_context(**writer);
    (*writer)->on_mapping(
        {test::kSampleProcess, test::kSampleStart, kMapped, 0x10000, 0, "/nowhere/gone.so", "1234"});
    profile::SampleRecord sample = test::component_sample(test::kSampleStart + 1, 1);
    sample.attribution = {};
    sample.ip = sample.user_ip = kMapped + hit_;
    (*writer)->on_samples(std::vector{sample});
    EXPECT_TRUE((*writer)->finish());
  }
  ~SpanProfileTest() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("span_profile_" + std::to_string(::getpid()));
  const std::string held_ = (folder_ / "held").string(), store_ = (folder_ / "store").string(),
                    output_ = (folder_ / "out.tailor").string();
  std::uint64_t hit_ = 0;
};

TEST_F(SpanProfileTest, AFileThatIsHeldHasItsNamesInTheProfileAndInTheCache) {
  const query::SymbolCache cache(folder_ / "symbols");
  const query::FindKept kept = [this](const std::string&, const std::string&) {
    return query::KeptFile{query::KeptFile::Is::kKept, held_};
  };
  const Span span{test::kSampleProcess, kTimeMin, kTimeMax, store_};
  const auto samples = write_span(span, output_, {}, kept, &cache);
  ASSERT_TRUE(samples.ok()) << samples.error().message;
  EXPECT_EQ(*samples, 1u);
  const auto profile = query::Profile::load_file(output_, {});
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  const auto* found = profile->names().find("/nowhere/gone.so", "1234", hit_);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name, "hot");
  ASSERT_TRUE(cache.find("1234")) << "of all functions of the file";
  EXPECT_EQ(cache.find("1234")->functions.size(), 2u);
}

// A child has its parent's code. What is nobody's parent is not in the file.
TEST_F(SpanProfileTest, TheParentsOfTheProcessNameWhatItHasFromThem) {
  constexpr ProcessId kChild{5000, 9}, kNeighbour{5001, 9};
  constexpr std::uint64_t kGenerated = 0x6000'0000'0000;
  const std::string store = (folder_ / "inherited").string();
  auto writer = store::StoreWriter::open(store, {}, 1'700'000'000'000'000'000);
  ASSERT_TRUE(writer.ok());
  test::give_context(**writer);
  (*writer)->on_mapping(
      {test::kSampleProcess, test::kSampleStart, kMapped, 0x10000, 0, "/nowhere/gone.so", "1234"});
  for (const ProcessId process : {test::kSampleProcess, kNeighbour}) {
    v1::CodeObject code;
    code.set_id(77);
    code.set_base(kGenerated);
    code.set_code(std::string(64, '\x90'));
    code.set_name("generated");
    code.add_attachments()->set_content("SELECT 1");
    (*writer)->on_code(process, test::kSampleStart, code);
  }
  profile::ProcessRecord child;
  child.process = kChild;
  child.comm = "child";
  child.first_seen = child.forked = test::kSampleStart + 5;
  child.parent = test::kSampleProcess;
  (*writer)->on_process(child);
  profile::SampleRecord sample = test::component_sample(test::kSampleStart + 10, 1);
  sample.process = kChild;
  sample.attribution = {};
  sample.ip = sample.user_ip = kMapped + hit_;
  (*writer)->on_samples(std::vector{sample});
  ASSERT_TRUE((*writer)->finish());
  writer->reset();
  const query::FindKept kept = [this](const std::string&, const std::string&) {
    return query::KeptFile{query::KeptFile::Is::kKept, held_};
  };
  const Span span{kChild, kTimeMin, kTimeMax, store};
  const auto samples = write_span(span, output_, {}, kept, nullptr);
  ASSERT_TRUE(samples.ok()) << samples.error().message;
  EXPECT_EQ(*samples, 1u);
  const auto profile = query::Profile::load_file(output_, {});
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  const auto* found = profile->names().find("/nowhere/gone.so", "1234", hit_);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name, "hot");
  const auto line = profile->timelines().line_of(kChild, test::kSampleStart + 10);
  ASSERT_EQ(line.size(), 2u);
  EXPECT_EQ(line.back(), std::pair(test::kSampleProcess, test::kSampleStart + 5));
  EXPECT_TRUE(profile->timelines().had_code(test::kSampleProcess, kGenerated + 16));
  EXPECT_FALSE(profile->timelines().had_code(kNeighbour, kGenerated + 16));
  const auto parent = profile->processes().find(test::kSampleProcess);
  ASSERT_NE(parent, profile->processes().end());
  EXPECT_EQ(parent->second.engine_name, "") << "what its agent said is not of this file";
  EXPECT_EQ(profile->processes().size(), 2u);
  EXPECT_TRUE(profile->executions().empty());
  test::TextSink all;
  store::ReadReport report;
  store::SaidLoss loss;
  ASSERT_TRUE(store::read_profile(**store::open_file(output_), all, report, loss));
  EXPECT_FALSE(std::ranges::any_of(
      all.records, [](const auto& each) { return each.find("SELECT 1") != std::string::npos; }));
}

}  // namespace
}  // namespace tailor::cli
