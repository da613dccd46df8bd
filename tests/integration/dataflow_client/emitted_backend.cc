// The program as machine code that the engine writes itself, without a compiler. It logs, as it goes, at
// which offset the code of each of its own instructions begins: that log is the row table.
#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "assembler.h"
#include "compiler/tagging/row_table_builder.h"
#include "dataflow.h"

namespace flow {
namespace {

using tailor::ComponentId;
using tailor::tagging::RowFlag;

constexpr std::int8_t at(std::size_t member) {
  return static_cast<std::int8_t>(member);
}

class Emitter {
 public:
  explicit Emitter(Program& program) : p_(program) { p_.plan.set_tag_levels(1, 2); }

  void run() {
    enter();
    clear_next();
    push_ranks();
    settle();
    leave();
    p_.plan.attach("ir", text_);
  }

  const std::vector<std::uint8_t>& code() const { return a_.code(); }

  // The log as Tailor wants it.
  tailor::v1::RowTable rows() const {
    tailor::tagging::RowTableBuilder rows;
    for (const auto& [offset, instruction] : log_) {
      const bool frame = instruction == tailor::kNoComponent;
      rows.add(offset, std::span(&instruction, 1), frame ? RowFlag::kPrologue : RowFlag::kExact);
    }
    return rows.build();
  }

 private:
  // The code from here on is that of a new instruction of this engine's, which a step of the program needs.
  ComponentId begin(ComponentId step, const std::string& text) {
    const ComponentId instruction = p_.plan.add_unnamed(2, 1);
    p_.plan.set_owners(2, instruction, std::span(&step, 1));
    log_.emplace_back(a_.here(), instruction);
    text_ += text + "\n";
    return instruction;
  }
  void begin_frame() { log_.emplace_back(a_.here(), tailor::kNoComponent); }

  // rbx: the state; r12: the vertex; r13, r14: the edge and the last one; the caller's tag in the frame.
  void enter() {
    begin_frame();
    a_.push(rbp), a_.move(rbp, rsp);
    for (Register saved : {rbx, r12, r13, r14, r15, r15}) a_.push(saved);  // twice: the stack stays aligned
    begin(p_.control_step, "state = argument 0");
    a_.move(rbx, rdi);
  }

  void leave() {
    begin_frame();
    for (Register saved : {r15, r15, r14, r13, r12, rbx, rbp}) a_.pop(saved);
    a_.bytes({0xC3});
  }

  // Shared code: the tag names the step and the instruction that calls while it runs.
  void shared_call(ComponentId step, const std::string& text,
                   void (*function)(double*, std::uint64_t, double)) {
    const ComponentId here = begin(step, text);
    a_.move(r15, tailor_tag(&p_.ids, step, here));
    a_.move(rax, reinterpret_cast<std::uint64_t>(function));
    a_.call(rax);
    a_.load(r15, {rbp, -40});
  }

  // for (r = 0; r < state->vertices; ++r) body
  template <typename Body>
  void each_vertex(Register r, Body&& body) {
    begin(p_.control_step, "vertex = 0");
    a_.clear(r);
    const std::uint32_t head = a_.here();
    begin(p_.control_step, "if vertex == vertices, leave");
    a_.compare(r, {rbx, at(offsetof(State, vertices))});
    const std::uint32_t out = a_.jump_if_not_below();
    body();
    begin(p_.control_step, "next vertex");
    a_.increment(r);
    a_.jump(head);
    a_.place(out);
  }

  void clear_next() {
    each_vertex(r12, [&] {
      begin(p_.control_step, "next[vertex] = 0");
      a_.load(rax, {rbx, at(offsetof(State, next))});
      a_.store_zero({rax, 0, r12, 8});
    });
  }

  void push_ranks() {
    each_vertex(r12, [&] {
      begin(p_.read_step, "edge, end = row[vertex], row[vertex + 1]");
      a_.load(rax, {rbx, at(offsetof(State, row))});
      a_.load(r13, {rax, 0, r12, 8});
      a_.load(r14, {rax, 8, r12, 8});
      const std::uint32_t head = a_.here();
      begin(p_.read_step, "if edge == end, leave");
      a_.compare(r13, r14);
      const std::uint32_t out = a_.jump_if_not_below();
      gather();
      begin(p_.read_step, "target = targets[edge]");
      a_.load(rax, {rbx, at(offsetof(State, targets))});
      a_.load32(rsi, {rax, 0, r13, 4});
      begin(p_.scatter_step, "vector = next");
      a_.load(rdi, {rbx, at(offsetof(State, next))});
      shared_call(p_.scatter_step, "flow_add(vector, target, share)", flow_add);
      begin(p_.read_step, "next edge");
      a_.increment(r13);
      a_.jump(head);
      a_.place(out);
    });
  }

  void gather() {
    begin(p_.gather_step, "degree = row[vertex + 1] - row[vertex]");
    a_.load(rax, {rbx, at(offsetof(State, row))});
    a_.load(rcx, {rax, 8, r12, 8});
    a_.load(rdx, {rax, 0, r12, 8});
    a_.subtract(rcx, rdx);
    a_.convert(xmm1, rcx);
    begin(p_.gather_step, "share = rank[vertex] / degree");
    a_.load(rax, {rbx, at(offsetof(State, rank))});
    a_.load(xmm0, {rax, 0, r12, 8});
    a_.divide(xmm0, xmm1);
  }

  void settle() {
    begin(p_.control_step, "delta = 0");
    a_.store_zero({rbx, at(offsetof(State, delta))});
    each_vertex(r12, [&] {
      begin(p_.damp_step, "damped = 0.15 / vertices + 0.85 * next[vertex]");
      a_.move(rax, std::bit_cast<std::uint64_t>(0.15)), a_.move(xmm1, rax);
      a_.load(rax, {rbx, at(offsetof(State, vertices))}), a_.convert(xmm2, rax);
      a_.divide(xmm1, xmm2);
      a_.move(rax, std::bit_cast<std::uint64_t>(0.85)), a_.move(xmm2, rax);
      a_.load(rcx, {rbx, at(offsetof(State, next))});
      a_.load(xmm0, {rcx, 0, r12, 8});
      a_.multiply(xmm0, xmm2);
      a_.add(xmm0, xmm1);
      begin(p_.damp_step, "next[vertex] = damped");
      a_.store({rcx, 0, r12, 8}, xmm0);
      begin(p_.delta_step, "change = |damped - rank[vertex]|");
      a_.load(rax, {rbx, at(offsetof(State, rank))});
      a_.subtract(xmm0, {rax, 0, r12, 8});
      a_.move(rax, xmm0), a_.clear_sign(rax), a_.move(xmm0, rax);
      begin(p_.delta_step, "vector, index = delta, 0");
      a_.address(rdi, {rbx, at(offsetof(State, delta))});
      a_.clear(rsi);
      shared_call(p_.delta_step, "flow_add(vector, index, change)", flow_add);
    });
  }

  Program& p_;
  Assembler a_;
  std::vector<std::pair<std::uint32_t, ComponentId>> log_;  // offset, instruction
  std::string text_;                                        // a line for each instruction
};

struct EmittedCode final : Generated {
  void* memory = MAP_FAILED;
  std::size_t size = 0;
  std::uint64_t id = 0;
  ~EmittedCode() override {
    tailor_code_unload(id);
    if (memory != MAP_FAILED) munmap(memory, size);
  }
  std::uint64_t tag(const Program& p, ComponentId, ComponentId step) const override {
    return tailor_tag(&p.ids, step, 0);
  }
  Iteration* iteration() const override { return reinterpret_cast<Iteration*>(memory); }
};

}  // namespace

std::unique_ptr<Generated> generate_emitted(Program& program) {
  Emitter emitter(program);
  emitter.run();
  const std::vector<std::uint8_t>& bytes = emitter.code();
  auto result = std::make_unique<EmittedCode>();
  result->size = bytes.size();
  result->memory =
      mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (result->memory == MAP_FAILED) {
    std::perror("executable memory");
    return nullptr;
  }
  std::memcpy(result->memory, bytes.data(), bytes.size());
  const std::string plan = program.plan.serialise({program.ids.id, program.ids.slot, program.ids.generation});
  tailor_plan_load(program.ids.id, plan.data(), plan.size());
  result->id = tailor_code_new();
  tailor::v1::CodeObject code;
  code.set_id(result->id);
  code.set_plan_id(program.ids.id);
  code.set_base(reinterpret_cast<std::uint64_t>(result->memory));
  code.set_code(bytes.data(), bytes.size());
  code.set_name("iteration");
  *code.mutable_rows() = emitter.rows();
  const std::string object = code.SerializeAsString();
  tailor_code_load(result->id, object.data(), object.size());
  return result;
}

}  // namespace flow
