# warpscore_embed_ptx(TARGET FILE NAME): compiles a kernel into TARGET as an array. TARGET can then
#
#     #include "NAME.h"      extern const char NAME[]; extern const size_t NAME_length;
#     ws_kernel_load_text(device, NAME, NAME_length, &kernel, &err);
#
# FILE may be made by the build itself. C or C++, whichever language the project has.
set(WARPSCORE_ARRAY_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/warpscore-array.cmake)

function(warpscore_embed_ptx target file name)
  if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "warpscore_embed_ptx: '${name}' cannot be the name of an array")
  endif()
  get_filename_component(file ${file} ABSOLUTE)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(suffix cpp)
  if("C" IN_LIST languages)
    set(suffix c)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/warpscore-embedded/${target})
  set(source ${folder}/${name}.${suffix})
  add_custom_command(
    OUTPUT ${source} ${folder}/${name}.h
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DINPUT=${file} -DSOURCE=${source} -DHEADER=${folder}/${name}.h -P
            ${WARPSCORE_ARRAY_SCRIPT}
    DEPENDS ${file} ${WARPSCORE_ARRAY_SCRIPT}
    COMMENT "Embedding ${file}"
    VERBATIM)
  target_sources(${target} PRIVATE ${source} ${folder}/${name}.h)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
