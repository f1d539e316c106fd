# cmake -DOUT=.. -DHEADER=.. -DFUNCTION=.. -DFILES=a,b -P: writes the source OUT. It defines FUNCTION of HEADER, which
# returns the names of FILES, without folders, and their text.
string(REPLACE "," ";" files "${FILES}")
set(arrays "")
set(rows "")
set(i 0)
foreach(file ${files})
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  get_filename_component(name "${file}" NAME)
  string(APPEND arrays "const unsigned char file${i}[] = {${bytes}0};\n")
  string(APPEND rows "      {\"${name}\", {reinterpret_cast<const char*>(file${i}), sizeof file${i} - 1}},\n")
  math(EXPR i "${i} + 1")
endforeach()
file(WRITE "${OUT}" "#include \"${HEADER}\"
namespace {
${arrays}}  // namespace
const std::vector<std::pair<std::string_view, std::string_view>>& ${FUNCTION}() {
  static const std::vector<std::pair<std::string_view, std::string_view>> all = {
${rows}  };
  return all;
}
")
