# The lessons whose demonstrations run in a browser: each becomes one script, lessonN.js, for tools/web/site.js. One
# with PCRE2 or a GPU is not among them; lesson 12 leaves out what its processes and threads show.
set(web_lessons 1 2 3 4 6 7 7b 8 9 10 12 13 13b 13c 14)
add_custom_target(web)
function(pg_web_program program)
  target_sources(${program} PRIVATE tools/web/stubs.cpp)
  target_link_options(${program} PRIVATE "SHELL:-s ALLOW_MEMORY_GROWTH=1" "SHELL:-s TOTAL_STACK=2097152"
                      "SHELL:-s ENVIRONMENT=node,worker" "SHELL:-s EXIT_RUNTIME=1" "SHELL:-s INVOKE_RUN=0"
                      "SHELL:-s EXPORTED_RUNTIME_METHODS=callMain" -Oz)
  set(pack ${PROJECT_SOURCE_DIR}/tools/web/pack.js)
  set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${pack})
  add_custom_command(TARGET ${program} POST_BUILD COMMAND node ${pack} $<TARGET_FILE:${program}> VERBATIM)
  add_dependencies(web ${program})
endfunction()
foreach(number ${web_lessons})
  set(lesson lesson${number})
  file(GLOB folder LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR} lessons/[0-9][0-9]*_*)
  list(FILTER folder INCLUDE REGEX "^lessons/0?${number}_")
  pg_web_program(${lesson})
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/band.csv)
    target_link_options(${lesson} PRIVATE "SHELL:--embed-file ${PROJECT_SOURCE_DIR}/${folder}/band.csv@/pg/${folder}/band.csv")
  endif()
  # The page of a lesson's hunt trains with the mistakes.
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/hunt.csv)
    pg_web_program(${lesson}_mutants)
    foreach(file ${folder}/band.csv ${folder}/hunt.csv lessons/peers.csv)
      target_link_options(${lesson}_mutants PRIVATE "SHELL:--embed-file ${PROJECT_SOURCE_DIR}/${file}@/pg/${file}")
    endforeach()
  endif()
endforeach()

# The page of a recorded step (tools/web/microscope_page.js).
add_executable(microscope tools/web/microscope.cpp tools/web/microscope_main.cpp)
target_link_libraries(microscope PRIVATE pg_rl_text)
target_link_options(microscope PRIVATE --bind)
pg_web_program(microscope)
