// The program as C text, compiled by gcc into a shared object. A line of the text is a component of the
// lowest level; gcc's line table leads from machine code back to it.
#include <dlfcn.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "compiler/dwarf/object_lines.h"
#include "dataflow.h"

namespace flow {
namespace {

// Writes lines; every line is a component owned by a step.
class Listing {
 public:
  explicit Listing(Program& program) : p_(program) {}

  void line(tailor::ComponentId step, const std::string& text) {
    const std::uint32_t id = p_.plan.add_unnamed(2, 1);
    if (step != 0) p_.plan.set_owners(2, id, std::span(&step, 1));
    text_ += text + "\n";
  }

  // A call of shared code: the tag register names the step (and the line) while it runs.
  void shared_call(tailor::ComponentId step, const std::string& call) {
    const std::uint32_t here = p_.plan.component_count(2) + 1;
    char tag[32];
    std::snprintf(tag, sizeof tag, "0x%" PRIx64 "ul", tailor_tag(&p_.ids, step, here));
    line(step, std::string("{ unsigned long outer = tailor_tag; tailor_tag = ") + tag + "; " + call +
                   "; tailor_tag = outer; }");
  }

  const std::string& text() const { return text_; }

 private:
  Program& p_;
  std::string text_;
};

std::string write_program(Program& p) {
  p.plan.set_tag_levels(1, 2);  // the step, and the line that calls
  Listing c(p);
  c.line(0, "register unsigned long tailor_tag __asm__(\"r15\");");
  c.line(0,
         "struct state { const unsigned long *row; const unsigned *targets; double *rank, *next; unsigned "
         "long vertices; double delta; };");
  c.line(0, "void flow_add(double *vector, unsigned long index, double value);");
  c.line(p.control_step, "void iteration(struct state *s) {");
  c.line(p.control_step, "for (unsigned long v = 0; v < s->vertices; ++v)");
  c.line(p.control_step, "s->next[v] = 0;");
  c.line(p.control_step, "for (unsigned long v = 0; v < s->vertices; ++v) {");
  c.line(p.read_step, "unsigned long begin = s->row[v], end = s->row[v + 1];");
  c.line(p.read_step, "for (unsigned long e = begin; e < end; ++e) {");
  c.line(p.read_step, "unsigned target = s->targets[e];");
  c.line(p.gather_step, "double share = s->rank[v] / (double)(end - begin);");
  c.shared_call(p.scatter_step, "flow_add(s->next, target, share)");
  c.line(p.read_step, "} }");
  c.line(p.control_step, "s->delta = 0;");
  c.line(p.control_step, "for (unsigned long v = 0; v < s->vertices; ++v) {");
  c.line(p.damp_step, "double damped = 0.15 / (double)s->vertices + 0.85 * s->next[v];");
  c.line(p.damp_step, "s->next[v] = damped;");
  c.line(p.delta_step, "double change = __builtin_fabs(damped - s->rank[v]);");
  c.shared_call(p.delta_step, "flow_add(&s->delta, 0, change)");
  c.line(p.control_step, "}");
  c.line(p.control_step, "}");
  p.plan.attach("source", c.text());
  return c.text();
}

struct CCode final : Generated {
  void* handle = nullptr;
  std::vector<std::uint64_t> ids;
  ~CCode() override {
    for (std::uint64_t id : ids) tailor_code_unload(id);
    if (handle != nullptr) dlclose(handle);
  }
  std::uint64_t tag(const Program& p, tailor::ComponentId, tailor::ComponentId step) const override {
    return tailor_tag(&p.ids, step, 0);
  }
  Iteration* iteration() const override { return reinterpret_cast<Iteration*>(dlsym(handle, "iteration")); }
};

}  // namespace

std::unique_ptr<Generated> generate_c(Program& program, const std::string& folder) {
  const std::string source = folder + "/pagerank.c", object = folder + "/pagerank.so";
  std::ofstream(source) << write_program(program);
  const std::string command =
      "cc -std=gnu11 -O2 -g -fPIC -shared -ffixed-r15 -fno-omit-frame-pointer -o " + object + " " + source;
  if (std::system(command.c_str()) != 0) return nullptr;
  auto lines = tailor::dwarf::read_object_lines(object);
  if (!lines.ok()) {
    std::fprintf(stderr, "%s\n", lines.error().message.c_str());
    return nullptr;
  }
  auto result = std::make_unique<CCode>();
  result->handle = dlopen(object.c_str(), RTLD_NOW);
  if (result->handle == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return nullptr;
  }
  const std::string plan = program.plan.serialise({program.ids.id, program.ids.slot, program.ids.generation});
  tailor_plan_load(program.ids.id, plan.data(), plan.size());
  for (const auto& function : lines->functions) {
    void* address = dlsym(result->handle, function.name.c_str());
    if (function.name != "iteration" || address == nullptr) continue;
    auto code = tailor::dwarf::make_code_object(
        *lines, function, reinterpret_cast<std::uint64_t>(address),
        [&](const std::string& file, std::uint32_t line) {
          return file == source ? std::vector<tailor::ComponentId>{line} : std::vector<tailor::ComponentId>{};
        });
    const std::uint64_t id = tailor_code_new();
    code.set_id(id);
    code.set_plan_id(program.ids.id);
    const std::string bytes = code.SerializeAsString();
    tailor_code_load(id, bytes.data(), bytes.size());
    result->ids.push_back(id);
  }
  return result;
}

}  // namespace flow
