// Which build ids of a perf.data its mappings get.
#include "daemon/import/observing_sink.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/collecting_sink.h"

namespace tailor::importer {
namespace {

class Mappings : public test::CollectingSink {
 public:
  void on_mapping(const profile::MappingRecord& mapping) override { all.push_back(mapping); }
  std::vector<profile::MappingRecord> all;
};

std::string id_of(const std::string& path, std::uint64_t begin, bool of_32_bits = true) {
  Mappings out;
  ObservingSink sink(out);
  sink.add_build_id("[vdso]", "64");
  if (of_32_bits) sink.add_build_id("[vdso32]", "32");
  sink.add_build_id("/bin/a", "aa");
  sink.on_mapping({{7, 0}, 1, begin, 0x2000, 0, path, ""});
  return out.all.at(0).build_id;
}

TEST(ObservingSink, AMappingHasTheIdOfItsPath) {
  EXPECT_EQ(id_of("/bin/a", 0x1000), "aa");
  EXPECT_EQ(id_of("/bin/b", 0x1000), "");
}

// A process of 32 bits has another image by the same name.
TEST(ObservingSink, TheVdsoIsThatOfItsKindOfProcess) {
  EXPECT_EQ(id_of("[vdso]", 0x7ffd'0000'0000), "64");
  EXPECT_EQ(id_of("[vdso]", 0xf7f0'0000), "32");
  EXPECT_EQ(id_of("[vdso]", 0xf7f0'0000, false), "") << "the id of the other one proves nothing";
}

}  // namespace
}  // namespace tailor::importer
