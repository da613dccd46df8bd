#include "compiler/weft/workflow/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/weft/workflow/limits.h"
#include "compiler/weft/workflow/names.h"
#include "compiler/weft/workflow/part_parser.h"
#include "compiler/weft/workflow/pipeline_parser.h"
#include "compiler/weft/workflow/token_cursor.h"

namespace tailor::weft::workflow {
namespace {

// What stands outside of pipelines and loops only.
class DeclarationParser : private PartParser {
 public:
  DeclarationParser(Workflow& workflow, NameTable& names, const Settings& settings)
      : PartParser(workflow, names), settings_(settings) {}

  // False: the line is no declaration.
  bool parse(TokenCursor& at) {
    const Place place = at.place();
    if (at.take("let")) return let(at), true;
    if (at.take("udf")) return udf(at, place), true;
    if (at.take("input")) return input(at), true;
    if (at.take("context")) return declare_context(at), true;
    if (at.take("show")) return show(at), true;
    return false;
  }

  // Every setting must be of a constant.
  void check_settings(const std::string& file) const {
    for (const auto& [name, value] : settings_) {
      if (!names_.find(name, NamedThing::Kind::kConstant)) {
        throw ParseFailure{
            not_found(fmt::format("{}: there is no constant {} that could be set to {}", file, name, value))};
      }
    }
  }

 private:
  void declare(TokenCursor& at, const std::string& name, NamedThing thing) {
    const NamedThing* other = names_.find(name);
    if (other != nullptr) {
      at.fail(thing.place, fmt::format("the name {} is taken: line {} gives it to {}", name,
                                       other->place.line, thing_name(other->kind)));
    }
    names_.add(name, thing);
  }

  void let(TokenCursor& at) {
    const Place place = at.place();
    const std::string name = at.name("the name of a constant");
    at.expect("=");
    std::int64_t value = integer(at, "a whole number");
    at.expect_end();
    if (const auto set = settings_.find(name); set != settings_.end()) value = set->second;
    declare(at, name,
            {NamedThing::Kind::kConstant, static_cast<std::uint32_t>(workflow_.constants.size()), place});
    workflow_.constants.emplace_back(name, value);
  }

  void udf(TokenCursor& at, Place place) {
    UdfFile file;
    file.place = place;
    file.offset = at.peek().offset;
    file.size = at.peek().size;
    file.path = at.string("the file of the functions, in quotes,");
    at.expect_end();
    if (file.path.empty()) at.fail(place, "the name of the file is empty");
    if (workflow_.udfs.size() == kMostUdfFiles)
      at.fail(place, fmt::format("a workflow has at most {} files of functions", kMostUdfFiles));
    workflow_.udfs.push_back(std::move(file));
  }

  // input NAME(FIELD, ...) rows COUNT by FUNCTION(ARGUMENT, ...)
  // input NAME(FIELD, ...) from "FILE"
  void input(TokenCursor& at) {
    Input input;
    input.place = at.place();
    input.name = at.name("the name of an input");
    declare(at, input.name,
            {NamedThing::Kind::kInput, static_cast<std::uint32_t>(workflow_.inputs.size()), input.place});
    at.expect("(");
    do add_field(at, input.fields, field(at));
    while (at.take(","));
    at.expect(")");
    if (at.take("from")) {
      input.path = at.string("the file of the tuples, in quotes,");
      const bool known = input.path.ends_with(".csv") || input.path.ends_with(".npy");
      if (!known)
        at.fail(input.place,
                fmt::format("\"{}\" is no file of tuples: it must end with .csv or .npy", input.path));
    } else {
      if (!at.take("rows")) at.fail_expected("'rows COUNT by FUNCTION(...)' or 'from \"FILE\"'");
      input.rows = extent(at, "the number of rows", kMostRows);
      at.expect("by");
      input.generator = call(at, {});
    }
    at.expect_end();
    if (workflow_.inputs.size() == kMostContexts)
      at.fail(input.place, fmt::format("a workflow has at most {} inputs", kMostContexts));
    workflow_.inputs.push_back(std::move(input));
  }

  // context NAME TYPE[COUNT, COUNT] = NUMBER
  void declare_context(TokenCursor& at) {
    Context context;
    context.place = at.place();
    context.name = at.name("the name of a context");
    declare(
        at, context.name,
        {NamedThing::Kind::kContext, static_cast<std::uint32_t>(workflow_.contexts.size()), context.place});
    context.scalar = scalar(at);
    if (at.take("[")) {
      context.shape.push_back(extent(at, "the number of values", kMostValues));
      if (at.take(",")) context.shape.push_back(extent(at, "the number of values", kMostCount));
      at.expect("]");
    }
    if (context.values() > kMostValues)
      at.fail(context.place,
              fmt::format("the context has {} values, and may have {}", context.values(), kMostValues));
    if (at.take("=")) context.initial = value(at, context.scalar, "the value at the start");
    at.expect_end();
    if (workflow_.contexts.size() == kMostContexts)
      at.fail(context.place, fmt::format("a workflow has at most {} contexts", kMostContexts));
    workflow_.contexts.push_back(std::move(context));
  }

  void show(TokenCursor& at) {
    for (std::uint32_t each : contexts(at))
      if (std::ranges::find(workflow_.shown, each) == workflow_.shown.end()) workflow_.shown.push_back(each);
    at.expect_end();
  }

  const Settings& settings_;
};

// The whole file.
class FileParser : private PartParser {
 public:
  FileParser(Workflow& workflow, NameTable& names, const std::vector<TokenLine>& lines,
             const Settings& settings)
      : PartParser(workflow, names), lines_(lines), declarations_(workflow, names, settings) {}

  void parse() {
    if (lines_.empty()) throw ParseFailure{error_at(workflow_.file, {1, 1}, "the file has no workflow")};
    {
      TokenCursor at = cursor();
      at.expect("workflow");
      workflow_.name = at.name("the name of the workflow");
      at.expect_end();
      ++line_;
    }
    while (line_ < lines_.size()) {
      TokenCursor at = cursor();
      if (declarations_.parse(at)) {
        ++line_;
      } else {
        workflow_.statements.push_back(statement());
      }
    }
    declarations_.check_settings(workflow_.file);
    if (workflow_.statements.empty())
      throw ParseFailure{
          error_at(workflow_.file, lines_.back().back().place, "the workflow has nothing to do")};
  }

 private:
  TokenCursor cursor() const { return {workflow_.file, lines_[line_]}; }

  void count_operator(const TokenCursor& at) {
    if (++operators_ > kMostOperators)
      at.fail(at.place(), fmt::format("a workflow has at most {} operators", kMostOperators));
  }

  Statement statement() {
    TokenCursor at = cursor();
    count_operator(at);
    Statement out;
    out.place = at.place();
    if (at.take("from")) {
      from(at, out);
    } else if (at.take("update")) {
      out.kind = Statement::Kind::kUpdate;
      out.call = call(at, {});
      at.expect("into");
      out.contexts = contexts(at);
      check_changes(at, *out.call, out.contexts);
      at.expect_end();
      ++line_;
    } else if (at.take("loop")) {
      loop(at, out);
    } else if (loops_ > 0) {
      at.fail_expected("from, update, loop or end");
    } else {
      at.fail_expected("let, udf, input, context, show, from, update or loop");
    }
    return out;
  }

  // from INPUT, operators, end
  void from(TokenCursor& at, Statement& out) {
    const Place place = at.place();
    const std::string name = at.name("the name of an input");
    const auto input = names_.find(name, NamedThing::Kind::kInput);
    if (!input) at.fail(place, fmt::format("there is no input {} before this line", name));
    at.expect_end();
    ++line_;
    out.kind = Statement::Kind::kPipeline;
    out.input = *input;
    out.fields = workflow_.inputs[*input].fields;
    PipelineParser pipeline(workflow_, names_, out);
    while (true) {
      if (line_ == lines_.size()) at.fail(out.place, "the pipeline has no 'end'");
      TokenCursor each = cursor();
      ++line_;
      if (each.take("end")) {
        each.expect_end();
        pipeline.finish(each);
        return;
      }
      count_operator(each);
      pipeline.parse(each);
    }
  }

  // loop NAME COUNT [until CALL] [watch CONTEXT], statements, end
  void loop(TokenCursor& at, Statement& out) {
    out.kind = Statement::Kind::kLoop;
    out.name = at.name("the name of the loop");
    out.count = extent(at, "the number of iterations", kMostIterations);
    if (at.take("until")) out.call = call(at, {});
    if (at.take("watch")) {
      const Place place = at.place();
      out.watch = context(at);
      if (!workflow_.contexts[*out.watch].shape.empty())
        at.fail(place,
                fmt::format("only a context of one value can be watched, and {} has {}",
                            workflow_.contexts[*out.watch].name, workflow_.contexts[*out.watch].values()));
    }
    at.expect_end();
    if (++loops_ > kMostLoops)
      at.fail(out.place, fmt::format("loops may stand within each other {} deep", kMostLoops));
    ++line_;
    while (true) {
      if (line_ == lines_.size()) at.fail(out.place, fmt::format("the loop {} has no 'end'", out.name));
      TokenCursor each = cursor();
      if (each.take("end")) {
        each.expect_end();
        ++line_;
        break;
      }
      out.body.push_back(statement());
    }
    if (out.body.empty()) at.fail(out.place, fmt::format("the loop {} is empty", out.name));
    --loops_;
  }

  const std::vector<TokenLine>& lines_;
  DeclarationParser declarations_;
  std::size_t line_ = 0;
  std::size_t operators_ = 0;
  std::size_t loops_ = 0;
};

}  // namespace

Result<Workflow> parse_workflow(const std::string& text, const std::string& file, const Settings& settings) {
  auto lines = read_token_lines(text, file);
  if (!lines.ok()) return std::move(lines).error();
  Workflow workflow;
  workflow.file = file;
  workflow.text = text;
  NameTable names;
  try {
    FileParser(workflow, names, *lines, settings).parse();
  } catch (const ParseFailure& failure) {
    return failure.error;
  }
  return workflow;
}

}  // namespace tailor::weft::workflow
