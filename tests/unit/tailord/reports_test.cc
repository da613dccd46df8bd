// Reports of executions over the control socket: made beside everything else.
#include "daemon/tailord/reports.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <latch>
#include <nlohmann/json.hpp>

#include "daemon/query/json/report_json.h"
#include "daemon/query/reports/executions.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/store_writer.h"
#include "proto/control/reply_error.h"
#include "tests/support/sample_profile.h"

namespace tailor::tailord {
namespace {

// Takes the promises of a server, and waits for what is given.
class Asker {
 public:
  control::ControlServer::Promise promise() {
    return [this](std::chrono::milliseconds patience) -> Result<std::shared_ptr<control::LateReply>> {
      late = std::make_shared<control::LateReply>(std::make_shared<const UniqueFd>(),
                                                  Stop::Clock::now() + patience);
      return late;
    };
  }
  v1::ControlReply wait() const {
    for (;;) {
      if (auto reply = late->take()) return *reply;
      std::this_thread::yield();
    }
  }
  std::shared_ptr<control::LateReply> late;
};

const serve::Asker kUser{"user 1000", false};

class ReportsTest : public testing::Test {
 protected:
  ReportsTest() {
    std::filesystem::remove_all(directory_);
    auto writer = store::StoreWriter::open(directory_, {}, 1'700'000'000'000'000'000);
    EXPECT_TRUE(writer.ok());
    test::give_profile(**writer, 2);
    EXPECT_TRUE((*writer)->finish().ok());
    auto catalogue = open();
    EXPECT_TRUE(catalogue
                    ->visit_executions({},
                                       [&](const store::ExecutionRow& row) {
                                         rows_.push_back(row);
                                         return true;
                                       })
                    .ok());
    request_.add_executions(rows_.at(0).record.id.bytes.data(), rows_.at(0).record.id.bytes.size());
  }
  ~ReportsTest() override { std::filesystem::remove_all(directory_); }

  Result<store::Catalogue> open() const {
    return store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
  }

  const std::string directory_ = testing::TempDir() + "/reports_test." + std::to_string(::getpid());
  std::vector<store::ExecutionRow> rows_;
  v1::ReportRequest request_;
};

TEST_F(ReportsTest, AReportIsThatOfTheCommandLine) {
  Reports reports(directory_, [] { return Result<TimeNs>(4711); });
  Asker asker;
  ASSERT_TRUE(reports.start(request_, kUser, asker.promise()).ok());
  const v1::ControlReply reply = asker.wait();
  ASSERT_EQ(reply.error(), "");
  EXPECT_EQ(reply.report().time(), 4711);
  auto catalogue = open();
  auto loaded = query::load_executions(directory_, *catalogue, {rows_.data(), 1});
  ASSERT_TRUE(loaded.ok());
  loaded->selection.base = query::Base::kEverything;
  auto report = query::plan_report(loaded->profile, loaded->selection);
  ASSERT_TRUE(report.ok());
  EXPECT_GT(reply.report().samples(), 0u);
  EXPECT_EQ(reply.report().samples(), report->total.samples);
  EXPECT_EQ(reply.report().json(), query::to_json(loaded->profile, *report));
}

TEST_F(ReportsTest, AskingComesBackAtOnceAndALongReportCanBeCancelled) {
  std::latch begun(1), goes_on(1);
  Reports reports(directory_, [&] {
    begun.count_down();
    goes_on.wait();
    return Result<TimeNs>(1);
  });
  Asker asker;
  ASSERT_TRUE(reports.start(request_, kUser, asker.promise()).ok());
  begun.wait();
  EXPECT_FALSE(asker.late->take());
  asker.late->stop()->cancel();
  goes_on.count_down();
  EXPECT_NE(asker.wait().error().find("cancelled"), std::string::npos);
}

TEST_F(ReportsTest, WhatMakesNoSenseIsSaid) {
  Reports reports(directory_, [] { return Result<TimeNs>(1); });
  Asker asker;
  const auto error_of = [&](const v1::ReportRequest& request) {
    if (Status begun = reports.start(request, kUser, asker.promise()); !begun.ok()) return begun.error();
    return control::error_of(asker.wait());
  };
  EXPECT_EQ(error_of({}).kind, ErrorKind::kInvalid);
  v1::ReportRequest unknown;
  unknown.add_executions("0123456789abcdef");
  EXPECT_EQ(error_of(unknown).kind, ErrorKind::kNotFound);
  EXPECT_NE(error_of(unknown).message.find("30313233343536373839616263646566"), std::string::npos);
  unknown.set_executions(0, "short");
  EXPECT_EQ(error_of(unknown).kind, ErrorKind::kInvalid);
  v1::ReportRequest many;
  for (int i = 0; i < 1001; ++i) many.add_executions("0123456789abcdef");
  EXPECT_EQ(error_of(many).kind, ErrorKind::kInvalid);
}

TEST_F(ReportsTest, AFlushThatFailsIsTheAnswer) {
  Reports reports(directory_, [] { return Result<TimeNs>(unavailable("the disk is full")); });
  Asker asker;
  ASSERT_TRUE(reports.start(request_, kUser, asker.promise()).ok());
  EXPECT_EQ(asker.wait().error(), "the disk is full");
}

}  // namespace
}  // namespace tailor::tailord
