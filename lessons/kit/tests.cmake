# The gates of every lesson (lessons/kit/README.md). Included by tests/CMakeLists.txt; runs from the repository's root.
add_executable(lesson_gate EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/lessons/kit/gate/gate.cpp)
target_link_libraries(lesson_gate PRIVATE lesson_kit)
pg_quick(lesson_gate)

file(GLOB kit_test_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lessons/kit/test/*.cpp)
add_executable(lesson_kit_tests EXCLUDE_FROM_ALL ${kit_test_sources} ${PROJECT_SOURCE_DIR}/tests/tally.cpp)
target_link_libraries(lesson_kit_tests PRIVATE lesson_workshop Catch2::Catch2WithMain)
pg_quick(lesson_kit_tests)
add_dependencies(mutants lesson_gate lesson_kit_tests lesson_collect lesson_room)

function(lesson_gate name)
  pg_test(${name} 300 ${ARGN})
  # The tests share the machine with each other: waiting for a processor is not an endless loop.
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT POLICYGRAD_CHECK_SECONDS=60)
endfunction()

lesson_gate(lesson_kit lesson_kit_tests)
lesson_gate(lesson_instructor lesson_gate width lessons/INSTRUCTOR.md)
lesson_gate(lesson_collect sh lessons/kit/test/collect.sh $<TARGET_FILE:lesson_collect>)
lesson_gate(lesson_workshop sh lessons/kit/test/workshop.sh ${PROJECT_SOURCE_DIR})
lesson_gate(lesson_translations sh lessons/kit/test/translations.sh ${PROJECT_SOURCE_DIR})
if(NOT POLICYGRAD_CUDA)
  lesson_gate(lesson_runner sh lessons/kit/test/runner.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${CMAKE_COMMAND}
              $<TARGET_FILE:lesson_room>)
  lesson_gate(lesson_handout sh lessons/kit/test/handout.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${CMAKE_COMMAND})
endif()

# Speed is not judged in a build that is slow on purpose.
set(judges_speed ON)
if(POLICYGRAD_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(judges_speed OFF)
endif()

if(judges_speed AND TARGET lesson3_mutants)
  lesson_gate(lesson_hunt sh lessons/kit/test/hunt.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:lesson3_mutants>
              $<TARGET_FILE:lesson1_mutants>)
endif()

# The lessons whose demonstration trains to a curve, and those whose demonstration measures times.
set(long_demos 4 5 6 9)
set(timed_demos 1 4 5 12 13b)
# The lessons whose exercise has comments of more than 80 columns.
set(wide_lessons 1 2 3 4)

foreach(text ${lesson_texts})
  get_filename_component(folder ${text} DIRECTORY)
  lesson_number(number ${folder})
  set(lesson lesson${number})
  if(NOT TARGET ${lesson})
    continue()
  endif()
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${folder})

  # The exercise as a learner gets it, whatever this learner has made of theirs.
  set(stub ${PROJECT_BINARY_DIR}/${lesson}_stub.cpp)
  if(EXISTS ${folder}/exercise.cu)
    set(stub ${PROJECT_BINARY_DIR}/${lesson}_stub.cu)
  endif()
  set(cut ${PROJECT_SOURCE_DIR}/scripts/make_exercise.sh)
  file(GLOB uncut ${folder}/answers.h ${folder}/exercise.stub)  # the second in a handout
  add_custom_command(OUTPUT ${stub} COMMAND sh ${cut} --print ${path} > ${stub}
                     WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DEPENDS ${uncut} ${cut} VERBATIM)
  add_executable(${lesson}_stub EXCLUDE_FROM_ALL)
  lesson_learner(${lesson}_stub ${stub})
  target_link_libraries(${lesson}_stub PRIVATE ${lesson}_parts)
  pg_quick(${lesson}_stub)
  pg_precompiled_by(${lesson}_stub lesson_headers_quick)
  add_dependencies(mutants ${lesson}_stub)

  lesson_gate(${lesson}_stub lesson_gate stub $<TARGET_FILE:${lesson}_stub>)
  lesson_gate(${lesson}_reference lesson_gate ok $<TARGET_FILE:${lesson}> --reference)
  # With a seed that no check was written for: a check whose tolerance only suits its own numbers fails here.
  lesson_gate(${lesson}_challenge lesson_gate ok $<TARGET_FILE:${lesson}> "--reference --challenge 7")
  lesson_gate(${lesson}_complete ${lesson}_stub lint)
  lesson_gate(${lesson}_readme lesson_gate readme $<TARGET_FILE:${lesson}_stub> ${path}/README.md)
  if(NOT number IN_LIST wide_lessons)
    lesson_gate(${lesson}_comments lesson_gate comments ${stub})
  endif()
  lesson_gate(${lesson}_exercise sh scripts/make_exercise.sh --verify ${path})
  if(judges_speed)
    # Twenty seconds on two cores, and half again for slower ones.
    lesson_gate(${lesson}_demo lesson_gate demo $<TARGET_FILE:${lesson}> 60 ${path}/README.md)
    set_tests_properties(${lesson}_demo PROPERTIES TIMEOUT 900)
    if(number IN_LIST timed_demos)
      set_tests_properties(${lesson}_demo PROPERTIES RUN_SERIAL ON)
    endif()
    if(number IN_LIST long_demos)
      pg_long(${lesson}_demo)
    endif()
  endif()

  if(number STREQUAL 2)  # whose demonstration times nothing and is short
    lesson_gate(${lesson}_by_plain_kernels ${lesson} --device plain)
  endif()
  if(TARGET ${lesson}_mutants)
    lesson_gate(${lesson}_mutants ${lesson}_mutants)
    lesson_gate(${lesson}_page sh lessons/kit/test/mistakes.sh $<TARGET_FILE:${lesson}_mutants> ${path})
    file(GLOB hunt CONFIGURE_DEPENDS ${folder}/hunt.csv)
    if(judges_speed AND hunt)
      lesson_gate(${lesson}_hunt ${lesson}_mutants hunt --verify 1)
    endif()
    lesson_gate(${lesson}_saboteurs ${lesson}_mutants saboteurs)
    file(GLOB tables CONFIGURE_DEPENDS ${folder}/mutants*.cpp ${folder}/mutants*.cu)
    foreach(table ${tables})
      file(STRINGS ${table} needs_speed REGEX "\"speed\"")
      if(needs_speed)
        set_tests_properties(${lesson}_mutants PROPERTIES RUN_SERIAL ON)
      endif()
    endforeach()
  endif()
endforeach()

# The milestones (cmake/milestones.cmake), on the answers and on exercises as a learner gets them.
foreach(name ${milestones})
  add_dependencies(mutants ${name}_stub)
  if(judges_speed AND EXISTS ${PROJECT_SOURCE_DIR}/lessons/01_tensors/answers.h)
    add_dependencies(mutants ${name}_answers)
    lesson_gate(${name} sh lessons/kit/test/milestone.sh ${name} $<TARGET_FILE:${name}_answers>
                $<TARGET_FILE:${name}_stub> "${${name}_lessons}" "${${name}_beside}")
  endif()
endforeach()
