# lessons/NN_name/*.cpp and *.cu become the executable lessonN. lessons/NN_name/mutants.cpp, or mutants.cu where the
# exercise is a .cu file, is a table of wrong answers and becomes lessonN_mutants, built only for the tests (target
# `mutants`).
file(GLOB kit_sources CONFIGURE_DEPENDS lessons/kit/*.cpp)
add_custom_target(lessons)
add_custom_target(mutants)
if(NOT kit_sources)
  return()
endif()

add_library(lesson_kit STATIC ${kit_sources})
target_compile_definitions(lesson_kit PRIVATE POLICYGRAD_ROOT="${PROJECT_SOURCE_DIR}")
if(POLICYGRAD_CUDA STREQUAL "nvcc")
  target_compile_definitions(lesson_kit PRIVATE POLICYGRAD_NVCC)
endif()
target_link_libraries(lesson_kit PUBLIC policygrad report_page PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json yaml-cpp::yaml-cpp)

pg_quick(lesson_kit)
pg_precompile(lesson_kit lessons/kit/lesson.h tensor/format.h)

# For make collect.
add_executable(lesson_collect EXCLUDE_FROM_ALL lessons/kit/collect/main.cpp)
target_link_libraries(lesson_collect PRIVATE lesson_kit)
pg_quick(lesson_collect)

# The headers of every lesson, compiled once.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/lesson_headers.cpp CONTENT "// Nothing but the headers.\n")
add_library(lesson_headers OBJECT ${PROJECT_BINARY_DIR}/lesson_headers.cpp)
target_link_libraries(lesson_headers PUBLIC lesson_kit)
pg_precompile(lesson_headers autograd/ops.h lessons/kit/lesson.h)

include(cmake/lesson.cmake)
if(NOT POLICYGRAD_CUDA)  # for the test of the runner, which builds a lesson of its own with this kit
  export(TARGETS ${POLICYGRAD_LAYERS} report_page lesson_kit FILE ${PROJECT_BINARY_DIR}/lesson_kit_targets.cmake)
endif()

file(GLOB lesson_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true lessons/[0-9][0-9]_*)
foreach(folder ${lesson_folders})
  get_filename_component(name ${folder} NAME)
  string(REGEX REPLACE "^0?([0-9]+)_.*" "\\1" number ${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  file(GLOB kernels CONFIGURE_DEPENDS ${folder}/*.cu)
  file(GLOB exercise CONFIGURE_DEPENDS ${folder}/exercise.cpp ${folder}/exercise.cu)
  file(GLOB table CONFIGURE_DEPENDS ${folder}/mutants.cpp ${folder}/mutants.cu)
  if(NOT sources)
    continue()
  endif()
  list(REMOVE_ITEM sources ${exercise} ${table})
  list(REMOVE_ITEM kernels ${exercise} ${table})
  add_library(lesson${number}_parts OBJECT ${sources})
  target_link_libraries(lesson${number}_parts PUBLIC lesson_kit)
  pg_precompiled_by(lesson${number}_parts lesson_headers)
  if(kernels)
    pg_kernels(lesson${number}_parts ${kernels})
  endif()

  lesson_program(lesson${number} ${exercise})
  target_link_libraries(lesson${number} PRIVATE lesson${number}_parts)
  pg_precompiled_by(lesson${number} lesson_headers)
  add_dependencies(lessons lesson${number})
  if(table)
    add_executable(lesson${number}_mutants EXCLUDE_FROM_ALL)
    lesson_learner(lesson${number}_mutants ${table})
    target_link_libraries(lesson${number}_mutants PRIVATE lesson${number}_parts)
    pg_precompiled_by(lesson${number}_mutants lesson_headers)
    add_dependencies(mutants lesson${number}_mutants)
  endif()
endforeach()
