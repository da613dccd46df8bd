// Compiled with -ffixed-r15 -ffixed-r13: shared code must leave the tag alone, wherever it is.
#include "dataflow.h"

extern "C" void flow_add(double* vector, std::uint64_t index, double value) {
  vector[index] += value;
}
