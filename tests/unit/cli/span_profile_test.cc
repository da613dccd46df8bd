// What `tailor record -p` takes out of the store of a daemon carries names, also of a file that is gone.
#include "viewer/cli/span_profile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "daemon/store/store_writer.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
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

}  // namespace
}  // namespace tailor::cli
