# The functions that make a lesson's programs of its folder.

# A learner's file is compiled with warnings that stop nothing, in colour where a terminal is behind ninja, which takes
# colours out elsewhere.
set(learner_flags -Wno-error -Wno-unused-parameter)
if(CMAKE_GENERATOR STREQUAL "Ninja")
  list(APPEND learner_flags -fdiagnostics-color=always)
endif()

# lesson_learner(TARGET FILE): adds an exercise, finished or not, to a target.
function(lesson_learner target file)
  if(file MATCHES "\\.cu$")
    if(POLICYGRAD_CUDA STREQUAL "nvcc")  # 177: declared but never used, 550: set but never used
      string(REPLACE ";" "," flags "-Xcompiler=${learner_flags}")
      set(flags ${flags} -diag-suppress=177,550)
    else()
      set(flags ${learner_flags})
    endif()
    set_property(SOURCE ${file} PROPERTY COMPILE_OPTIONS "${flags}")
    pg_kernels(${target} ${file})
    get_property(options SOURCE ${file} PROPERTY COMPILE_OPTIONS)
    list(REMOVE_ITEM options -Werror=all-warnings)  # nvcc's own
    set_property(SOURCE ${file} PROPERTY COMPILE_OPTIONS "${options}")
  else()
    set_property(SOURCE ${file} PROPERTY COMPILE_OPTIONS "${learner_flags}")
    target_sources(${target} PRIVATE ${file})
  endif()
endfunction()

# pg_debuggable(TARGET): a release knows its lines and names too, for gdb (lesson 1, "How to look inside").
function(pg_debuggable target)
  if(NOT EMSCRIPTEN)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-g>)
  endif()
endfunction()

# lesson_program(TARGET FILE): the lesson's own program, of the learner's FILE, whose text is compiled in: it is read
# before FILE is compiled, so that a file edited in between is seen as edited.
function(lesson_program target file)
  add_executable(${target})
  pg_debuggable(${target})
  if(EMSCRIPTEN)  # a program in a page cannot be built again; its pieces call the learner's JavaScript if they can
    get_filename_component(folder ${file} DIRECTORY)
    file(GLOB pieces CONFIGURE_DEPENDS ${folder}/web/exercise.cpp)
    if(pieces)
      target_sources(${target} PRIVATE ${pieces} $<TARGET_OBJECTS:web_engine>)
      target_link_options(${target} PRIVATE --bind)
    else()
      lesson_learner(${target} ${file})
    endif()
    return()
  endif()
  lesson_learner(${target} ${file})
  set(embedded ${PROJECT_BINARY_DIR}/${target}_exercise.cpp)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed_exercise.cmake)
  add_custom_command(OUTPUT ${embedded}
                     COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR} -DTARGET=${target}
                             -DEXERCISE=${file} -DOUT=${embedded} -P ${script}
                     DEPENDS ${file} ${script} VERBATIM)
  target_sources(${target} PRIVATE ${embedded})
  set_property(SOURCE ${file} APPEND PROPERTY OBJECT_DEPENDS ${embedded})
endfunction()
