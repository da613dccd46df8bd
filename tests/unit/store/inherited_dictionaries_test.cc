// A data segment uses the dictionaries of the processes that its own were forked off: names of the code that
// a child has from them lie there, also where the parent is never sampled.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/sample_profile.h"
#include "tests/unit/store/store_fixture.h"

namespace tailor::store {
namespace {

constexpr ProcessId kEngine{100, 1}, kShell{101, 2}, kChild{102, 3}, kOther{103, 4};

class InheritedDictionaries : public StoreTest {
 protected:
  static profile::ProcessRecord process(ProcessId id, ProcessId parent = {}) {
    profile::ProcessRecord record;
    record.process = id;
    record.first_seen = test::kSampleStart;
    record.parent = parent;
    record.forked = parent == ProcessId{} ? 0 : test::kSampleStart;
    return record;
  }
  // Its record, a file, and a code object, in a dictionary segment of their own.
  void tell(StoreWriter& writer, ProcessId id, ProcessId parent = {}) {
    writer.on_process(process(id, parent));
    writer.on_mapping({id, test::kSampleStart, 0x1000, 0x1000, 0, "/lib/of" + std::to_string(id.pid)});
    v1::CodeObject code;
    code.set_id(7);
    code.set_code(std::string(64, '\x90'));
    writer.on_code(id, test::kSampleStart, code);
    pass(writer);
  }
  void pass(StoreWriter& writer) { writer.on_watermark(now_ += 2 * kSecond); }
  void sample(StoreWriter& writer, ProcessId id) {
    profile::SampleRecord sample = test::unattributed_sample(now_, profile::Reason::kNotRegistered);
    sample.process = id;
    writer.on_samples(std::vector{sample});
    pass(writer);
  }
  bool says(RecordingNumber recording, const std::string& what) {
    const auto all = read(recording).sink.records;
    return std::ranges::any_of(all, [&](const auto& each) { return each.find(what) != std::string::npos; });
  }

  TimeNs now_ = test::kSampleStart;
};

TEST_F(InheritedDictionaries, AreUsedWithThoseOfTheProcess) {
  auto writer = open({.dictionary_bytes = 1});
  // A catalogue that is made again knows from it how old the segments are.
  profile::RecordingInfo info;
  info.wall_clock_ns = kWall;
  writer->on_recording(info);
  pass(*writer);
  tell(*writer, kEngine);
  tell(*writer, kShell, kEngine);
  tell(*writer, kOther);
  tell(*writer, kChild, kShell);
  sample(*writer, kChild);
  const RecordingNumber recording = writer->recording();
  ASSERT_TRUE(writer->finish());
  writer.reset();
  for (const bool again : {false, true}) {
    // It is made again from the segments.
    if (again) std::filesystem::remove(catalogue_path(directory_));
    auto next = open();
    ASSERT_NE(next, nullptr);
    for (const char* named : {"/lib/of100", "/lib/of101", "/lib/of102", "code 100 ", "code 101 "})
      EXPECT_TRUE(says(recording, named)) << named << again;
    EXPECT_FALSE(says(recording, "/lib/of103")) << "nobody needs it: " << again;
  }
}

TEST_F(InheritedDictionaries, ParentsAreKnownTheNearestFirst) {
  auto writer = open();
  pass(*writer);
  tell(*writer, kEngine);
  tell(*writer, kShell, kEngine);
  tell(*writer, kChild, kShell);
  tell(*writer, kOther, kOther);
  const RecordingNumber recording = writer->recording();
  ASSERT_TRUE(writer->finish());
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  const auto parents = catalogue->parents_of(recording, kChild);
  ASSERT_TRUE(parents);
  EXPECT_EQ(*parents, (std::vector{kShell, kEngine}));
  EXPECT_TRUE(catalogue->parents_of(recording, kEngine)->empty());
  EXPECT_LE(catalogue->parents_of(recording, kOther)->size(), 1u) << "it says that it is its own parent";
}

}  // namespace
}  // namespace tailor::store
