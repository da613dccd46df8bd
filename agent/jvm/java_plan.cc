#include "agent/jvm/java_plan.h"

#include "agent/jvm/call_frames.h"

namespace tailor::jvm {
namespace {

constexpr std::int32_t kMethods = 0, kFrames = 1, kLines = 2;
constexpr std::size_t kComponentBytes = 12;  // of a message beside its name and kind

// "HashMap.get" of "java.util.HashMap.get": what is inlined into what is read side by side.
std::string short_name(const std::string& name) {
  const std::size_t method = name.rfind('.');
  const std::size_t type = method == std::string::npos || method == 0 ? method : name.rfind('.', method - 1);
  return type == std::string::npos ? name : name.substr(type + 1);
}

}  // namespace

JavaPlan::JavaPlan(const std::string& name)
    : builder_(tailor_plan_builder_new(name.c_str())), ids_(tailor_plan_new()) {
  for (const char* level : {"method", "frame", "line"}) tailor_plan_builder_add_level(builder_.get(), level);
}

JavaPlan::~JavaPlan() {
  if (valid()) tailor_plan_unload(ids_.id);
}

std::uint32_t JavaPlan::method(const std::string& name) {
  std::uint32_t& id = methods_[name];
  if (id == 0) {
    id = tailor_plan_builder_add_component(builder_.get(), kMethods, name.c_str(), "method");
    bytes_ += name.size() + kComponentBytes;
    grown_ = true;
  }
  return id;
}

std::uint32_t JavaPlan::frame(const std::string& name, const std::string& compiled) {
  std::string text = name == compiled ? short_name(name) : short_name(name) + " in " + compiled;
  std::uint32_t& id = frames_[name + '\n' + compiled];
  if (id == 0) {
    const std::uint32_t owner = method(name);
    id = tailor_plan_builder_add_component(builder_.get(), kFrames, text.c_str(),
                                           name == compiled ? "compiled" : "inlined");
    tailor_plan_builder_set_owners(builder_.get(), kFrames, id, &owner, 1);
    bytes_ += text.size() + kComponentBytes;
    grown_ = true;
  }
  return id;
}

std::uint32_t JavaPlan::line(std::uint32_t frame, const std::string& file, std::int32_t number) {
  std::uint32_t& id = lines_[std::uint64_t{frame} << 32 | static_cast<std::uint32_t>(number)];
  if (id == 0) {
    const std::string text =
        (file.empty() ? "line " : file + ":") + (number > 0 ? std::to_string(number) : "?");
    id = tailor_plan_builder_add_component(builder_.get(), kLines, text.c_str(), "line");
    tailor_plan_builder_set_owners(builder_.get(), kLines, id, &frame, 1);
    bytes_ += text.size() + kComponentBytes;
    grown_ = true;
  }
  return id;
}

std::uint32_t JavaPlan::component_of(const CompiledCode& code, const InlineFrame& at) {
  const MethodText& text = code.methods[at.method];
  return line(frame(text.name, code.methods[0].name), text.file, at.line);
}

void JavaPlan::add_rows(tailor_code_builder* builder, const CompiledCode& code) {
  for (const CodeRun& run : runs_of(code)) {
    // Whatever it does there, it does for the method that was compiled.
    const InlineFrame at = run.known ? code.frames[code.states[run.state].first_frame] : InlineFrame{};
    const std::uint32_t component = component_of(code, at);
    const bool exact = run.known && !run.inferred;
    tailor_code_builder_add_row(builder, run.offset, &component, 1,
                                exact ? TAILOR_ROW_EXACT : TAILOR_ROW_INFERRED);
  }
}

CodeBuilder JavaPlan::add(const CompiledCode& code) {
  const auto* base = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(code.base));
  CodeBuilder builder(tailor_code_builder_new(ids_.id, base, code.size));
  if (!builder || code.methods.empty()) return nullptr;
  tailor_code_builder_leave_code_out(builder.get());
  tailor_code_builder_set_name(builder.get(), code.methods[0].name.c_str());
  tailor_code_builder_set_tier(builder.get(), tier_of(code.facts).c_str());
  const std::string frames = frames_of_compiled(code);
  if (!frames.empty()) tailor_code_builder_set_eh_frame(builder.get(), frames.data(), frames.size(), nullptr);
  if (code.states.empty()) {
    // Nothing but the method is known.
    const std::uint32_t component = component_of(code, {0, 0});
    tailor_code_builder_add_row(builder.get(), 0, &component, 1, TAILOR_ROW_INFERRED);
  } else {
    add_rows(builder.get(), code);
  }
  return builder;
}

int JavaPlan::send() {
  if (!grown_) return 0;
  const int error = tailor_plan_builder_load(builder_.get(), ids_.id);
  grown_ = error != 0;
  return error;
}

}  // namespace tailor::jvm
