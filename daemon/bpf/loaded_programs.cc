#include "daemon/bpf/loaded_programs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "proto/base/unique_fd.h"

namespace tailor::bpf {
namespace {

using capture::KernelFunction;

// More are not kept (KernelRanges), and a list that grows while it is read must end.
constexpr std::size_t kMostPrograms = 16'384, kMostLinks = 65'536;
constexpr std::uint32_t kMostFunctions = 4096;  // of a program: the kernel takes 256

std::uint64_t pointer_to(void* memory) {
  return reinterpret_cast<std::uint64_t>(memory);
}

// The names of the functions of a program, by its type information. Programs of one object share it.
class TypeNames {
 public:
  std::string name(std::uint32_t btf_id, std::uint32_t function_type) {
    const btf* types = types_of(btf_id);
    const btf_type* type = types == nullptr ? nullptr : btf__type_by_id(types, function_type);
    const char* found = type == nullptr ? nullptr : btf__name_by_offset(types, type->name_off);
    return found == nullptr ? std::string() : std::string(found);
  }

 private:
  struct Free {
    void operator()(btf* types) const { btf__free(types); }
  };
  const btf* types_of(std::uint32_t id) {
    const auto known = known_.find(id);
    if (known != known_.end()) return known->second.get();
    if (known_.size() >= kMostKept) known_.clear();
    return known_.emplace(id, btf__load_from_kernel_by_id(id)).first->second.get();
  }

  static constexpr std::size_t kMostKept = 16;
  std::map<std::uint32_t, std::unique_ptr<btf, Free>> known_;
};

// The numbers of the first answer say how much room the second one needs.
bool has_room_for(const bpf_prog_info& info) {
  return info.nr_jited_ksyms > 0 && info.nr_jited_ksyms <= kMostFunctions &&
         info.nr_jited_func_lens == info.nr_jited_ksyms && info.nr_prog_tags == info.nr_jited_ksyms &&
         (info.nr_func_info == 0 ||
          (info.nr_func_info <= kMostFunctions && info.func_info_rec_size >= sizeof(bpf_func_info) &&
           info.func_info_rec_size <= 4 * sizeof(bpf_func_info)));
}

// A record may be longer than what is known of it.
std::vector<std::string> names_of(const bpf_prog_info& info, std::span<const std::byte> records,
                                  TypeNames& types) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < info.nr_func_info; ++i) {
    bpf_func_info record{};
    std::memcpy(&record, records.subspan(std::size_t{i} * info.func_info_rec_size).data(), sizeof record);
    names.push_back(types.name(info.btf_id, record.type_id));
  }
  return names;
}

// Nothing of a program that is interpreted, or that changed between the two questions.
std::optional<ProgramFacts> facts_of(int program, const bpf_prog_info& asked, TypeNames& types) {
  if (!has_room_for(asked)) return std::nullopt;
  ProgramFacts facts;
  facts.addresses.resize(asked.nr_jited_ksyms);
  facts.sizes.resize(asked.nr_jited_ksyms);
  facts.tags.resize(asked.nr_jited_ksyms);
  std::vector<std::byte> records(std::size_t{asked.nr_func_info} * asked.func_info_rec_size);
  bpf_prog_info info{};
  info.nr_jited_ksyms = info.nr_jited_func_lens = info.nr_prog_tags = asked.nr_jited_ksyms;
  info.jited_ksyms = pointer_to(facts.addresses.data());
  info.jited_func_lens = pointer_to(facts.sizes.data());
  info.prog_tags = pointer_to(facts.tags.data());
  info.nr_func_info = asked.nr_func_info;
  info.func_info_rec_size = asked.func_info_rec_size;
  info.func_info = pointer_to(records.data());
  std::uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(program, &info, &size) != 0 || info.id != asked.id) return std::nullopt;
  if (info.nr_jited_ksyms != asked.nr_jited_ksyms || info.nr_func_info != asked.nr_func_info)
    return std::nullopt;
  // The kernel names the first function by the tag of the whole program.
  std::memcpy(facts.tags.front().data(), info.tag, sizeof info.tag);
  facts.name.assign(info.name, ::strnlen(info.name, sizeof info.name));
  facts.functions = names_of(info, records, types);
  return facts;
}

// Theirs run behind code that the kernel makes beside them.
bool may_have_more_code(const bpf_prog_info& info) {
  return info.type == BPF_PROG_TYPE_XDP || info.type == BPF_PROG_TYPE_STRUCT_OPS ||
         info.type == BPF_PROG_TYPE_LSM || info.type == BPF_PROG_TYPE_EXT;
}

// A trampoline is there where something is linked to a function of the kernel.
bool may_have_trampolines() {
  std::uint32_t id = 0;
  for (std::size_t i = 0; i < kMostLinks; ++i) {
    if (bpf_link_get_next_id(id, &id) != 0) return errno != ENOENT;
    const UniqueFd link(bpf_link_get_fd_by_id(id));
    if (!link) continue;  // it is gone
    bpf_link_info info{};
    std::uint32_t size = sizeof info;
    if (bpf_obj_get_info_by_fd(link.get(), &info, &size) != 0 || info.type == BPF_LINK_TYPE_TRACING)
      return true;
  }
  return true;
}

struct Listing {
  capture::LoadedPrograms programs;
  TypeNames types;
};

// False: it cannot be said what is there.
bool add_program(int program, Listing& to) {
  bpf_prog_info info{};
  std::uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(program, &info, &size) != 0) return false;
  if (may_have_more_code(info)) to.programs.complete = false;
  const auto facts = facts_of(program, info, to.types);
  if (!facts) return info.jited_prog_len == 0;  // it has no code where it is interpreted
  if (std::ranges::find(facts->addresses, std::uint64_t{0}) != facts->addresses.end()) return false;
  std::ranges::move(functions_of(*facts), std::back_inserter(to.programs.functions));
  return true;
}

}  // namespace

std::vector<KernelFunction> functions_of(const ProgramFacts& facts) {
  const std::size_t count = facts.addresses.size();
  if (facts.sizes.size() != count || facts.tags.size() != count) return {};
  std::vector<KernelFunction> functions;
  for (std::size_t i = 0; i < count; ++i) {
    if (facts.addresses[i] == 0 || facts.sizes[i] == 0) continue;
    std::string name = "bpf_prog_";
    for (const std::uint8_t byte : facts.tags[i]) name += fmt::format("{:02x}", byte);
    std::string own = i == 0 ? facts.name : "F";  // the kernel calls all others so
    if (i < facts.functions.size()) own = facts.functions[i];
    if (!own.empty()) name += "_" + own;
    functions.push_back({facts.addresses[i], facts.sizes[i], std::move(name)});
  }
  return functions;
}

std::optional<capture::LoadedPrograms> loaded_programs(const os::Os& os) {
  if (os.proc() != os::real().proc()) return std::nullopt;
  Listing listing;
  std::uint32_t id = 0;
  for (std::size_t i = 0; bpf_prog_get_next_id(id, &id) == 0; ++i) {
    if (i >= kMostPrograms) return std::nullopt;
    const UniqueFd program(bpf_prog_get_fd_by_id(id));
    if (!program && errno == ENOENT) continue;  // it is gone
    if (!program || !add_program(program.get(), listing)) return std::nullopt;
  }
  if (errno != ENOENT) return std::nullopt;  // not permitted, or a kernel without BPF
  if (listing.programs.complete) listing.programs.complete = !may_have_trampolines();
  return std::move(listing.programs);
}

}  // namespace tailor::bpf
