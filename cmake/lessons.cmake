# lessons/NN_name/*.cpp become the executable lessonN. lessons/NN_name/mutants/*.cpp are wrong variants of exercise.cpp;
# each becomes lessonN_mutant_<name>, built only for the tests (target `mutants`).
file(GLOB kit_sources CONFIGURE_DEPENDS lessons/kit/*.cpp)
add_custom_target(lessons)
add_custom_target(mutants)
if(NOT kit_sources)
  return()
endif()

add_library(lesson_kit STATIC ${kit_sources})
target_compile_definitions(lesson_kit PRIVATE POLICYGRAD_ROOT="${PROJECT_SOURCE_DIR}")
target_link_libraries(lesson_kit PUBLIC policygrad PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json yaml-cpp::yaml-cpp)

# A learner's file may have parameters not used yet, and half-written code warns without stopping the build.
set(learner_flags -Wno-unused-parameter -Wno-error=unused-variable -Wno-error=unused-but-set-variable
                  -Wno-error=unused-function)

file(GLOB lesson_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true lessons/[0-9][0-9]_*)
foreach(folder ${lesson_folders})
  get_filename_component(name ${folder} NAME)
  string(REGEX REPLACE "^0?([0-9]+)_.*" "\\1" number ${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  if(NOT sources)
    continue()
  endif()
  list(REMOVE_ITEM sources ${folder}/exercise.cpp)
  add_library(lesson${number}_parts OBJECT ${sources})
  target_link_libraries(lesson${number}_parts PUBLIC lesson_kit)
  file(GLOB mutants CONFIGURE_DEPENDS ${folder}/mutants/*.cpp)

  add_executable(lesson${number} ${folder}/exercise.cpp)
  target_link_libraries(lesson${number} PRIVATE lesson${number}_parts)
  add_dependencies(lessons lesson${number})
  foreach(mutant ${mutants})
    get_filename_component(stem ${mutant} NAME_WE)
    add_executable(lesson${number}_mutant_${stem} EXCLUDE_FROM_ALL ${mutant})
    target_link_libraries(lesson${number}_mutant_${stem} PRIVATE lesson${number}_parts)
    add_dependencies(mutants lesson${number}_mutant_${stem})
  endforeach()
  set_source_files_properties(${folder}/exercise.cpp ${mutants} PROPERTIES COMPILE_OPTIONS "${learner_flags}")
endforeach()
