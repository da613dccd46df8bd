// The values of the tables are read by DuckDB in tests/e2e/parquet.py. Here: which tables there are, with how
// many rows, and what happens where something fails.
#include "daemon/export/sample_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/errors.h"
#include "tests/unit/export/loaded_sample_profile.h"

namespace tailor::exporter {
namespace {

using ::testing::UnorderedElementsAre;

struct Tables {
  std::map<std::string, std::string> bytes;  // by name
  std::set<std::string> closed;
  std::string fails;   // the table whose file cannot be written
  std::string absent;  // the one whose file cannot be made

  struct File : TableFile {
    File(Tables& tables, std::string name) : tables_(tables), name_(std::move(name)) {}
    Status write(std::string_view bytes) override {
      if (name_ == tables_.fails) return os_error("cannot write", ENOSPC);
      tables_.bytes[name_] += bytes;
      return Ok{};
    }
    Status close() override {
      tables_.closed.insert(name_);
      return Ok{};
    }
    Tables& tables_;
    std::string name_;
  };

  OpenTable open() {
    return [this](const std::string& name) -> Result<std::unique_ptr<TableFile>> {
      if (name == absent) return os_error("cannot make", EACCES);
      bytes[name];
      return std::unique_ptr<TableFile>(std::make_unique<File>(*this, name));
    };
  }
};

constexpr const char* kProducer = "tailor version 1";

TEST(SampleTable, EverySampleIsARow) {
  const query::Profile profile = test::sample_profile();
  Tables tables;
  const auto rows = write_samples(profile, {}, {.producer = kProducer, .fingerprint = {}}, tables.open());
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(*rows, test::kRounds * test::kSamplesOfRound);
  EXPECT_THAT(tables.closed, UnorderedElementsAre("samples", "owners", "stacks"));
  for (const auto& [name, bytes] : tables.bytes) {
    EXPECT_TRUE(bytes.starts_with("PAR1") && bytes.ends_with("PAR1")) << name;
    EXPECT_NE(bytes.find(kProducer), std::string::npos) << name;
  }
}

TEST(SampleTable, HasTheChosenSamplesOnly) {
  const query::Profile profile = test::sample_profile();
  Tables tables;
  ParquetOptions options{.producer = kProducer, .fingerprint = {}};
  options.keep = [](const query::TimedSample& sample) { return sample.key->engine_component != 0; };
  const auto rows = write_samples(profile, {}, options, tables.open());
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(*rows, 2u * test::kRounds);
}

TEST(SampleTable, AsksForTheFingerprintOfEachExecution) {
  const query::Profile profile = test::sample_profile();
  Tables tables;
  std::set<ExecutionHandle> asked;
  const auto fingerprint = [&](ProcessId process, ExecutionHandle execution) {
    EXPECT_EQ(process, tailor::test::kSampleProcess);
    asked.insert(execution);
    return std::string("f1");
  };
  ASSERT_TRUE(write_samples(profile, {}, {.producer = kProducer, .fingerprint = fingerprint}, tables.open()));
  EXPECT_THAT(asked, UnorderedElementsAre(tailor::test::kSampleExecution));
}

// Files that are there stay where there is nothing to replace them.
TEST(SampleTable, WithoutSamplesNoFileIsMade) {
  const query::Profile without =
      test::load([](profile::ProfileSink& sink) { tailor::test::give_context(sink); });
  const query::Profile profile = test::sample_profile();
  Tables tables;
  EXPECT_FALSE(write_samples(without, {}, {.producer = kProducer, .fingerprint = {}}, tables.open()));
  query::Selection other;
  other.source = 7;
  EXPECT_FALSE(write_samples(profile, other, {.producer = kProducer, .fingerprint = {}}, tables.open()));
  EXPECT_TRUE(tables.bytes.empty());
}

TEST(SampleTable, AFailureOfAnyFileIsSaid) {
  const query::Profile profile = test::sample_profile();
  for (const char* name : {"samples", "owners", "stacks"}) {
    for (const bool made : {true, false}) {
      Tables tables;
      (made ? tables.fails : tables.absent) = name;
      const auto rows = write_samples(profile, {}, {.producer = kProducer, .fingerprint = {}}, tables.open());
      ASSERT_FALSE(rows) << name;
      EXPECT_EQ(rows.error().code, made ? ENOSPC : EACCES) << name;
      EXPECT_FALSE(tables.closed.contains(name));
    }
  }
}

}  // namespace
}  // namespace tailor::exporter
