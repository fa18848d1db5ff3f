# Compiler, linker and cache: uses ccache and lld when they are there.
set(CMAKE_CXX_STANDARD 20)  # MLIR 22's headers want C++17 or C++20
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# Installed programs find libsmalti next to them, and libsmalti finds MLIR where it was linked.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

find_program(SMALTI_CCACHE ccache)
if(SMALTI_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${SMALTI_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

find_program(SMALTI_LLD NAMES ld.lld-22 ld.lld HINTS /usr/lib/llvm-22/bin)
if(SMALTI_LLD)
  get_filename_component(SMALTI_LLD_DIR ${SMALTI_LLD} DIRECTORY)
  add_link_options(-fuse-ld=lld -B/usr/lib/llvm-22/bin)
endif()

# A hash of each library and program: names what its cache of compiled kernels holds (src/cpu/cache/BuildId.h).
add_link_options(LINKER:--build-id=sha1)

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -fdiagnostics-color=auto)
if(SMALTI_SANITIZE)
  add_compile_options(-fsanitize=${SMALTI_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${SMALTI_SANITIZE})
endif()
