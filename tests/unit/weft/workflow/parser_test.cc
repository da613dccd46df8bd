#include "compiler/weft/workflow/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tailor::weft::workflow {
namespace {

using testing::HasSubstr;

// k-means as a user writes it.
constexpr const char* kMeans = R"(workflow kmeans
let clusters = 3
udf "kmeans.cc"
input points(p f64[2]) rows 1000 by make_point()
context centres f64[clusters, 2]
context sums f64[clusters, 2]
context counts i64[clusters]
context shift f64 = 1e9
update first_centres(clusters, centres) into centres

loop lloyd 20 until converged(shift) watch shift   # of Lloyd's algorithm
  from points
    map nearest(p, centres, clusters) -> cluster i64
    reduce add_point(p) by cluster into sums combine add
    reduce count() by cluster into counts parallel combine add_count start 0
  end
  update move(sums, counts, centres, shift) into sums, counts, centres, shift
end
show centres, shift
)";

std::string error_of(const std::string& text, const Settings& settings = {}) {
  auto workflow = parse_workflow(text, "test.weft", settings);
  EXPECT_FALSE(workflow.ok());
  return workflow.ok() ? std::string() : workflow.error().message;
}

// A workflow with this pipeline in it, from line 5 on.
std::string with_pipeline(const std::string& operators) {
  return "workflow w\ninput points(p f64[2], k i64) rows 10 by make()\ncontext total f64\ncontext sums "
         "f64[4]\n"
         "from points\n" +
         operators + "end\n";
}

TEST(WorkflowParser, ReadsKMeans) {
  auto read = parse_workflow(kMeans, "kmeans.weft", {});
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Workflow& workflow = *read;
  EXPECT_EQ(workflow.name, "kmeans");
  ASSERT_EQ(workflow.udfs.size(), 1u);
  EXPECT_EQ(workflow.text.substr(workflow.udfs[0].offset, workflow.udfs[0].size), "\"kmeans.cc\"");
  ASSERT_EQ(workflow.inputs.size(), 1u);
  EXPECT_EQ(workflow.inputs[0].rows, 1000u);
  ASSERT_TRUE(workflow.inputs[0].generator.has_value());
  ASSERT_EQ(workflow.contexts.size(), 4u);
  EXPECT_EQ(workflow.contexts[0].shape, (std::vector<std::uint64_t>{3, 2}));
  EXPECT_EQ(workflow.contexts[0].bytes(), 48u);
  EXPECT_EQ(workflow.contexts[3].values(), 1u);
  EXPECT_EQ(workflow.contexts[3].initial, 1e9);
  ASSERT_EQ(workflow.statements.size(), 2u);
  const Statement& loop = workflow.statements[1];
  ASSERT_EQ(loop.kind, Statement::Kind::kLoop);
  EXPECT_EQ(loop.count, 20u);
  EXPECT_EQ(loop.watch, std::optional<std::uint32_t>(3));
  ASSERT_EQ(loop.body.size(), 2u);
  const Statement& pipeline = loop.body[0];
  ASSERT_EQ(pipeline.operators.size(), 3u);
  EXPECT_EQ(pipeline.fields.size(), 2u);
  const PipelineOperator& map = pipeline.operators[0];
  EXPECT_EQ(map.call.function, "nearest");
  ASSERT_EQ(map.call.arguments.size(), 3u);
  EXPECT_EQ(map.call.arguments[0].kind, Argument::Kind::kField);
  EXPECT_EQ(map.call.arguments[1].kind, Argument::Kind::kContext);
  EXPECT_EQ(map.call.arguments[2].integer, 3);
  EXPECT_EQ(pipeline.operators[1].key, std::optional<std::uint32_t>(1));
  EXPECT_EQ(pipeline.operators[1].pattern, Pattern::kParallel);
  EXPECT_EQ(pipeline.operators[2].combine, "add_count");
  EXPECT_EQ(workflow.shown, (std::vector<std::uint32_t>{0, 3}));
}

TEST(WorkflowParser, SettingsReplaceConstants) {
  auto read = parse_workflow(kMeans, "kmeans.weft", {{"clusters", 5}});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->contexts[0].shape, (std::vector<std::uint64_t>{5, 2}));
  EXPECT_THAT(error_of(kMeans, {{"cluster", 5}}), HasSubstr("no constant cluster"));
  EXPECT_THAT(error_of(kMeans, {{"clusters", 0}}), HasSubstr("test.weft:5:21: the number of values is 0"));
}

TEST(WorkflowParser, SaysWhereWordsAreWrong) {
  EXPECT_EQ(error_of(""), "test.weft:1:1: the file has no workflow");
  EXPECT_EQ(error_of("flow x"), "test.weft:1:1: 'workflow' is expected here, not 'flow'");
  EXPECT_EQ(error_of("workflow x\n"), "test.weft:1:11: the workflow has nothing to do");
  EXPECT_EQ(error_of("workflow x\nlet n = \"5\"\n"),
            "test.weft:2:9: a whole number is expected here, not '5'");
  EXPECT_EQ(error_of("workflow x\nlet n = 5x\n"), "test.weft:2:10: a number is followed by a letter");
  EXPECT_EQ(error_of("workflow x\nudf \"a\n"), "test.weft:2:5: a string has no end on its line");
  EXPECT_EQ(error_of("workflow x\n  ;\n"), "test.weft:2:3: ';' has no meaning here");
  EXPECT_EQ(error_of("workflow x\n\x01\n"), "test.weft:2:1: byte 0x01 has no meaning here");
  EXPECT_THAT(error_of("workflow x\nlet n = 99999999999999999999\n"), HasSubstr("test.weft:2:9: "));
  EXPECT_THAT(error_of("workflow x\ncontext c f64 = 1e999\n"), HasSubstr("test.weft:2:17: "));
  EXPECT_THAT(error_of(std::string((1 << 20) + 1, ' ')), HasSubstr("at most 1048576"));
}

TEST(WorkflowParser, SaysWhichNameIsWrong) {
  EXPECT_EQ(error_of("workflow x\nlet n = 1\nlet n = 2\n"),
            "test.weft:3:5: the name n is taken: line 2 gives it to a constant");
  EXPECT_EQ(error_of("workflow x\nfrom nothing\nend\n"),
            "test.weft:2:6: there is no input nothing before this line");
  EXPECT_EQ(error_of(with_pipeline("map f(q) -> r f64\n")),
            "test.weft:6:7: there is no field, context or constant q before this place");
  EXPECT_EQ(error_of(with_pipeline("map f(p) -> p f64\n")),
            "test.weft:6:13: the field p is there already, from line 2");
  EXPECT_EQ(error_of(with_pipeline("map f(p) -> total f64\n")),
            "test.weft:6:13: the field total has the name of a context, of line 3");
  EXPECT_THAT(error_of(with_pipeline("reduce f(p) into nobody\n")),
              HasSubstr("test.weft:6:18: there is no context"));
  EXPECT_THAT(error_of(with_pipeline("map f(points) -> r f64\n")), HasSubstr("is an input"));
}

TEST(WorkflowParser, ChecksTypesAndShapes) {
  EXPECT_THAT(error_of(with_pipeline("map f(p) -> r f16\n")), HasSubstr("test.weft:6:15: a type (f64"));
  EXPECT_THAT(error_of(with_pipeline("reduce f(p) by p into sums\n")), HasSubstr("must be i64 or i32"));
  EXPECT_THAT(error_of(with_pipeline("reduce f(p) by k into total\n")),
              HasSubstr("a key has nothing to choose"));
  EXPECT_THAT(error_of(with_pipeline("flatmap f(p) -> r f64 at most 0\n")), HasSubstr("must be from 1 to"));
  EXPECT_THAT(error_of(with_pipeline("map f(p) -> r f64[60000]\n")), HasSubstr("bytes of stack"));
  EXPECT_THAT(error_of("workflow x\ncontext c f64[9]\nloop l 3 watch c\nupdate f() into c\nend\n"),
              HasSubstr("only a context of one value can be watched"));
  EXPECT_THAT(error_of("workflow x\ninput a(v f64) from \"a.txt\"\n"),
              HasSubstr("must end with .csv or .npy"));
}

TEST(WorkflowParser, KnowsWhatRemainsOfAPipeline) {
  EXPECT_EQ(error_of(with_pipeline("map f(p) -> r f64\n")),
            "test.weft:5:1: the pipeline has no reduce and no update: nothing of it would remain");
  EXPECT_THAT(error_of(with_pipeline("reduce f(p) into total\nreduce g(p) into total\n")),
              HasSubstr("test.weft:7:1: line 6 changes the context total too"));
  EXPECT_THAT(error_of(with_pipeline("map g(p, total) -> r f64\nreduce f(p) into total combine add\n")),
              HasSubstr("test.weft:6:10: line 7 changes the context total"));
  // The author of asynchronous operators answers for that.
  auto read = parse_workflow(with_pipeline("map g(p, total) -> r f64\nreduce f(p) into total asynchronous\n"),
                             "test.weft", {});
  EXPECT_TRUE(read.ok()) << read.error().message;
  // Nothing said: one worker at a time.
  read = parse_workflow(with_pipeline("reduce f(p) into total\n"), "test.weft", {});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->statements[0].operators[0].pattern, Pattern::kSynchronous);
}

TEST(WorkflowParser, JoinsBringTheFieldsOfAnInput) {
  const std::string begin =
      "workflow w\ninput points(p f64[2], k i64) rows 10 by make()\ninput kinds(kind i32, weight f64, k i64) "
      "rows 3 "
      "by make_kind()\ncontext total f64\nfrom points\n";
  const std::string with_k = begin + "join kinds on k = kind\nreduce f(weight) into total\nend\n";
  EXPECT_EQ(error_of(with_k), "test.weft:6:6: the field k is there already, from line 2");
  auto read = parse_workflow(begin + "join kinds on k = k\nreduce f(weight, kind) into total\nend\n",
                             "test.weft", {});
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Statement& pipeline = read->statements.at(0);
  const PipelineOperator& join = pipeline.operators.at(0);
  EXPECT_EQ(join.kind, OperatorKind::kJoin);
  EXPECT_EQ(join.input, 1u);
  EXPECT_EQ(join.input_key, 2u);
  EXPECT_EQ(join.key, std::optional<std::uint32_t>(1));
  EXPECT_EQ(join.outputs, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(join.input_fields, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(pipeline.fields.at(3).name, "weight");
  EXPECT_EQ(error_of(begin + "join nothing on k = k\n"),
            "test.weft:6:6: there is no input nothing before this line");
  EXPECT_EQ(error_of(begin + "join kinds on p = k\n"),
            "test.weft:6:15: the key p is no whole number: it must be i64 or i32");
  EXPECT_EQ(error_of(begin + "join kinds on k = weight\n"),
            "test.weft:6:19: the key weight is no whole number: it must be i64 or i32");
  EXPECT_EQ(error_of(begin + "join kinds on k = p\n"),
            "test.weft:6:19: the input kinds has no field p before this place");
}

// As numba names them.
TEST(WorkflowParser, FunctionsMayHaveAnyNameInQuotes) {
  auto read =
      parse_workflow(with_pipeline("map \"cfunc.f$1\"(p) -> r f64\nreduce g(r) into total combine \"h.2\"\n"),
                     "test.weft", {});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->statements[0].operators[0].call.function, "cfunc.f$1");
  EXPECT_EQ(read->statements[0].operators[1].combine, "h.2");
  EXPECT_EQ(error_of(with_pipeline("map \"\"(p) -> r f64\n")),
            "test.weft:6:5: the name of the function is empty");
}

TEST(WorkflowParser, BlocksMustEnd) {
  EXPECT_THAT(error_of("workflow x\ninput a(v f64) rows 1 by f()\nfrom a\n"),
              HasSubstr("test.weft:3:1: the pipeline has no 'end'"));
  EXPECT_THAT(error_of("workflow x\nloop l 3\n"), HasSubstr("the loop l has no 'end'"));
  EXPECT_THAT(error_of("workflow x\nloop l 3\nend\n"), HasSubstr("the loop l is empty"));
  EXPECT_THAT(error_of("workflow x\nloop a 1\nloop b 1\nloop c 1\nloop d 1\nloop e 1\n"),
              HasSubstr("4 deep"));
  EXPECT_THAT(error_of("workflow x\nloop a 1\nlet n = 1\nend\n"), HasSubstr("from, update, loop or end"));
}

// Any part of a good file and any byte of it changed gives a workflow or an error, never more.
TEST(WorkflowParser, SurvivesDamage) {
  const std::string good = kMeans;
  for (std::size_t at = 0; at < good.size(); ++at) {
    (void)parse_workflow(good.substr(0, at), "cut", {});
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    (void)parse_workflow(changed, "changed", {});
  }
}

}  // namespace
}  // namespace tailor::weft::workflow
