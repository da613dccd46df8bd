#include "compiler/weft/tool/levels.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compiler/weft/plan/print.h"
#include "compiler/weft/tool/level_model.h"

namespace tailor::weft {
namespace {

constexpr std::size_t kTaskWidth = 34, kNativeWidth = 52, kNarrowestIr = 30;

std::string cut(std::string text, std::size_t width) {
  if (text.size() > width) text = text.substr(0, width > 2 ? width - 2 : 0) + "..";
  return text;
}

std::string joined(const std::vector<ComponentId>& ids) {
  std::string text;
  for (ComponentId id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
  return text;
}

// Writes the three columns: task, IR, native code.
class Table {
 public:
  Table(const v1::Plan& plan, const LevelModel& model, const LevelsStyle& style)
      : plan_(plan), model_(model), style_(style) {
    const std::size_t used = kTaskWidth + kNativeWidth + 8;
    ir_width_ = std::max(kNarrowestIr, style.width > used ? style.width - used : 0);
    for (std::size_t i = 0; i < model.code.size(); ++i) {
      const LinkedInstruction& each = model.code[i];
      (each.ir.empty() ? ownerless_ : of_line_[each.ir.front()]).push_back(i);
    }
  }

  std::string write(const v1::CodeObject& code) {
    heading();
    for (ComponentId line = 1; line < model_.ir.size(); ++line) {
      if (const v1::CodeSymbol* function = function_of(code, model_.ir[line])) begin_function(*function);
      put_line(line);
    }
    // Frame code of functions that the listing does not have; none is left out.
    for (std::size_t at : ownerless_) row({}, kNoComponent, "", at);
    return std::move(out_);
  }

 private:
  void heading() {
    out_ += fmt::format("{:<{}}  {:<{}}  {}\n", "operator > task", kTaskWidth, "  line  IR", ir_width_ + 6,
                        "native code: offset, link (= exact ~ inferred & shared), instruction");
  }

  // "void @pipeline1(ptr %0):" begins the function of that symbol.
  static const v1::CodeSymbol* function_of(const v1::CodeObject& code, const std::string& line) {
    if (!line.ends_with("):")) return nullptr;
    for (const v1::CodeSymbol& symbol : code.symbols())
      if (line.find(" @" + symbol.name() + "(") != std::string::npos) return &symbol;
    return nullptr;
  }

  // Frame code stands below the heading of its function.
  void begin_function(const v1::CodeSymbol& symbol) {
    out_ += "\n";
    frame_.clear();
    std::erase_if(ownerless_, [&](std::size_t at) {
      const std::uint32_t offset = model_.code[at].native.offset;
      if (offset < symbol.offset() || offset - symbol.offset() >= symbol.size()) return false;
      frame_.push_back(at);
      return true;
    });
  }

  void put_line(ComponentId line) {
    const std::vector<ComponentId> tasks =
        line < model_.tasks_of_ir.size() ? model_.tasks_of_ir[line] : std::vector<ComponentId>();
    std::vector<std::size_t> native = std::move(frame_);
    frame_.clear();
    if (const auto own = of_line_.find(line); own != of_line_.end())
      native.insert(native.end(), own->second.begin(), own->second.end());
    if (native.empty()) return row(tasks, line, model_.ir[line], SIZE_MAX);
    for (std::size_t i = 0; i < native.size(); ++i)
      row(i == 0 ? tasks : std::vector<ComponentId>(), i == 0 ? line : kNoComponent,
          i == 0 ? model_.ir[line] : "", native[i]);
  }

  void row(const std::vector<ComponentId>& tasks, ComponentId line, const std::string& ir,
           std::size_t native) {
    std::string task = cut(task_text(tasks), kTaskWidth);
    const bool repeated = task == last_task_;
    if (!task.empty()) last_task_ = task;
    if (repeated) task.clear();
    task.resize(kTaskWidth, ' ');
    std::string row = paint(tasks, task) + "  ";
    row += line == kNoComponent ? std::string(6, ' ') : fmt::format("{:>6}", line);
    row += fmt::format("  {:<{}}", cut(escape_text(ir), ir_width_), ir_width_);
    if (native != SIZE_MAX) row += "  " + native_text(model_.code[native]);
    while (row.ends_with(' ')) row.pop_back();
    out_ += row + "\n";
  }

  std::string task_text(const std::vector<ComponentId>& tasks) const {
    std::string text;
    for (ComponentId task : tasks) {
      if (!text.empty()) text += " & ";
      for (ComponentId op : model_.operators_of_task[task])
        text += fmt::format("#{} {} > ", op, name_of(0, op));
      text += fmt::format("{} {}", task, name_of(1, task));
    }
    return text;
  }

  std::string name_of(LevelIndex level, ComponentId id) const {
    const v1::Component* component = described(plan_, level, id);
    return component == nullptr ? "" : escape_text(component->name());
  }

  static std::string native_text(const LinkedInstruction& each) {
    static constexpr char kMarks[] = {'=', '~', '&', ' ', '?'};
    std::string text = fmt::format("{:>5x} {} {}", each.native.offset, kMarks[static_cast<int>(each.flag)],
                                   each.native.text);
    if (each.flag == tagging::RowFlag::kPrologue) text += "  ; frame";
    if (each.ir.size() > 1) text += "  ; also " + joined({each.ir.begin() + 1, each.ir.end()});
    return text;
  }

  std::string paint(const std::vector<ComponentId>& tasks, const std::string& text) const {
    if (!style_.colour || tasks.empty() || model_.operators_of_task[tasks.front()].empty()) return text;
    const ComponentId op = model_.operators_of_task[tasks.front()].front();
    return fmt::format("\x1b[{}m{}\x1b[0m", 31 + op % 6, text);
  }

  const v1::Plan& plan_;
  const LevelModel& model_;
  const LevelsStyle& style_;
  std::size_t ir_width_;
  std::map<ComponentId, std::vector<std::size_t>> of_line_;  // by the first owner: indexes of model_.code
  std::vector<std::size_t> ownerless_, frame_;
  std::string last_task_, out_;
};

std::string pipelines_text(const v1::Plan& plan) {
  std::string out;
  for (const v1::Pipeline& pipeline : plan.pipelines()) {
    std::string tasks;
    for (ComponentId task : pipeline.tasks()) {
      const v1::Component* component = described(plan, pipeline.task_level(), task);
      tasks += fmt::format("{}{} {}", tasks.empty() ? "" : " > ", task,
                           component == nullptr ? "" : escape_text(component->name()));
    }
    const std::string before = joined({pipeline.depends_on().begin(), pipeline.depends_on().end()});
    const std::string after = before.empty() ? std::string() : fmt::format(" (after {})", before);
    out += fmt::format("{:>3} {}{}: {}\n", pipeline.id(), escape_text(pipeline.name()), after, tasks);
  }
  return out;
}

nlohmann::ordered_json components_json(const v1::Plan& plan, LevelIndex level) {
  auto out = nlohmann::ordered_json::array();
  for (ComponentId id = 1; id <= plan.levels(static_cast<int>(level)).component_count(); ++id) {
    const v1::Component* component = described(plan, level, id);
    auto& json = out.emplace_back(nlohmann::ordered_json{{"id", id}});
    if (component == nullptr) continue;
    json["name"] = component->name();
    json["kind"] = component->kind();
    if (level == 0)
      json["inputs"] = std::vector<ComponentId>(component->inputs().begin(), component->inputs().end());
  }
  return out;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace

LevelsStyle detect_style() {
  LevelsStyle style;
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  const char* term = std::getenv("TERM");
  const char* no_colour = std::getenv("NO_COLOR");
  style.colour = terminal && (no_colour == nullptr || *no_colour == '\0') &&
                 (term == nullptr || std::strcmp(term, "dumb") != 0);
  winsize size{};
  if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = size.ws_col;
  } else if (const char* columns = std::getenv("COLUMNS")) {
    std::from_chars(columns, columns + std::strlen(columns), style.width);
  }
  return style;
}

std::string escape_text(std::string_view text) {
  std::string out;
  for (unsigned char c : text) {
    if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
    } else {
      out += fmt::format("\\x{:02x}", c);
    }
  }
  return out;
}

Result<std::string> levels_text(const Plan& tree, const v1::Plan& plan, const v1::CodeObject& code,
                                const LevelsStyle& style) {
  auto model = LevelModel::make(plan, code);
  if (!model.ok()) return model.error();
  std::string out = "Plan (operators)\n";
  std::string drawn = to_string(tree);
  for (std::size_t at = 0; at < drawn.size();) {
    const std::size_t end = std::min(drawn.find('\n', at), drawn.size());
    out += escape_text(std::string_view(drawn).substr(at, end - at)) + "\n";
    at = end + 1;
  }
  out += "\nPipelines (tasks in the order tuples pass)\n" + pipelines_text(plan) + "\n";
  out +=
      fmt::format("Code {} at {:#x}, {} bytes\n", escape_text(code.tier()), code.base(), code.code().size());
  return out + Table(plan, *model, style).write(code);
}

Result<std::string> levels_json(const v1::Plan& plan, const v1::CodeObject& code) {
  using Json = nlohmann::ordered_json;
  auto model = LevelModel::make(plan, code);
  if (!model.ok()) return model.error();
  Json out;
  out["name"] = plan.name();
  out["operators"] = components_json(plan, 0);
  out["tasks"] = components_json(plan, 1);
  for (auto& task : out["tasks"]) task["operators"] = model->operators_of_task[task["id"].get<ComponentId>()];
  out["pipelines"] = Json::array();
  for (const v1::Pipeline& each : plan.pipelines()) {
    out["pipelines"].push_back(
        {{"id", each.id()},
         {"name", each.name()},
         {"tasks", std::vector<ComponentId>(each.tasks().begin(), each.tasks().end())},
         {"depends_on", std::vector<std::uint32_t>(each.depends_on().begin(), each.depends_on().end())}});
  }
  out["ir"] = Json::array();
  for (ComponentId line = 1; line < model->ir.size(); ++line) {
    out["ir"].push_back({{"line", line},
                         {"text", model->ir[line]},
                         {"tasks", line < model->tasks_of_ir.size() ? model->tasks_of_ir[line]
                                                                    : std::vector<ComponentId>()}});
  }
  Json functions = Json::array();
  for (const v1::CodeSymbol& symbol : code.symbols())
    functions.push_back({{"name", symbol.name()}, {"offset", symbol.offset()}, {"size", symbol.size()}});
  Json instructions = Json::array();
  for (const LinkedInstruction& each : model->code) {
    instructions.push_back(
        {{"offset", each.native.offset},
         {"bytes", hex(std::string_view(code.code()).substr(each.native.offset, each.native.size))},
         {"text", each.native.text},
         {"link", name_of(each.flag)},
         {"ir", each.ir}});
  }
  out["code"] = {{"tier", code.tier()},
                 {"base", code.base()},
                 {"size", code.code().size()},
                 {"functions", std::move(functions)},
                 {"instructions", std::move(instructions)}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tailor::weft
