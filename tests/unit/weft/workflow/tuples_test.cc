#include "compiler/weft/workflow/tuples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/weft/runtime/query_error.h"
#include "compiler/weft/workflow/parser.h"

namespace tailor::weft::workflow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The input that a declaration makes.
Input input_of(const std::string& declaration) {
  auto workflow =
      parse_workflow("workflow w\ncontext c f64\n" + declaration + "\nupdate f(c) into c\n", "test.wf", {});
  EXPECT_TRUE(workflow.ok()) << workflow.error().message;
  return workflow.ok() ? workflow->inputs.at(0) : Input();
}

template <typename T>
std::vector<T> column_of(const Tuples& tuples, std::size_t field, std::size_t values) {
  std::vector<T> out(values);
  std::memcpy(out.data(), tuples.column(field), values * sizeof(T));
  return out;
}

std::string error_of_tuples(const Input& input, const std::string& bytes) {
  MemoryAccount account(1 << 20);
  auto tuples = read_tuples(input, bytes, std::vector<RegionKind>(input.fields.size(), 0), account);
  EXPECT_FALSE(tuples.ok());
  return tuples.ok() ? std::string() : tuples.error().message;
}

std::string npy(const std::string& header, const std::string& data) {
  const std::string padded = header + "\n";
  std::string bytes = "\x93NUMPY";
  bytes += '\1';
  bytes += '\0';
  bytes += static_cast<char>(padded.size() & 0xff);
  bytes += static_cast<char>(padded.size() >> 8);
  return bytes + padded + data;
}

template <typename T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST(WorkflowTuples, ReadsCommaSeparatedNumbers) {
  const Input input = input_of("input t(p f64[2], k i32) from \"t.csv\"");
  MemoryAccount account(1 << 20);
  auto tuples = read_tuples(input, "x,y,k\n1, 2.5,3\r\n\n-4,1e3,7\n", {0, 0}, account);
  ASSERT_TRUE(tuples.ok()) << tuples.error().message;
  EXPECT_EQ(tuples->rows(), 2u);
  EXPECT_THAT(column_of<double>(*tuples, 0, 4), ElementsAre(1, 2.5, -4, 1000));
  EXPECT_THAT(column_of<std::int32_t>(*tuples, 1, 2), ElementsAre(3, 7));
  EXPECT_GT(account.used(), 0u);
}

TEST(WorkflowTuples, SaysWhichLineIsWrong) {
  const Input input = input_of("input t(p f64[2], k i32) from \"t.csv\"");
  EXPECT_EQ(error_of_tuples(input, "1,2,3\n1,2\n"),
            "t.csv:2: a tuple of t has 3 numbers, and this line has fewer");
  EXPECT_EQ(error_of_tuples(input, "1,2,3,4\n"),
            "t.csv:1: a tuple of t has 3 numbers, and this line has more");
  EXPECT_EQ(error_of_tuples(input, "a,b,c\n1,x,3\n"), "t.csv:2: 'x' is no f64 for the field p");
  EXPECT_EQ(error_of_tuples(input, "1,2,3.5\n"), "t.csv:1: '3.5' is no i32 for the field k");
  EXPECT_EQ(error_of_tuples(input, "1,2,3000000000\n"), "t.csv:1: '3000000000' is no i32 for the field k");
  EXPECT_EQ(error_of_tuples(input, "9007199254740993,2,3\n"),
            "t.csv:1: '9007199254740993' is no f64 for the field p");
}

TEST(WorkflowTuples, ReadsArraysOfNumpy) {
  const Input input = input_of("input t(p f64[2], k i64) from \"t.npy\"");
  MemoryAccount account(1 << 20);
  const std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
  auto tuples = read_tuples(input, npy(header, raw<double>({1, 2.5, 3, 4, 5, 6})), {0, 0}, account);
  ASSERT_TRUE(tuples.ok()) << tuples.error().message;
  EXPECT_THAT(column_of<double>(*tuples, 0, 4), ElementsAre(1, 2.5, 4, 5));
  EXPECT_THAT(column_of<std::int64_t>(*tuples, 1, 2), ElementsAre(3, 6));
  const Input single = input_of("input t(v f32) from \"t.npy\"");
  auto whole = read_tuples(
      single, npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", raw<std::int32_t>({-1, 8})),
      {0}, account);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_THAT(column_of<float>(*whole, 0, 2), ElementsAre(-1, 8));
}

TEST(WorkflowTuples, DamagedArraysAreErrors) {
  const Input input = input_of("input t(p f64[2], k i64) from \"t.npy\"");
  const std::string data = raw<double>({1, 2, 3});
  EXPECT_THAT(error_of_tuples(input, "1,2,3\n"), HasSubstr("no .npy file"));
  EXPECT_THAT(
      error_of_tuples(input, npy("{'descr': '<c16', 'fortran_order': False, 'shape': (1, 3), }", data)),
      HasSubstr("none of <f8"));
  EXPECT_THAT(error_of_tuples(input, npy("{'descr': '<f8', 'fortran_order': True, 'shape': (1, 3), }", data)),
              HasSubstr("Fortran order"));
  EXPECT_THAT(
      error_of_tuples(input, npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", data)),
      HasSubstr("ends before its data"));
  EXPECT_THAT(
      error_of_tuples(input,
                      npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999, 3), }", data)),
      HasSubstr("ends before its data"));
  EXPECT_THAT(
      error_of_tuples(input, npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 3), }", data)),
      HasSubstr("one or two dimensions"));
  EXPECT_THAT(error_of_tuples(input, npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", data)),
              HasSubstr("a row has 1 numbers"));
  const std::string good = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), }", data);
  for (std::size_t at = 0; at < good.size(); ++at) {
    MemoryAccount account(1 << 20);
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    (void)read_tuples(input, good.substr(0, at), {0, 0}, account);
    (void)read_tuples(input, changed, {0, 0}, account);
  }
}

TEST(WorkflowTuples, MemoryIsOfTheAccount) {
  const Input input = input_of("input t(v f64) from \"t.csv\"");
  MemoryAccount account(100);
  EXPECT_THROW((void)read_tuples(input,
                                 std::string(200, '1') + "\n" + std::string(2000, '\n') +
                                     "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
                                     "10\n11\n12\n13\n14\n",
                                 {0}, account),
               QueryError);
  EXPECT_EQ(account.used(), 0u);
}

}  // namespace
}  // namespace tailor::weft::workflow
