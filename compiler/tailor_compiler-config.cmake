# find_package(tailor_compiler): lineage for engines that compile queries.
#   tailor::tagging   trackers, plan dictionaries, row tables; needs no compiler
#   tailor::dwarf     row tables from the DWARF of linked objects
#   tailor::llvm      the adapter for LLVM; a target only where LLVM's own package is found
include(CMakeFindDependencyMacro)
find_dependency(Protobuf)
find_dependency(fmt)
get_filename_component(_tailor_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

function(_tailor_import name)
  if(NOT TARGET tailor::${name})
    add_library(tailor::${name} STATIC IMPORTED)
    set_target_properties(tailor::${name} PROPERTIES
      IMPORTED_LOCATION ${_tailor_prefix}/lib/libtailor_${name}.a
      INTERFACE_INCLUDE_DIRECTORIES "${_tailor_prefix}/include/tailor-compiler;${_tailor_prefix}/include"
      INTERFACE_LINK_LIBRARIES "${ARGN}")
  endif()
endfunction()

_tailor_import(proto protobuf::libprotobuf)
_tailor_import(tagging tailor::proto fmt::fmt)
_tailor_import(dwarf tailor::tagging dw elf)
find_package(LLVM 19.1 QUIET CONFIG)
if(LLVM_FOUND)
  _tailor_import(llvm tailor::tagging LLVM)
  separate_arguments(_tailor_llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
  target_include_directories(tailor::llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(tailor::llvm INTERFACE ${_tailor_llvm_definitions})
endif()
