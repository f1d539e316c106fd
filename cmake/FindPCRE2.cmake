# PCRE2, the library of regular expressions, for texts of 8-bit units: PCRE2_FOUND, PCRE2_VERSION and the target
# PCRE2::8BIT, which has the name of PCRE2's own CMake package. Distributions whose PCRE2 is built without CMake have no
# such package.
find_path(PCRE2_INCLUDE_DIR pcre2.h)
find_library(PCRE2_8BIT_LIBRARY pcre2-8)
if(PCRE2_INCLUDE_DIR)
  file(STRINGS ${PCRE2_INCLUDE_DIR}/pcre2.h lines REGEX "#define PCRE2_(MAJOR|MINOR) ")
  string(REGEX REPLACE "[^0-9;]*2_[A-Z]*[^0-9;]*" "" lines "${lines}")
  string(REPLACE ";" "." PCRE2_VERSION "${lines}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PCRE2 REQUIRED_VARS PCRE2_8BIT_LIBRARY PCRE2_INCLUDE_DIR VERSION_VAR PCRE2_VERSION)
mark_as_advanced(PCRE2_INCLUDE_DIR PCRE2_8BIT_LIBRARY)
if(PCRE2_FOUND AND NOT TARGET PCRE2::8BIT)
  add_library(PCRE2::8BIT UNKNOWN IMPORTED)
  set_target_properties(PCRE2::8BIT PROPERTIES IMPORTED_LOCATION ${PCRE2_8BIT_LIBRARY}
                                               INTERFACE_INCLUDE_DIRECTORIES ${PCRE2_INCLUDE_DIR})
endif()
