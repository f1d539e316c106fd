# What pg report and the lessons' --report have in common: an HTML page, whose parts are compiled in.
set(report_folder ${PROJECT_SOURCE_DIR}/tools/report)
set(report_files ${report_folder}/report.html ${report_folder}/report.css)
# In the order in which the page runs them.
foreach(name base marks scales clock pointer curves overview health evaluation tokens figure drawings map rewards
             samples groups viewer episodes environments lesson slides main)
  list(APPEND report_files ${report_folder}/${name}.js)
endforeach()
set(report_embedded ${PROJECT_BINARY_DIR}/report_files.cpp)
string(REPLACE ";" "," report_list "${report_files}")
add_custom_command(OUTPUT ${report_embedded}
                   COMMAND ${CMAKE_COMMAND} -DOUT=${report_embedded} -DHEADER=tools/report/page.h
                           -DFUNCTION=pg::report_files -DFILES=${report_list}
                           -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
                   DEPENDS ${report_files} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake VERBATIM)
add_library(report_page STATIC ${report_folder}/page.cpp ${report_embedded})
target_link_libraries(report_page PUBLIC pg_base)
pg_quick(report_page)
pg_hardened(report_page)
