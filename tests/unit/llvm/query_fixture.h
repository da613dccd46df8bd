// A small plan and what is needed to generate, compile and inspect code for it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/llvm/jit.h"
#include "compiler/llvm/query_module.h"
#include "tailor/tag.h"

namespace tailor::jit {

inline constexpr std::uint64_t kTestKey = 0x1234;

// Operators 1 scan, 2 join, 3 aggregate; tasks 1 read (scan), 2 probe (join), 3 build (join), 4 sum
// (aggregate).
class QueryFixture : public ::testing::Test {
 protected:
  static constexpr ComponentId kRead = 1, kProbe = 2, kBuild = 3, kSum = 4;

  QueryFixture() {
    for (const char* name : {"scan", "join", "aggregate"}) plan_.add(0, {.name = name});
    const ComponentId operators[] = {1, 2, 2, 3};
    const char* tasks[] = {"read", "probe", "build", "sum"};
    for (int i = 0; i < 4; ++i) plan_.add(1, {.name = tasks[i]}, {&operators[i], 1});
  }

  void open(QueryModuleOptions options = {}) {
    options.make_tag = [](ComponentId upper, ComponentId lower) { return tag(upper, lower); };
    module_ = std::make_unique<QueryModule>(plan_, std::move(options));
  }
  static std::uint64_t tag(ComponentId upper, ComponentId lower) {
    return tailor_tag_make(kTestKey, 1, 1, upper, lower);
  }

  TrackedBuilder& b() { return module_->builder(); }
  llvm::Type* i64() { return b().getInt64Ty(); }

  std::unique_ptr<CompiledModule> compile(OptLevel level) {
    auto sealed = module_->seal();
    if (!sealed) ADD_FAILURE() << sealed.error().message;
    return compile(std::move(*sealed), level);
  }
  std::unique_ptr<CompiledModule> compile(SealedModule sealed, OptLevel level) {
    if (jit_ == nullptr) jit_ = std::move(*Jit::create());
    for (const auto& [name, address] : runtime_) assert_ok(jit_->define(name, address));
    runtime_.clear();
    auto compiled = jit_->compile(std::move(sealed), {.level = level});
    if (!compiled) ADD_FAILURE() << compiled.error().message;
    return compiled.ok() ? std::move(*compiled) : nullptr;
  }
  static void assert_ok(const Status& status) { ASSERT_TRUE(status.ok()) << status.error().message; }

  // The tasks that own the byte at `offset`.
  std::vector<ComponentId> tasks_at(const CompiledModule& code, std::uint32_t offset) const {
    const auto& rows = code.rows().rows();
    auto it = std::upper_bound(rows.begin(), rows.end(), offset,
                               [](std::uint32_t at, const tagging::Row& row) { return at < row.offset; });
    if (it == rows.begin()) return {};
    std::vector<ComponentId> ids, tasks;
    code.rows().pool().expand(std::prev(it)->link, ids);
    for (ComponentId id : ids) {
      auto owners = plan_.owners(2, id);
      tasks.insert(tasks.end(), owners.begin(), owners.end());
    }
    std::sort(tasks.begin(), tasks.end());
    tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
    return tasks;
  }

  tagging::DictionaryBuilder plan_{"test", {"operator", "task", "ir"}};
  std::map<std::string, const void*> runtime_;
  std::unique_ptr<Jit> jit_;  // before what it compiles is kept in tests: declared there
  std::unique_ptr<QueryModule> module_;
};

}  // namespace tailor::jit
