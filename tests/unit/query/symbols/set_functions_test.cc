// Hidden functions of a stripped library get the names of those who put their addresses somewhere.
#include "daemon/query/symbols/set_functions.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <memory>

#include "daemon/query/symbols/elf_functions.h"

namespace tailor::query {
namespace {

using Method = int (*)(int);
struct Object {
  Method run = nullptr, shared = nullptr;
};

class SetFunctionsTest : public testing::Test {
 protected:
  void SetUp() override {
    library_.reset(::dlopen(TAILOR_HIDDEN_METHODS, RTLD_NOW));
    ASSERT_NE(library_, nullptr) << ::dlerror();
    link_map* loaded = nullptr;
    ASSERT_EQ(::dlinfo(library_.get(), RTLD_DI_LINKMAP, &loaded), 0);
    base_ = loaded->l_addr;
  }

  static ElfFunctions read(const std::vector<std::string>& setters) {
    auto read = read_elf_functions(TAILOR_HIDDEN_METHODS, {}, "/nonexistent", setters);
    EXPECT_TRUE(read.ok());
    return read.ok() ? *std::move(read) : ElfFunctions{};
  }

  template <typename Function>
  Function exported(const char* name) const {
    return reinterpret_cast<Function>(::dlsym(library_.get(), name));
  }
  Object made_by(const char* name) const {
    Object object;
    exported<void (*)(Object*)>(name)(&object);
    return object;
  }

  // "" none.
  std::string name_of(const ElfFunctions& functions, Method method) const {
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(method) - base_;
    const auto found = std::ranges::find(functions.functions, address, &ElfFunction::begin);
    return found == functions.functions.end() ? "" : found->name;
  }

  struct Close {
    void operator()(void* library) const { ::dlclose(library); }
  };
  std::unique_ptr<void, Close> library_;
  std::uint64_t base_ = 0;
};

TEST_F(SetFunctionsTest, AMethodHasTheNameOfWhoSetIt) {
  const ElfFunctions functions = read({"init_*"});
  EXPECT_EQ(name_of(functions, made_by("init_sort").run), "[set by init_sort]");
  EXPECT_EQ(name_of(functions, made_by("init_scan").run), "[set by init_scan]");
}

TEST_F(SetFunctionsTest, SoHasWhatAMethodSets) {
  made_by("init_scan").run(1);
  const Method next = *exported<Method*>("called");
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(name_of(read({"init_scan"}), next), "[set by init_scan]");
}

TEST_F(SetFunctionsTest, SoHasWhatAMethodEndsWithByAJump) {
  const ElfFunctions functions = read({"init_jump"});
  EXPECT_EQ(std::ranges::count(functions.functions, "[set by init_jump]", &ElfFunction::name), 2);
}

TEST_F(SetFunctionsTest, SoHaveThoseWhoseAddressesAreConstants) {
  const Object object = made_by("init_two");
  const ElfFunctions functions = read({"init_two"});
  EXPECT_EQ(name_of(functions, object.run), "[set by init_two]");
  EXPECT_EQ(name_of(functions, object.shared), "[set by init_two]");
}

TEST_F(SetFunctionsTest, WhatSeveralSetHasNoName) {
  const Method shared = made_by("init_sort").shared;
  EXPECT_EQ(name_of(read({"init_*"}), shared), "");
  EXPECT_EQ(name_of(read({"init_sort"}), shared), "[set by init_sort]");
}

TEST_F(SetFunctionsTest, OnlyThoseThatAreAskedForCount) {
  EXPECT_EQ(name_of(read({"init_*"}), made_by("not_asked_for").run), "");
  EXPECT_EQ(name_of(read({}), made_by("init_sort").run), "");
}

TEST_F(SetFunctionsTest, ExportedFunctionsKeepTheirNamesAndTheOrderStays) {
  const ElfFunctions functions = read({"*"});
  EXPECT_TRUE(std::ranges::is_sorted(functions.functions, {}, &ElfFunction::begin));
  for (const char* name : {"init_sort", "init_scan", "not_asked_for"}) {
    const auto named = std::ranges::count(functions.functions, name, &ElfFunction::name);
    EXPECT_EQ(named, 1) << name;
  }
  for (const ElfFunction& function : functions.functions) EXPECT_LT(function.begin, function.end);
}

}  // namespace
}  // namespace tailor::query
