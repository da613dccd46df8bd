// The memory of a workflow's inputs: one array a field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/weft/runtime/memory.h"
#include "compiler/weft/workflow/workflow.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

// Columns of one input. Its memory is of an account, which outlives it, and known to the profiler.
class Tuples {
 public:
  Tuples() = default;
  Tuples(Tuples&& other) noexcept;
  Tuples& operator=(Tuples&&) = delete;
  ~Tuples();

  // Not initialised. `regions` has the kind of each field's memory. Throws QueryError if the account has no
  // room.
  static Tuples allocate(const Input& input, std::uint64_t rows, const std::vector<RegionKind>& regions,
                         MemoryAccount& account);

  std::uint64_t rows() const { return rows_; }
  std::byte* column(std::size_t field) const { return columns_[field].memory; }

 private:
  struct Column {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
  };
  MemoryAccount* account_ = nullptr;
  std::uint64_t rows_ = 0;
  std::vector<Column> columns_;
};

// The tuples of a .csv file (numbers separated by commas; a first line that has letters is a heading) or of a
// .npy file (two dimensions, or one where the input has one value a tuple; <f8, <f4, <i8 or <i4, in C order).
// The values of a tuple fill the fields in their order. Whole numbers become numbers of the field's type if
// they fit it exactly. Throws QueryError if the account has no room. Errors, with the place in the file: what
// the file has does not fit the input.
Result<Tuples> read_tuples(const Input& input, const std::string& bytes,
                           const std::vector<RegionKind>& regions, MemoryAccount& account);

// The most bytes that a file of tuples may have.
inline constexpr std::size_t kMostTupleBytes = std::size_t{16} << 30;

}  // namespace tailor::weft::workflow
