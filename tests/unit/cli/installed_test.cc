#include "viewer/cli/installed.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace tailor::cli {
namespace {

namespace fs = std::filesystem;

class InstalledTest : public testing::Test {
 protected:
  InstalledTest() : root_(fs::path(testing::TempDir()) / ("installed_" + std::to_string(::getpid()))) {
    fs::create_directories(root_);
    std::ofstream(root_ / "security.md") << "x";
    std::ofstream(root_ / "duckdb.toml") << "x";
  }
  ~InstalledTest() override { fs::remove_all(root_); }
  std::string at(const char* name) const { return (root_ / name).string(); }

  fs::path root_;
};

TEST_F(InstalledTest, PagesThatAreThereAreNamedByTheirPlace) {
  const auto shown = [&](const char* text) { return with_document_paths(text, root_); };
  EXPECT_EQ(shown("a token is needed (docs/security.md, \"Tokens\")"),
            "a token is needed (" + at("security.md") + ", \"Tokens\")");
  EXPECT_EQ(shown("so it is (see docs/security.md and docs/nothing.md)"),
            "so it is (see " + at("security.md") + " and docs/nothing.md)");
  EXPECT_EQ(shown("a rule ([[x]] (y), docs/security.md) counts"),
            "a rule ([[x]] (y), " + at("security.md") + ") counts");
}

TEST_F(InstalledTest, FilesThatTheUserNamedKeepTheirNames) {
  for (const char* text :
       {"docs/security.md", "docs/security.md: this is not a Tailor profile",
        "cannot read docs/security.md: x", "there is no rule \"docs/security.md\" (there is none)",
        "(a token) docs/security.md", ") docs/security.md"})
    EXPECT_EQ(with_document_paths(text, root_), text);
  EXPECT_EQ(with_document_paths("docs/security.md: no token (docs/security.md)", root_),
            "docs/security.md: no token (" + at("security.md") + ")");
}

TEST_F(InstalledTest, OtherTextStaysAsItIs) {
  for (const char* text : {"", "(docs/", "(docs/.md)", "(docs/../security.md)", "(/my/docs/security.md)",
                           "(mydocs/security.md)", "(docs/security.mk)", "(docs/docs/security.md)"})
    EXPECT_EQ(with_document_paths(text, root_), text);
  EXPECT_EQ(with_document_paths("(docs/security.md)", {}), "(docs/security.md)") << "no installation";
}

TEST_F(InstalledTest, RulesAreFoundByName) {
  EXPECT_EQ(find_rules("duckdb.toml", root_), at("duckdb.toml"));
  EXPECT_EQ(find_rules("duckdb", root_), at("duckdb.toml"));
  EXPECT_EQ(find_rules("./duckdb.toml", root_), "./duckdb.toml") << "a path is a path";
  EXPECT_EQ(find_rules("missing.toml", root_), "missing.toml") << "the error names what was typed";
  EXPECT_EQ(find_rules("..", root_), "..");
}

}  // namespace
}  // namespace tailor::cli
