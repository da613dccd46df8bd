// The workflows that come with weft, compiled by clang; and workflows that are kept as bitcode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "compiler/weft/workflow/clang.h"
#include "compiler/weft/workflow/explain_workflow.h"
#include "compiler/weft/workflow/workflow_library.h"
#include "tests/unit/weft/workflow/workflow_fixture.h"

namespace tailor::weft::workflow {
namespace {

using testing::HasSubstr;

class WorkflowLibrary : public WorkflowFixture {
 protected:
  void SetUp() override {
    if (auto clang = find_clang(""); !clang.ok()) GTEST_SKIP() << clang.error().message;
  }

  // What the shown contexts hold after a run; empty if something failed.
  std::vector<ContextValues> shown(const OpenedWorkflow& opened, unsigned workers) {
    auto images = load_images(opened.workflow, opened.files, "");
    EXPECT_TRUE(images.ok()) << images.error().message;
    if (!images.ok()) return {};
    auto compiled = CompiledWorkflow::make(opened.workflow, *images, engine(), {});
    EXPECT_TRUE(compiled.ok()) << compiled.error().message;
    if (!compiled.ok()) return {};
    WorkerPool pool(workers);
    auto outcome = run_workflow(**compiled, opened.files, pool, {});
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    return outcome.ok() ? outcome->shown : std::vector<ContextValues>();
  }
};

// Enough rows that several workers have some.
TEST_F(WorkflowLibrary, AllComeToTheSameOnOneAndOnThreeWorkers) {
  const std::map<std::string, Settings> workflows = {
      {"kmeans", {{"points_made", 50'000}}},
      {"pagerank", {{"vertices", 1000}, {"edges_made", 50'000}}},
      {"logistic-regression", {{"rows_made", 50'000}}},
      {"naive-bayes", {{"rows_made", 50'000}}}};
  for (const auto& [name, settings] : workflows) {
    EXPECT_THAT(library_names(), HasSubstr(name));
    auto opened = open_workflow(name, settings);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const std::vector<ContextValues> one = shown(*opened, 1), three = shown(*opened, 3);
    ASSERT_FALSE(one.empty()) << name;
    ASSERT_EQ(one.size(), three.size()) << name;
    for (std::size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(one[i].bytes.size(), three[i].bytes.size());
      const std::size_t values = one[i].bytes.size() / scalar_bytes(one[i].scalar);
      for (std::size_t k = 0; k < values; ++k) {
        const double a = one[i].real(k), b = three[i].real(k);
        ASSERT_TRUE(std::isfinite(a)) << name << ": " << one[i].name;
        // The change of ranks is near 0, where only its distance from it counts.
        ASSERT_NEAR(a, b, 1e-9 * std::max(1.0, std::abs(a))) << name << ": " << one[i].name << " " << k;
      }
    }
  }
}

TEST_F(WorkflowLibrary, BitcodeRunsWithoutClang) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("weft_workflow." + std::to_string(::getpid()));
  auto opened = open_workflow("kmeans", {});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  auto stored = store_workflow(*opened, "", folder.string());
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  EXPECT_EQ(*stored, (folder / "kmeans.wf").string());
  EXPECT_TRUE(std::filesystem::exists(folder / "kmeans.bc"));
  // What is kept does not take the place of what it was made from.
  auto kept = open_workflow(*stored, {});
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  auto over_itself = store_workflow(*kept, "", folder.string());
  ASSERT_FALSE(over_itself.ok());
  EXPECT_THAT(over_itself.error().message, HasSubstr("kmeans.wf would be overwritten"));
  const Settings few{{"points_made", 1000}};
  auto again = open_workflow(*stored, few);
  ASSERT_TRUE(again.ok()) << again.error().message;
  auto images = load_images(again->workflow, again->files, "/nonexistent/clang");
  ASSERT_TRUE(images.ok()) << images.error().message;
  EXPECT_EQ(image_version(images->at(0).bytes).substr(0, 3), "19.");
  auto direct = open_workflow("kmeans", few);
  ASSERT_TRUE(direct.ok()) << direct.error().message;
  const std::vector<ContextValues> a = shown(*direct, 1), b = shown(*again, 1);
  ASSERT_FALSE(a.empty());
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(a[0].bytes, b[0].bytes);
  std::filesystem::remove_all(folder);
}

TEST_F(WorkflowLibrary, ExplainSaysWhatIsMadeOfThem) {
  auto opened = open_workflow("kmeans", {});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  auto images = load_images(opened->workflow, opened->files, "");
  ASSERT_TRUE(images.ok()) << images.error().message;
  auto text = explain_workflow(opened->workflow, *images, 2, HostSpeed{3, 8, 1 << 20});
  ASSERT_TRUE(text.ok()) << text.error().message;
  for (const char* part :
       {"workflow kmeans (kmeans.wf), on 2 workers", "input points(p f64[10]), 80 bytes a tuple",
        "loop lloyd, line 16, at most 20 iterations", "nearest: ", "2 copies of 800 bytes",
        "clock 3.00 cycles a ns, memory read by one of 2 workers 8.00 bytes a ns",
        "memory of inputs: 80 bytes loaded and 0 bytes stored a tuple",
        "memory of inputs: 0 bytes loaded and 80 bytes stored a tuple", "bound"})
    EXPECT_THAT(text->text, HasSubstr(part));
  EXPECT_EQ(text->functions.size(), 4u) << "make_point and the three of the pipeline";
}

TEST_F(WorkflowLibrary, WhatClangRefusesKeepsItsPlace) {
  auto clang = find_clang("");
  ASSERT_TRUE(clang.ok());
  auto refused = compile_cxx(*clang, {"broken.cc", "", "int f() {\n  return nothing;\n}\n"});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("broken.cc:2:10: error"));
}

TEST(WorkflowFiles, WhatIsNotThereIsNamed) {
  auto opened = open_workflow("nothing-of-that-name", {});
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message, HasSubstr("kmeans, logistic-regression, naive-bayes, pagerank"));
  EXPECT_THAT(find_clang("/nonexistent/clang").error().message, HasSubstr("is no program"));
  auto workflow =
      parse_workflow("workflow w\nudf \"f.txt\"\ncontext c f64\nupdate f(c) into c\n", "w.wf", {});
  ASSERT_TRUE(workflow.ok());
  EXPECT_THAT(load_images(*workflow, files_beside("/nonexistent/w.wf"), "").error().message,
              HasSubstr("w.wf:2:1: \"f.txt\" has no known ending"));
  workflow = parse_workflow("workflow w\nudf \"f.bc\"\ncontext c f64\nupdate f(c) into c\n", "w.wf", {});
  ASSERT_TRUE(workflow.ok());
  EXPECT_THAT(load_images(*workflow, files_beside("/nonexistent/w.wf"), "").error().message,
              HasSubstr("w.wf:2:1: cannot read /nonexistent/f.bc"));
}

}  // namespace
}  // namespace tailor::weft::workflow
