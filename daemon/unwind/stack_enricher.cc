#include "daemon/unwind/stack_enricher.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "daemon/capture/decode/byte_cursor.h"
#include "daemon/capture/decode/mapping_record.h"
#include "daemon/capture/decode/record_scan.h"
#include "daemon/capture/decode/sample_view.h"
#include "daemon/profile/mapped_kind.h"
#include "tailor/thread_area.h"

namespace tailor::unwind {
namespace {

using capture::AgentTag;
using capture::EventFormat;
using capture::RingLayout;
using capture::TagFrom;
using capture::TagRegister;

constexpr std::size_t kHeader = sizeof(perf_event_header);
constexpr std::size_t kMostFrames = 127;  // as many as the kernel takes by frame pointers
constexpr std::size_t kMostProcesses = 4096;
constexpr TimeNs kKeepAfterwards = 10'000'000'000;
constexpr std::uint64_t kUnwoundId = std::uint64_t{1} << 62;

// The fields a record with a stack may have: those we can write again.
constexpr std::uint64_t kFields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                  PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                                  PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
                                  PERF_SAMPLE_STACK_USER;

// DWARF's number of perf's general registers AX BX CX DX SI DI BP SP IP, then R8 to R15.
int dwarf_number(unsigned perf_register) {
  constexpr std::array kLow = {0, 3, 2, 1, 4, 5, 6, 7, 16};
  if (perf_register < kLow.size()) return kLow[perf_register];
  if (perf_register >= PERF_REG_X86_R8 && perf_register <= PERF_REG_X86_R15) {
    return static_cast<int>(perf_register - PERF_REG_X86_R8) + 8;
  }
  return -1;
}

bool has_stack(const EventFormat& format) {
  return format.sample_type & PERF_SAMPLE_STACK_USER && (format.sample_type & ~kFields) == 0 &&
         format.sample_type & PERF_SAMPLE_IDENTIFIER && format.sample_type & PERF_SAMPLE_REGS_USER;
}

EventFormat without_stack(EventFormat format, TagFrom from, std::uint64_t kept) {
  format.sample_type &= ~std::uint64_t{PERF_SAMPLE_STACK_USER | PERF_SAMPLE_RAW};
  format.sample_type |= PERF_SAMPLE_CALLCHAIN;
  format.regs_user = (format.regs_user & kept) | capture::register_bit(capture::kWalkEndPlace);
  format.tag_from = from;
  return format;
}

// perf gives all ones for what it hides in kernel mode.
Frame frame_of(const capture::SampleView& sample, bool kernel) {
  Frame frame;
  std::size_t index = 0;
  for (std::uint64_t rest = sample.user_registers.mask; rest != 0; rest &= rest - 1, ++index) {
    const int reg = dwarf_number(static_cast<unsigned>(std::countr_zero(rest)));
    const std::uint64_t value = sample.user_registers.values[index];
    if (reg < 0 || (kernel && value == ~std::uint64_t{0})) continue;
    frame.set(static_cast<unsigned>(reg), value);
  }
  return frame;
}

// The word in a register's place, 0: the sample has none.
std::uint64_t register_of(const capture::SampleView& sample, unsigned perf_register) {
  const std::uint64_t bit = capture::register_bit(perf_register);
  if (!(sample.user_registers.mask & bit)) return 0;
  return sample.user_registers
      .values[static_cast<std::size_t>(std::popcount(sample.user_registers.mask & (bit - 1)))];
}

// The pieces of the stack, the lower from `sp` up.
StackView stack_of(const capture::SampleView& sample, std::uint64_t sp) {
  const std::size_t size = std::min<std::size_t>(sample.stack.size(), sample.stack_dynamic_size);
  StackView stack{sp, sample.stack.first(size), {}, {}};
  stack.anchor = {register_of(sample, capture::kAnchorSpPlace), register_of(sample, capture::kAnchorIpPlace),
                  register_of(sample, capture::kAnchorBpPlace)};
  if (stack.anchor.sp != 0)
    stack.upper = {register_of(sample, capture::kUpperStackPlace), sample.stack.subspan(size)};
  return stack;
}

// The objects in the raw data of a sample (daemon/bpf/sample_encoder.h).
class RawObjects {
 public:
  explicit RawObjects(std::span<const std::byte> raw) {
    if (raw.size() < sizeof objects_.method) return;
    std::memcpy(&objects_.method, raw.data(), sizeof objects_.method);
    const auto words = raw.subspan(sizeof objects_.method);
    addresses_.resize(words.size() / sizeof(std::uint64_t));
    if (!addresses_.empty())
      std::memcpy(addresses_.data(), words.data(), addresses_.size() * sizeof(std::uint64_t));
    objects_.addresses = addresses_;
  }
  RawObjects(const RawObjects&) = delete;
  RawObjects& operator=(const RawObjects&) = delete;
  const Objects& get() const { return objects_; }
  bool is_hidden(std::size_t place) const {
    return place > 0 && (addresses_[place - 1] & TAILOR_OBJECT_HIDDEN) != 0;
  }

 private:
  std::vector<std::uint64_t> addresses_;
  Objects objects_;
};

// Up to where user code begins, with its marker.
std::vector<std::uint64_t> kernel_chain(const capture::WordView& chain) {
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (chain[i] == static_cast<std::uint64_t>(PERF_CONTEXT_USER)) break;
    words.push_back(chain[i]);
  }
  return words;
}

class Words {
 public:
  explicit Words(std::vector<std::byte>& out) : out_(out), start_(out.size()) {
    out_.resize(start_ + kHeader);
  }
  void put(std::uint64_t word) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&word);
    out_.insert(out_.end(), bytes, bytes + sizeof word);
  }
  void put(std::uint32_t low, std::uint32_t high) { put(std::uint64_t{high} << 32 | low); }
  void finish(std::uint16_t misc) {
    const perf_event_header header{PERF_RECORD_SAMPLE, misc,
                                   static_cast<std::uint16_t>(out_.size() - start_)};
    std::memcpy(out_.data() + start_, &header, sizeof header);
  }

 private:
  std::vector<std::byte>& out_;
  std::size_t start_;
};

// As runtimes name theirs.
bool is_jitdump(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("jit-") && name.ends_with(".dump");
}

// "": none. The kernel's own code in a process lies in no file.
std::string file_in(const capture::MappingBytes& mapping) {
  if (mapping.path == profile::kVdsoPath) return {};
  if (!mapping.build_id.empty()) return file_with(mapping.build_id);
  return mapping.inode == 0 ? std::string()
                            : file_of(mapping.device_major, mapping.device_minor, mapping.inode);
}

}  // namespace

AgentTag tag_word(const v1::Hello& hello) {
  AgentTag tags{hello.tag_key(), TagRegister::kNone};
  if (hello.tag_strategy() == v1::TAGS_R15) tags.reg = TagRegister::kR15;
  if (hello.tag_strategy() == v1::TAGS_SWIFTSELF) tags.reg = TagRegister::kR13;
  if (hello.tag_strategy() == v1::TAGS_MEMORY_SLOT) tags.slot_offset = hello.tag_slot_offset();
  tags.thread_slot_offset = hello.tag_slot_offset();
  tags.slot_has_state = hello.tag_slot_offset() != 0 && hello.slot_state() == offsetof(tailor_slot, state_of);
  return tags;
}

StackEnricher::Process& StackEnricher::process(std::int32_t pid) {
  if (processes_.size() >= kMostProcesses && !processes_.contains(pid)) {
    // The ones that never registered can be found out about again.
    std::erase_if(processes_, [](const auto& each) { return each.second.id.start == 0; });
  }
  Process& process = processes_[pid];
  if (process.code == nullptr) process.code = std::make_shared<ProcessCode>(os_.proc(), pid, files_);
  return process;
}

void StackEnricher::connected(const registration::PeerConnected& event) {
  const auto known = processes_.find(event.process.pid);
  if (known != processes_.end() && known->second.id.start != 0 && known->second.id != event.process) {
    processes_.erase(known);  // the number was another's
  }
  Process& now = process(event.process.pid);
  now.id = event.process;
  now.gone = kTimeMax;
  now.tags = tag_word(event.hello);
}

void StackEnricher::message(const registration::PeerMessage& event) {
  const v1::AgentMessage& message = event.said();
  if (message.has_code_load()) {
    const v1::CodeObject& code = message.code_load();
    const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
    if (code.base() + size < code.base()) return;
    const bool fits = process(event.process.pid)
                          .code->add_code({code.id(), code.base(), code.base() + size, code.plan_id() != 0},
                                          code.eh_frame(), code.eh_frame_address());
    counts_.left_out += fits ? 0 : 1;
  }
  if (message.has_code_unload())
    process(event.process.pid).code->remove_code(message.code_unload().code_id());
}

void StackEnricher::foreign_code(ProcessId owner, const v1::CodeObject& said) {
  const std::uint64_t end = said.base() + said.size();
  if (end <= said.base()) return;
  ProcessCode& code = *process(owner.pid).code;
  if (said.eh_frame().empty()) return code.forget_code(said.base(), end);
  const bool fits =
      code.add_code({said.id(), said.base(), end, false}, said.eh_frame(), said.eh_frame_address());
  counts_.left_out += fits ? 0 : 1;
}

void StackEnricher::gone(const registration::PeerGone& event) {
  const TimeNs now = os_.now();
  std::erase_if(processes_, [&](const auto& each) {
    return each.second.gone != kTimeMax && now - each.second.gone > kKeepAfterwards;
  });
  const auto known = processes_.find(event.process.pid);
  if (known != processes_.end()) known->second.gone = now;
}

// What the kernel says of code, beside the samples: processes may have ended before anybody looks.
void StackEnricher::learn(std::span<const std::byte> record) {
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof header);
  if (header.type == PERF_RECORD_MMAP2) return mapped(record);
  capture::ByteCursor fields(record.subspan(kHeader));
  const std::int32_t pid = fields.i32(), second = fields.i32(), tid = fields.i32();
  if (!fields.ok() || pid <= 0) return;
  if (header.type == PERF_RECORD_FORK && pid != second) return forked(pid, second);
  const auto known = processes_.find(pid);
  if (known == processes_.end()) return;
  if (header.type == PERF_RECORD_EXIT && pid == tid) known->second.ended = true;
  if (header.type != PERF_RECORD_COMM || (header.misc & PERF_RECORD_MISC_COMM_EXEC) == 0) return;
  known->second.code->forget_files();
  // An agent says itself what is gone.
  if (known->second.id.start == 0) known->second.code->forget_code(0, UINT64_MAX);
  known->second.ended = false;
}

void StackEnricher::mapped(std::span<const std::byte> record) {
  const auto told = capture::read_executable_mapping(record);
  if (!told) return;
  Mapping mapping;
  mapping.begin = told->begin;
  mapping.end = told->begin + told->size;
  mapping.file_offset = told->file_offset;
  mapping.path = std::string(told->path);
  mapping.file = file_in(*told);
  if (is_jitdump(mapping.path) && dumpers_.size() < kMostProcesses) dumpers_.push_back(told->pid);
  ProcessCode& code = *process(told->pid).code;
  if (mapping.file.empty()) return code.map_anonymous(mapping.begin, mapping.end);
  code.map(std::move(mapping));
}

// Records of several rings come in any order: the child may have executed a program already.
void StackEnricher::forked(std::int32_t child, std::int32_t parent) {
  const auto known = processes_.find(child);
  if (known != processes_.end()) {
    const bool speaks = known->second.id.start != 0 && known->second.gone == kTimeMax;
    if (speaks || !known->second.ended) return;
    processes_.erase(known);
  }
  const auto from = processes_.find(parent);
  if (from == processes_.end()) return;
  const std::shared_ptr<ProcessCode> code = from->second.code;
  process(child).code->inherit_files(*code);
}

RingLayout StackEnricher::layout(const RingLayout& layout) {
  if (std::ranges::none_of(layout.formats, has_stack)) return layout;
  rings_[layout.ring] = layout;
  RingLayout out = layout;
  for (std::size_t i = 0; i < layout.formats.size(); ++i) {
    if (!has_stack(layout.formats[i])) continue;
    const auto unwound = static_cast<std::uint16_t>(out.formats.size());
    out.formats[i] = without_stack(layout.formats[i], TagFrom::kRegister, kept(layout));
    out.formats.push_back(without_stack(layout.formats[i], TagFrom::kUnwound, kept(layout)));
    for (const capture::EventIdEntry& id : layout.ids) {
      if (id.format == i) out.ids.push_back({id.id | kUnwoundId, unwound});
    }
  }
  return out;
}

capture::RingChunk StackEnricher::chunk(capture::RingChunk&& chunk) {
  begin(std::move(chunk));
  return *finish(nullptr);
}

void StackEnricher::begin(capture::RingChunk&& chunk) {
  taking_.emplace(Taking{std::move(chunk), 0, {}});
}

std::optional<capture::RingChunk> StackEnricher::finish(Patience* patience) {
  capture::RingChunk& chunk = taking_->chunk;
  const auto ring = rings_.find(chunk.ring);
  const bool has_stacks = ring != rings_.end();
  bool waits = false;
  const auto take = [&](const perf_event_header& header, std::span<const std::byte> record) {
    if (waits) return;
    if (header.type != PERF_RECORD_SAMPLE) learn(record);
    waits = has_stacks && !enrich(ring->second, record, patience, taking_->out);
    taking_->done += waits ? 0 : record.size();
  };
  std::span<const std::byte> rest;
  if (!rings_.empty()) rest = capture::for_each_record(std::span(chunk.bytes).subspan(taking_->done), take);
  if (waits) return std::nullopt;
  if (has_stacks) {
    taking_->out.insert(taking_->out.end(), rest.begin(), rest.end());  // cut short: the decoder says so
    chunk.bytes = std::move(taking_->out);
  }
  std::optional<capture::RingChunk> finished = std::move(chunk);
  taking_.reset();
  return finished;
}

// The tag of the object, which has the component of its place: the slot says the plan. The slot's own, where
// it names a component of the plan's, unless it never names this object.
std::uint64_t StackEnricher::tag_by_object(const Process& owner, std::uint64_t slot, std::size_t object,
                                           bool hidden) {
  if (object == 0 || tailor_tag_fits(owner.tags.key, slot) == 0) return slot;
  const std::uint32_t named = tailor_tag_upper(slot);
  if (named == object) {
    ++counts_.objects.same;
  } else if (named != 0 && !hidden) {
    ++counts_.objects.other;
  } else {
    ++counts_.objects.told;
    return tailor_tag_make(owner.tags.key, tailor_tag_plan_slot(slot), tailor_tag_generation(slot),
                           static_cast<std::uint32_t>(object), 0);
  }
  return slot;
}

// Nothing: it waits.
std::optional<Walked> StackEnricher::walk_stack(const Frame& frame, const StackView& stack,
                                                const Process& owner, const Objects& objects,
                                                Patience* patience) {
  ProcessCode& code = *owner.code;
  while (true) {
    Walked walked = walk(frame, stack, owner.tags, code, kMostFrames, os_.now(), objects);
    if (!walked.unread || patience == nullptr || code.missing() == nullptr) return walked;
    const Patience::Answer answer = patience->ask(*code.missing());
    if (answer == Patience::Answer::kLater) return std::nullopt;
    if (answer == Patience::Answer::kNoLonger) return walked;
  }
}

// False: it waits for a file, and nothing was done.
bool StackEnricher::enrich(const RingLayout& layout, std::span<const std::byte> record, Patience* patience,
                           std::vector<std::byte>& out) {
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof header);
  std::uint64_t id = 0;
  if (header.type == PERF_RECORD_SAMPLE && record.size() >= kHeader + sizeof id) {
    std::memcpy(&id, record.data() + kHeader, sizeof id);
  }
  const auto known = std::ranges::find(layout.ids, id, &capture::EventIdEntry::id);
  const bool stack = header.type == PERF_RECORD_SAMPLE && known != layout.ids.end() &&
                     has_stack(layout.formats[known->format]);
  if (!stack) {
    out.insert(out.end(), record.begin(), record.end());
    return true;
  }
  const EventFormat& format = layout.formats[known->format];
  capture::SampleView sample;
  if (!capture::parse_sample(format, record.subspan(kHeader), sample)) {
    // Dropped but for its header: what cannot be read may hold stack bytes. The decoder counts it as
    // malformed.
    ++counts_.malformed;
    const perf_event_header empty{PERF_RECORD_SAMPLE, header.misc, kHeader};
    const auto* bytes = reinterpret_cast<const std::byte*>(&empty);
    out.insert(out.end(), bytes, bytes + kHeader);
    return true;
  }
  const bool kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  const Frame frame = frame_of(sample, kernel);
  Walked walked;
  std::uint64_t end = 0;  // as in kWalkEndPlace
  AgentTag tags;
  std::uint64_t slot = register_of(sample, capture::kSlotPlace);
  const std::size_t size = std::min<std::size_t>(sample.stack.size(), sample.stack_dynamic_size);
  if (size > 0 && frame.has(kSp) && frame.has(kReturnAddress)) {
    const Process& owner = process(sample.pid);
    tags = owner.tags;
    const RawObjects objects(sample.raw);
    auto found = walk_stack(frame, stack_of(sample, frame.value[kSp]), owner, objects.get(), patience);
    if (!found) return false;
    walked = *std::move(found);
    ++counts_.stacks;
    const std::uint64_t by_object =
        tag_by_object(owner, slot, walked.object, objects.is_hidden(walked.object));
    if (by_object != slot) walked.from = TagFrom::kUnwound;
    slot = by_object;
    ++counts_.ends[static_cast<std::size_t>(walked.end)];
    end = 1 + static_cast<std::uint64_t>(walked.end);
    counts_.unread += walked.unread;
    counts_.unwound += walked.from == TagFrom::kUnwound;
  }
  Words words(out);
  words.put(id | (walked.from == TagFrom::kUnwound ? kUnwoundId : 0));
  if (format.sample_type & PERF_SAMPLE_IP) words.put(sample.ip);
  if (format.sample_type & PERF_SAMPLE_TID) {
    words.put(static_cast<std::uint32_t>(sample.pid), static_cast<std::uint32_t>(sample.tid));
  }
  if (format.sample_type & PERF_SAMPLE_TIME) words.put(sample.time);
  if (format.sample_type & PERF_SAMPLE_ADDR) words.put(sample.address);
  if (format.sample_type & PERF_SAMPLE_CPU) words.put(sample.cpu, 0);
  if (format.sample_type & PERF_SAMPLE_PERIOD) words.put(sample.period);
  const std::vector<std::uint64_t> kernel_part = kernel_chain(sample.chain);
  words.put(kernel_part.size() + walked.chain.size() + 2);
  for (std::uint64_t word : kernel_part) words.put(word);
  words.put(static_cast<std::uint64_t>(PERF_CONTEXT_USER));
  words.put(frame.has(kReturnAddress) ? frame.value[kReturnAddress] : 0);
  for (std::uint64_t address : walked.chain) words.put(address);
  words.put(sample.user_registers.abi);
  std::size_t index = 0;
  for (std::uint64_t rest = sample.user_registers.mask; rest != 0; rest &= rest - 1, ++index) {
    const auto reg = static_cast<unsigned>(std::countr_zero(rest));
    if (!(kept(layout) & capture::register_bit(reg))) continue;
    const bool recovered =
        walked.tag != 0 && reg == (tags.reg == TagRegister::kR13 ? PERF_REG_X86_R13 : PERF_REG_X86_R15);
    const std::uint64_t value = reg == capture::kSlotPlace ? slot : sample.user_registers.values[index];
    words.put(recovered ? walked.tag : value);
  }
  if (sample.user_registers.abi != PERF_SAMPLE_REGS_ABI_NONE) words.put(end);  // its place is the last one
  words.finish(header.misc);
  return true;
}

}  // namespace tailor::unwind
