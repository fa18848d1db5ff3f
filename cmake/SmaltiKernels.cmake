# What C++ sources cannot be asked for.
function(_smalti_kernel_of_cpp NAME SOURCES LANGUAGES OF_MODULES)
  if(NOT "CXX" IN_LIST LANGUAGES)
    message(FATAL_ERROR "smalti_add_kernel(${NAME}): C++ sources need the language CXX in project()")
  endif()
  foreach(SOURCE IN LISTS SOURCES)
    if(NOT SOURCE MATCHES "\\.(cpp|cc|cxx|C|c|h|hpp)>?$")
      message(FATAL_ERROR "smalti_add_kernel(${NAME}): '${SOURCE}' is no C++ source\n"
                          "Of C++ sources the only keyword is CPU.")
    endif()
  endforeach()
  if(OF_MODULES)
    message(FATAL_ERROR "smalti_add_kernel(${NAME}): KERNEL, IN and OUT_SHAPE are for modules\n"
                        "Of C++ sources the only keyword is CPU.")
  endif()
endfunction()

# smalti_add_kernel(NAME SOURCE… [CPU processor] [KERNEL kernel] [IN type…] [OUT_SHAPE type…]): a library NAME with the
# kernel as a C function of that name, and NAME.h. What links it needs libc, and neither Smalti nor LLVM.
#   SOURCE     a module (StableHLO or Mosaic text, bytecode, the folder of a case), or C++ sources that define
#              `smalti::Lowered NAME()`: they are compiled, and run while building
#   CPU        the processor, as `smalti export --target-cpu` takes it; else that of the machine that builds
#   KERNEL     of a module with several kernels: a name or number
#   IN, OUT_SHAPE  of a bare kernel: what arrays it takes and gives, "f32[8,128]"
function(smalti_add_kernel NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "CPU;KERNEL" "IN;OUT_SHAPE")
  set(SOURCES ${ARG_UNPARSED_ARGUMENTS})
  if(NOT NAME MATCHES "^[A-Za-z][A-Za-z0-9_]*$")
    message(FATAL_ERROR "smalti_add_kernel: '${NAME}' cannot be the name of a C function")
  endif()
  if(NOT SOURCES)
    message(FATAL_ERROR "smalti_add_kernel(${NAME}): a module or C++ sources are missing")
  endif()
  if(ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "smalti_add_kernel(${NAME}): nothing follows ${ARG_KEYWORDS_MISSING_VALUES}")
  endif()
  get_property(LANGUAGES GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST LANGUAGES)
    set(LANGUAGE C)
  elseif("CXX" IN_LIST LANGUAGES)
    set(LANGUAGE CXX)
  else()
    message(FATAL_ERROR "smalti_add_kernel(${NAME}): the project needs the language C or CXX")
  endif()
  set(CPU host)
  if(ARG_CPU)
    set(CPU ${ARG_CPU})
  endif()
  set(FOLDER ${CMAKE_CURRENT_BINARY_DIR}/${NAME}.kernel)
  set(OBJECT ${FOLDER}/${NAME}.o)
  file(MAKE_DIRECTORY ${FOLDER})

  list(GET SOURCES 0 FIRST)
  if(FIRST MATCHES "\\.(cpp|cc|cxx|C)$")
    _smalti_kernel_of_cpp(${NAME} "${SOURCES}" "${LANGUAGES}" "${ARG_KERNEL}${ARG_IN}${ARG_OUT_SHAPE}")
    file(GENERATE OUTPUT ${FOLDER}/main.cpp CONTENT
"#include <smalti/ahead_of_time.h>

smalti::Lowered ${NAME}();
int main(int argc, char** argv) { return smalti::object_main(argc, argv, ${NAME}); }
")
    add_executable(${NAME}_writer ${SOURCES} ${FOLDER}/main.cpp)
    target_compile_features(${NAME}_writer PRIVATE cxx_std_20)
    target_link_libraries(${NAME}_writer PRIVATE smalti::smalti $<TARGET_NAME_IF_EXISTS:smalti::kernels>)
    add_custom_command(OUTPUT ${OBJECT} ${FOLDER}/${NAME}.h
                       COMMAND ${NAME}_writer ${OBJECT} ${CPU}
                       DEPENDS ${NAME}_writer
                       COMMENT "Kernel ${NAME} for ${CPU}" VERBATIM)
  else()
    list(LENGTH SOURCES COUNT)
    if(COUNT GREATER 1)
      list(JOIN SOURCES " " GIVEN)
      message(FATAL_ERROR "smalti_add_kernel(${NAME}): a module is one source, here are ${COUNT}: ${GIVEN}\n"
                          "The keywords are CPU, KERNEL, IN and OUT_SHAPE.")
    endif()
    set(OPTIONS --format object --target-cpu ${CPU} -o ${OBJECT})
    if(ARG_KERNEL)
      list(APPEND OPTIONS --kernel ${ARG_KERNEL})
    endif()
    foreach(TYPE IN LISTS ARG_IN)
      list(APPEND OPTIONS --in ${TYPE})
    endforeach()
    foreach(TYPE IN LISTS ARG_OUT_SHAPE)
      list(APPEND OPTIONS --out-shape ${TYPE})
    endforeach()
    get_filename_component(MODULE ${FIRST} ABSOLUTE)
    set(FILES ${MODULE})
    if(IS_DIRECTORY ${MODULE})
      file(GLOB FILES CONFIGURE_DEPENDS ${MODULE}/case.json ${MODULE}/*.mlir)
    endif()
    add_custom_command(OUTPUT ${OBJECT} ${FOLDER}/${NAME}.h
                       COMMAND $<TARGET_FILE:smalti::tool> export ${MODULE} ${OPTIONS}
                       DEPENDS ${FILES} $<TARGET_FILE:smalti::tool>
                       COMMENT "Kernel ${NAME} for ${CPU}" VERBATIM)
  endif()
  add_library(${NAME} STATIC ${OBJECT} ${FOLDER}/${NAME}.h)
  set_source_files_properties(${OBJECT} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set_target_properties(${NAME} PROPERTIES LINKER_LANGUAGE ${LANGUAGE})
  target_include_directories(${NAME} INTERFACE ${FOLDER})
endfunction()
