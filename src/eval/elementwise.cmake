# elementwise/: the loops in elementwise/isa are compiled for the baseline like everything else, and on x86-64 twice
# more, for AVX2 and AVX-512; elementwise/Isa.cpp picks at run time. No contraction to fused multiply-add, so that
# results do not depend on the machine. They are optimised in every configuration: inline code of theirs must not
# become functions that another instruction set's code could be linked to (isa/Isa.h).
file(GLOB SMALTI_ELEMENTWISE_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/elementwise/*.cpp)
file(GLOB SMALTI_ISA_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/elementwise/isa/*.cpp)
set(SMALTI_LOOP_OPTIONS -ffp-contract=off -fno-math-errno -fno-trapping-math)
set_source_files_properties(${SMALTI_ELEMENTWISE_SOURCES} ${CMAKE_CURRENT_LIST_DIR}/FloatFormats.cpp
                            PROPERTIES COMPILE_OPTIONS "${SMALTI_LOOP_OPTIONS};$<$<CONFIG:Release>:-O3>")
set_source_files_properties(${SMALTI_ISA_SOURCES} PROPERTIES COMPILE_OPTIONS "${SMALTI_LOOP_OPTIONS};-O3")

set(SMALTI_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
set(SMALTI_FLAGS_avx512 ${SMALTI_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)

# Adds the AVX2 and AVX-512 objects, and SLEEF, to smalti_eval.
function(smalti_elementwise_variants)
  target_link_libraries(smalti_eval PRIVATE sleef)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  foreach(ISA avx2 avx512)
    add_library(smalti_eval_${ISA} OBJECT ${SMALTI_ISA_SOURCES})
    target_include_directories(smalti_eval_${ISA} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(smalti_eval_${ISA} PRIVATE ${SMALTI_FLAGS_${ISA}})
    target_compile_definitions(smalti_eval_${ISA} PRIVATE SMALTI_ISA=${ISA})
    target_sources(smalti_eval PRIVATE $<TARGET_OBJECTS:smalti_eval_${ISA}>)
    set_property(GLOBAL APPEND PROPERTY SMALTI_LAYER_VARIANTS smalti_eval_${ISA})
  endforeach()
  set_property(SOURCE elementwise/Isa.cpp PROPERTY COMPILE_DEFINITIONS SMALTI_ISA_VARIANTS)
endfunction()
