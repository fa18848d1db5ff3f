# Flags of shape/, reduce/, contract/ and bits/: loops over elements want -O3.
file(GLOB SMALTI_MOVEMENT_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/shape/*.cpp
     ${CMAKE_CURRENT_LIST_DIR}/reduce/*.cpp ${CMAKE_CURRENT_LIST_DIR}/contract/*.cpp ${CMAKE_CURRENT_LIST_DIR}/bits/*.cpp)
set_source_files_properties(${SMALTI_MOVEMENT_SOURCES} PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;$<$<CONFIG:Release>:-O3>")
