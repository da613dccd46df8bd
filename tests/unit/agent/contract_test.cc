// What <tailor/agent.h> promises of every function: null and zero are taken, and structs may grow.
#include <gtest/gtest.h>
#include <tailor/agent.h>
#include <tailor/dictionary.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace {

// Every function with null pointers and zero handles only.
void call_with_nothing() {
  EXPECT_NE(tailor_agent_abi_version(), 0u);
  tailor_agent_start(nullptr);  // runs already, or is disabled
  tailor_agent_pump();
  tailor_agent_connected();
  EXPECT_EQ(tailor_agent_barrier(0), 0);
  tailor_agent_get_counters(nullptr);
  EXPECT_EQ(tailor_agent_notice(UINT32_MAX), nullptr);
  tailor_tag_not_kept(TAILOR_TAGS_R15, nullptr);
  tailor_tag_not_kept(UINT32_MAX, "file.c");
  tailor_thread_register(nullptr);
  EXPECT_EQ(tailor_other_thread_add(0, nullptr, 0, 0, 0), nullptr);
  tailor_other_thread_remove(nullptr);
  tailor_thread_slot();
  EXPECT_EQ(tailor_thread_objects(nullptr), nullptr);
  tailor_thread_waits(nullptr);
  tailor_thread_anchor(nullptr);
  tailor_wait_names(nullptr, 1);
  tailor_blocked(0, 0, nullptr, 1);
  tailor_plan_new();
  EXPECT_LT(tailor_plan_load(0, nullptr, 1), 0);
  tailor_plan_unload(0);
  EXPECT_EQ(tailor_tag(nullptr, 0, 0), 0u);
  const tailor_plan_ids no_plan{};
  EXPECT_EQ(tailor_tag(&no_plan, 1, 1), 0u);
  tailor_code_new();
  EXPECT_LT(tailor_code_load(0, nullptr, 1), 0);
  EXPECT_LT(tailor_code_load_since(0, nullptr, 1, 0), 0);
  tailor_code_unload(0);
  tailor_execution_end(tailor_execution_begin(0, nullptr, 1), 0, nullptr);
  tailor_execution_end(0, 0, nullptr);
  tailor_runs_add(nullptr, 0, 0, 0);
  tailor_execution_end_runs(tailor_execution_begin(0, nullptr, 1), nullptr);
  tailor_execution_end_runs(0, nullptr);
  EXPECT_EQ(tailor_execution_tag_strategy(0), static_cast<std::uint32_t>(TAILOR_TAGS_NONE));
  tailor_execution_id(0, nullptr);
  std::uint8_t id[16], zero[16] = {};
  std::memset(id, 0xFF, sizeof id);
  tailor_execution_id(0, id);
  EXPECT_EQ(std::memcmp(id, zero, sizeof id), 0);
  tailor_work_save(nullptr);
  tailor_work_restore(nullptr);
  EXPECT_EQ(tailor_component_declare(nullptr), 0u);
  tailor_component_code(0, nullptr, nullptr);
  EXPECT_EQ(tailor_region_kind_declare(nullptr), 0u);
}

// The marks too. Those with a handle of 0 must not reach the log.
void mark_nothing() {
  tailor_mark_execution_begin(0, 0);
  tailor_mark_execution_end(0);
  tailor_mark_component_begin(0);
  tailor_mark_component_end(0);
  tailor_mark_iteration(0, 0);
  tailor_region_add(0, nullptr, 0);
}

// These have no handle: 0 is a number, or an address, like others.
void mark_zero() {
  tailor_mark_pipeline_begin(0);
  tailor_mark_pipeline_end(0);
  tailor_mark_morsel_begin(0, 0, 0);
  tailor_mark_morsel_end(0);
  tailor_region_remove(nullptr);
}

void build_nothing() {
  tailor_plan_builder_free(nullptr);
  EXPECT_EQ(tailor_plan_builder_error(nullptr), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_add_level(nullptr, nullptr), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_add_component(nullptr, 0, nullptr, nullptr), 0u);
  EXPECT_EQ(tailor_plan_builder_add_components(nullptr, 0, 0), 0u);
  EXPECT_EQ(tailor_plan_builder_set_owners(nullptr, 0, 0, nullptr, 1), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_add_input(nullptr, 0, 0, 0), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_set_text(nullptr, 0, 0, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_set_number(nullptr, 0, 0, nullptr, 0), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_add_pipeline(nullptr, nullptr, 0), 0u);
  EXPECT_EQ(tailor_plan_builder_add_task(nullptr, 0, 0), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_add_dependency(nullptr, 0, 0), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_set_tag_levels(nullptr, 0, 0), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_attach(nullptr, nullptr, nullptr, 1), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_load(nullptr, 0), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_serialise(nullptr, nullptr, 0), 0u);
  tailor_code_builder_free(nullptr);
  EXPECT_EQ(tailor_code_builder_error(nullptr), -EINVAL);
  EXPECT_EQ(tailor_code_builder_set_name(nullptr, nullptr), -EINVAL);
  EXPECT_EQ(tailor_code_builder_set_tier(nullptr, nullptr), -EINVAL);
  EXPECT_EQ(tailor_code_builder_set_code(nullptr, nullptr, 1), -EINVAL);
  EXPECT_EQ(tailor_code_builder_leave_code_out(nullptr), -EINVAL);
  EXPECT_EQ(tailor_code_builder_add_row(nullptr, 0, nullptr, 1, 0), -EINVAL);
  EXPECT_EQ(tailor_code_builder_add_symbol(nullptr, 0, 0, nullptr), -EINVAL);
  EXPECT_EQ(tailor_code_builder_set_eh_frame(nullptr, nullptr, 1, nullptr), -EINVAL);
  EXPECT_EQ(tailor_code_builder_attach(nullptr, nullptr, nullptr, 1), -EINVAL);
  EXPECT_EQ(tailor_code_builder_load(nullptr, 0), -EINVAL);
  EXPECT_EQ(tailor_code_builder_load_since(nullptr, 0, 0), -EINVAL);
  EXPECT_EQ(tailor_code_builder_serialise(nullptr, nullptr, 0), 0u);
}

// Builders that are there, given nothing.
void give_builders_nothing() {
  tailor_plan_builder* plan = tailor_plan_builder_new(nullptr);
  EXPECT_EQ(tailor_plan_builder_add_level(plan, nullptr), 0);
  EXPECT_EQ(tailor_plan_builder_add_component(plan, 0, nullptr, nullptr), 1u);
  EXPECT_EQ(tailor_plan_builder_set_text(plan, 0, 1, nullptr, nullptr), 0);
  EXPECT_LT(tailor_plan_builder_load(plan, 0), 0);
  tailor_plan_builder_free(plan);
  tailor_code_builder* code = tailor_code_builder_new(0, nullptr, 0);
  EXPECT_EQ(tailor_code_builder_error(code), -EINVAL);
  EXPECT_LT(tailor_code_builder_load(code, 0), 0);
  tailor_code_builder_free(code);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The functions that the header declares.
std::set<std::string> declared_in(const std::string& header) {
  const std::regex function("\\b(tailor_[a-z_]+)\\(");
  std::set<std::string> names;
  const std::string text = text_of(TAILOR_AGENT_HEADERS "/" + header);
  for (std::size_t at = text.find("TAILOR_EXPORT "); at != std::string::npos;
       at = text.find("TAILOR_EXPORT ", at + 1)) {
    std::smatch found;
    const std::string declaration = text.substr(at, text.find(';', at) - at);
    if (std::regex_search(declaration, found, function)) names.insert(found[1]);
  }
  return names;
}

std::uint64_t log_records() {
  tailor_agent_counters counters{};
  counters.size = sizeof counters;
  tailor_agent_get_counters(&counters);
  return counters.log_records;
}

class RunningAgent : public testing::Test {
 protected:
  void SetUp() override {
    tailor_agent_options options{};
    options.size = sizeof options;
    options.socket_path = "/nonexistent/agent.sock";
    options.queue_bytes = 4 << 20;
    options.log_records = 256;
    ASSERT_EQ(tailor_agent_start(&options), 0);
  }
  void TearDown() override { tailor_agent_stop(0); }
};

TEST(Contract, EveryFunctionTakesNothingWithoutAnAgent) {
  ::setenv("TAILOR_DISABLE", "1", 1);
  call_with_nothing();
  mark_nothing();
  mark_zero();
  build_nothing();
  give_builders_nothing();
  tailor_agent_stop(0);
  ::unsetenv("TAILOR_DISABLE");
}

TEST_F(RunningAgent, EveryFunctionTakesNothing) {
  call_with_nothing();
  build_nothing();
  give_builders_nothing();
  const std::uint64_t before = log_records();
  mark_nothing();
  EXPECT_EQ(log_records(), before);
  mark_zero();
  EXPECT_EQ(log_records(), before + 5);
}

TEST(Contract, NoFunctionIsForgottenHere) {
  const std::string here = text_of(__FILE__);
  for (const char* header : {"agent.h", "dictionary.h"}) {
    const std::set<std::string> functions = declared_in(header);
    EXPECT_GT(functions.size(), 20u);
    for (const std::string& name : functions) EXPECT_NE(here.find(name + "("), std::string::npos) << name;
  }
  EXPECT_EQ(here.find(std::string("tailor_no_such") + "_function("), std::string::npos);
}

TEST_F(RunningAgent, FieldsThatACallerLacksAreNotTouched) {
  tailor_agent_counters older;
  std::memset(&older, 0x55, sizeof older);
  older.size = offsetof(tailor_agent_counters, connect_error);
  tailor_agent_get_counters(&older);
  EXPECT_EQ(older.messages_sent, 0u);
  EXPECT_EQ(older.connect_error, 0x5555'5555'5555'5555u);
}

TEST_F(RunningAgent, FieldsThatACallerLacksHaveTheirDefault) {
  tailor_region_kind whole{};
  whole.size = sizeof whole;
  whole.name = "column";
  tailor_region_kind older = whole;
  older.size = offsetof(tailor_region_kind, element_bytes);
  older.element_bytes = 8;  // behind the end of what this caller knows
  EXPECT_EQ(tailor_region_kind_declare(&older), tailor_region_kind_declare(&whole));
  older.size = sizeof older;
  EXPECT_NE(tailor_region_kind_declare(&older), tailor_region_kind_declare(&whole));
}

TEST(Contract, OptionsThatACallerLacksHaveTheirDefault) {
  tailor_agent_options older{};
  older.size = offsetof(tailor_agent_options, flags);
  older.socket_path = "/nonexistent/agent.sock";
  older.flags = UINT32_MAX;  // no such flags, behind the end of what this caller knows
  EXPECT_EQ(tailor_agent_start(&older), 0);
  tailor_agent_stop(0);
  older.size = sizeof older;
  EXPECT_EQ(tailor_agent_start(&older), -EINVAL);
}

TEST_F(RunningAgent, AFibersWorkIsARecordForEachOpenMark) {
  tailor_saved_work work{};
  work.size = sizeof work;
  tailor_work_restore(&work);  // of a fiber that is new
  tailor_mark_execution_begin(1, 1);
  tailor_mark_pipeline_begin(2);
  *tailor_thread_slot() = 77;
  const std::uint64_t before = log_records();
  tailor_saved_work older = work;
  older.size = sizeof older - 1;
  tailor_work_save(&older);
  EXPECT_EQ(log_records(), before) << "there is no room for what is saved";
  tailor_work_save(&work);
  EXPECT_EQ(log_records(), before + 2);
  EXPECT_EQ(work.count, 2u);
  EXPECT_EQ(work.tag, 77u);
  EXPECT_EQ(*tailor_thread_slot(), 0u);
  tailor_work_restore(&work);
  EXPECT_EQ(log_records(), before + 4);
  EXPECT_EQ(*tailor_thread_slot(), 77u);
  tailor_work_save(&work);
}

TEST_F(RunningAgent, FieldsThatTheLibraryLacksAreIgnored) {
  struct {
    tailor_agent_counters known;
    std::uint64_t more;
  } newer{};
  newer.known.size = sizeof newer;
  newer.more = 7;
  tailor_agent_get_counters(&newer.known);
  EXPECT_EQ(newer.known.size, sizeof newer);
  EXPECT_EQ(newer.more, 7u);
}

}  // namespace
