// What a view of several runs leaves out is said in the answer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "daemon/profile/forwarding_sink.h"
#include "daemon/serve/service.h"
#include "daemon/store/store_writer.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

// The sample profile as that of a recording in which a share of the executions is sampled.
class OfShare : public profile::ForwardingSink {
 public:
  OfShare(profile::ProfileSink& out, std::uint32_t ppm, std::uint8_t id)
      : ForwardingSink(out), ppm_(ppm), id_(id) {}
  void on_recording(const profile::RecordingInfo& v) override {
    profile::RecordingInfo info = v;
    info.drawn_ppm = ppm_;
    out_.on_recording(info);
  }
  void on_execution(const profile::ExecutionRecord& v) override {
    profile::ExecutionRecord execution = v;
    execution.id.bytes.fill(id_);
    out_.on_execution(execution);
  }

 private:
  const std::uint32_t ppm_;
  const std::uint8_t id_;
};

class ViewNotesTest : public testing::Test {
 protected:
  ViewNotesTest() { std::filesystem::remove_all(directory_); }
  ~ViewNotesTest() override { std::filesystem::remove_all(directory_); }

  void record(std::uint32_t ppm, std::uint8_t id) {
    auto writer = store::StoreWriter::open(directory_, {}, 1'700'000'000'000'000'000);
    ASSERT_TRUE(writer);
    OfShare sink(**writer, ppm, id);
    test::give_profile(sink, 2);
    ASSERT_TRUE((*writer)->finish());
  }
  Json ask(const Request& request) {
    const auto library = open_store_library(directory_, {});
    Service service(*library, ServiceOptions{"test", {}});
    auto answer = service.answer(request, Access::everything(), Stop());
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    return answer ? std::move(*answer) : Json::object();
  }
  // Of the query, as a view and as its own answer.
  std::pair<Json, Json> ask_both() {
    const std::string query = ask(FingerprintsRequest{})["fingerprints"][0]["fingerprint"];
    Target runs{Target::What::kFiltered, 0, {}, {}};
    runs.filter.fingerprint = query;
    return {ask(ViewRequest{runs, {}, ProfileView{}}), ask(FingerprintRequest{query, {}})};
  }

  const std::string directory_ = testing::TempDir() + "/view_notes_test." + std::to_string(::getpid());
};

TEST_F(ViewNotesTest, RunsOfAnotherShareAreLeftOutAndItIsSaid) {
  record(1000, 0xE1);
  record(0, 0xE2);
  auto [view, query] = ask_both();
  ASSERT_EQ(view["view"]["notes"].size(), 1u);
  const std::string note = view["view"]["notes"][0];
  EXPECT_EQ(note.find("1 execution is left out: another share of the executions was sampled then"), 0u)
      << note;
  EXPECT_EQ(query["runs"]["notes"], view["view"]["notes"]);
}

TEST_F(ViewNotesTest, WhereNothingIsLeftOutNothingIsSaid) {
  record(0, 0xE1);
  record(0, 0xE2);
  auto [view, query] = ask_both();
  EXPECT_FALSE(view["view"].contains("notes"));
  EXPECT_EQ(view["view"]["runs"]["executions"], 2);
  EXPECT_EQ(query["runs"]["notes"], Json::array());
}

}  // namespace
}  // namespace tailor::serve
