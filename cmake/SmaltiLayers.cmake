# smalti_layer(NAME [DEPENDS layer…] [LIBS lib…] [MLIR]): one static library per folder of src/, every .cpp in it.
# Who may depend on whom stands in tools/layers.toml; `./do lint` checks it.
function(smalti_layer NAME)
  cmake_parse_arguments(ARG "MLIR" "" "DEPENDS;LIBS" ${ARGN})
  file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(smalti_${NAME} STATIC ${SOURCES})
  target_include_directories(smalti_${NAME} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                                                   ${PROJECT_BINARY_DIR}/src)
  list(TRANSFORM ARG_DEPENDS PREPEND smalti_)
  target_link_libraries(smalti_${NAME} PUBLIC ${ARG_DEPENDS} ${ARG_LIBS} tl::expected)
  if(ARG_MLIR)
    target_include_directories(smalti_${NAME} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
    target_link_libraries(smalti_${NAME} PUBLIC MLIR LLVM)
  endif()
  set_property(GLOBAL APPEND PROPERTY SMALTI_LAYERS smalti_${NAME})
endfunction()

# smalti_embed(LAYER NAMESPACE FUNCTION FILE…): the files become part of the layer; NAMESPACE::FUNCTION() gives them
# (src/base/io/EmbeddedFile.h).
function(smalti_embed LAYER NAMESPACE FUNCTION)
  set(OUT ${CMAKE_CURRENT_BINARY_DIR}/Embedded_${FUNCTION}.cpp)
  set(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/Embed.cmake)
  add_custom_command(
    OUTPUT ${OUT}
    COMMAND ${CMAKE_COMMAND} -DOUT=${OUT} -DNAMESPACE=${NAMESPACE} -DFUNCTION=${FUNCTION} "-DFILES=${ARGN}" -P ${SCRIPT}
    DEPENDS ${ARGN} ${SCRIPT}
    VERBATIM)
  target_sources(smalti_${LAYER} PRIVATE ${OUT})
endfunction()

# smalti_unity(TARGET N): compiles the target's files N at a time, since what most of them cost is the headers they share.
# The names of a file's own functions and constants must then differ from those of its neighbours, or the file be left out
# (SKIP_UNITY_BUILD_INCLUSION). N is such that a change of one file is compiled in 15 s. -DSMALTI_UNITY=OFF: one at a time.
function(smalti_unity TARGET N)
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ${SMALTI_UNITY} UNITY_BUILD_BATCH_SIZE ${N})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ collects its garbage from 128 MB on; MLIR's headers fill more, and all of it is in use to the end (-20 % time).
    target_compile_options(${TARGET} PRIVATE "SHELL:--param ggc-min-heapsize=1000000")  # kB
  endif()
endfunction()

# smalti_unit_test(LAYER [UNITY n] [SHARDS n] [LIBS lib…]): test/unit/LAYER/*.cpp → bin/smalti_LAYER_test, run by
# ctest under the labels `unit` and LAYER; a long one as SHARDS runs, which ctest -j has side by side.
function(smalti_unit_test LAYER)
  cmake_parse_arguments(ARG "" "UNITY;SHARDS" "LIBS" ${ARGN})
  file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${LAYER}/*.cpp)
  if(NOT SOURCES)
    return()
  endif()
  add_executable(smalti_${LAYER}_test ${SOURCES})
  if(ARG_UNITY)
    smalti_unity(smalti_${LAYER}_test ${ARG_UNITY})
  endif()
  target_link_libraries(smalti_${LAYER}_test PRIVATE smalti_${LAYER} ${ARG_LIBS} GTest::gtest_main GTest::gmock)
  target_compile_definitions(smalti_${LAYER}_test PRIVATE SMALTI_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(smalti_${LAYER}_test PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)  # compiles in four fifths of the time of -O2
  if(NOT ARG_SHARDS)
    add_test(NAME unit.${LAYER} COMMAND smalti_${LAYER}_test)
    set_tests_properties(unit.${LAYER} PROPERTIES LABELS "unit;${LAYER}")
    return()
  endif()
  foreach(SHARD RANGE 1 ${ARG_SHARDS})
    math(EXPR INDEX "${SHARD} - 1")
    add_test(NAME unit.${LAYER}.${SHARD} COMMAND smalti_${LAYER}_test)
    set_tests_properties(unit.${LAYER}.${SHARD} PROPERTIES LABELS "unit;${LAYER}"
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${INDEX}")
  endforeach()
endfunction()

# smalti_target_group(FOLDER [NAME]): a target NAME that builds everything declared in FOLDER and the folders in it.
function(smalti_target_group FOLDER)
  set(NAME ${FOLDER})
  if(ARGC GREATER 1)
    set(NAME ${ARGV1})
  endif()
  get_property(TARGETS DIRECTORY ${FOLDER} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(FOLDERS DIRECTORY ${FOLDER} PROPERTY SUBDIRECTORIES)
  foreach(INNER IN LISTS FOLDERS)
    get_property(MORE DIRECTORY ${INNER} PROPERTY BUILDSYSTEM_TARGETS)
    list(APPEND TARGETS ${MORE})
  endforeach()
  add_custom_target(${NAME})
  if(TARGETS)
    add_dependencies(${NAME} ${TARGETS})
  endif()
endfunction()

# smalti_relative_places(TARGET): places in messages are relative to the source folder, wherever that is.
function(smalti_relative_places TARGET)
  file(RELATIVE_PATH UP ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})  # what ccache makes of absolute paths
  target_compile_options(${TARGET} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${UP}=)
endfunction()
