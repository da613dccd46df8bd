# Writes OUT: a source file whose object holds the files of DIST (which may be missing) and OPENAPI.
# embed_assets(OUT DIST OPENAPI)
function(embed_assets out dist openapi)
  set(types html "text/html; charset=utf-8" js "text/javascript; charset=utf-8" css "text/css; charset=utf-8"
    svg "image/svg+xml" png "image/png" json "application/json" woff2 "font/woff2" wasm "application/wasm"
    ico "image/x-icon" txt "text/plain; charset=utf-8")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${dist}/*)
  set(number 0)
  set(blobs "")
  set(rows "")
  set(depends ${openapi})
  set(page_template "{}")
  foreach(file ${files} ${openapi})
    file(RELATIVE_PATH name ${dist} ${file})
    string(REGEX REPLACE ".*\\." "" ending ${name})
    list(FIND types ${ending} at)
    set(type "application/octet-stream")
    if(NOT at EQUAL -1)
      math(EXPR at "${at} + 1")
      list(GET types ${at} type)
    endif()
    string(APPEND blobs "TAILOR_BLOB(${number}, \"${file}\")\n")
    if(file STREQUAL openapi)
      set(document "blob(tailor_blob_${number}, tailor_blob_${number}_end)")
    elseif(name STREQUAL "report.html")
      set(page_template "blob(tailor_blob_${number}, tailor_blob_${number}_end)")
    else()
      string(APPEND rows "      {\"/${name}\", \"${type}\", blob(tailor_blob_${number}, tailor_blob_${number}_end)},\n")
    endif()
    list(APPEND depends ${file})
    math(EXPR number "${number} + 1")
  endforeach()
  file(WRITE ${out}.new "// Written by embed_assets.cmake.
#include <span>
#include <string_view>
#include <vector>

#include \"daemon/serve/http/assets.h\"

#define TAILOR_BLOB(n, path)                                                                    \\
  __asm__(\".section .rodata\\n.balign 16\\ntailor_blob_\" #n \":\\n.incbin \\\"\" path \"\\\"\\ntailor_blob_\" #n \\
          \"_end:\\n.byte 0\\n.previous\\n\");                                                         \\
  extern \"C\" const char tailor_blob_##n[], tailor_blob_##n##_end[];

${blobs}
namespace tailor::serve {
namespace {
std::string_view blob(const char* from, const char* to) {
  return {from, static_cast<std::size_t>(to - from)};
}
}  // namespace

std::span<const Asset> asset_files() {
  static const std::vector<Asset> files = {
${rows}  };
  return files;
}
std::string_view embedded_report_template() {
  return ${page_template};
}
std::string_view embedded_openapi() {
  return ${document};
}
}  // namespace tailor::serve
")
  file(COPY_FILE ${out}.new ${out} ONLY_IF_DIFFERENT)
  # In a file of its own: what a source of a unity build depends on, that build does not know.
  set_source_files_properties(${out} PROPERTIES OBJECT_DEPENDS "${depends}" SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
